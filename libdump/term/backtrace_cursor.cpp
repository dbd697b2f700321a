#include <libdump/term/backtrace_cursor.h>
#include <libdump/term/elixir_text.h>
#include <libdump/term/pointer_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace beamdump {

namespace {

/// Stacks of deep recursions have few functions, many times.
constexpr std::size_t kLocations = 256;

}  // namespace

BacktraceCursor::BacktraceCursor(TermContext& context, const TagScheme& scheme,
                                 const ProcessStack& stack, std::int64_t term_limit,
                                 BacktraceExtras extras)
    : context_(&context),
      scheme_(scheme),
      stack_(stack),
      walk_(context, scheme, stack),
      extras_(std::move(extras)),
      printer_(context, scheme, term_limit),
      locations_(kLocations) {}

std::size_t BacktraceCursor::next(std::size_t max_bytes, std::string& out) {
    std::size_t total = 0;
    while (total < max_bytes) {
        if (line_at_ < line_.size()) {
            const std::size_t taken = std::min(max_bytes - total, line_.size() - line_at_);
            out.append(line_, line_at_, taken);
            line_at_ += taken;
            total += taken;
        } else if (in_term_ && !printer_.done()) {
            total += printer_.next(max_bytes - total, out);
        } else if (at_end_) {
            break;
        } else {
            advance();
        }
    }
    return total;
}

bool BacktraceCursor::done() const {
    return at_end_ && line_at_ == line_.size() && (!in_term_ || printer_.done());
}

PrintStatistics BacktraceCursor::statistics() const {
    PrintStatistics sum = printer_.statistics();
    sum.absent += missing_;
    return sum;
}

void BacktraceCursor::advance() {
    line_.clear();
    line_at_ = 0;
    if (at_start_) {
        at_start_ = false;
        line_ = "Program counter: ";
        append_code(stack_.instruction);
        return;
    }
    if (in_term_) {
        in_term_ = false;
        line_ = "\n";
    }
    if (argument_ < extras_.arguments.size()) {
        append_register('x', argument_);
        start_term(extras_.arguments[argument_++]);
    } else if (const auto entry = walk_.next()) {
        append_entry(*entry);
    } else {
        at_end_ = true;
    }
}

void BacktraceCursor::append_entry(const StackEntry& entry) {
    switch (entry.kind) {
        case StackEntry::Kind::kReturnAddress:
            line_ += '\n';
            append_stack_address(entry.address);
            line_ += " Return addr ";
            append_code(entry.word);
            return;
        case StackEntry::Kind::kCatch:
            append_register('y', entry.register_index);
            line_ += "Catch ";
            if (entry.code_address) {
                append_code(*entry.code_address);
            } else {
                ++missing_;
                line_ += "#Absent<";
                append_pointer(entry.word);
                line_ += ">\n";
            }
            return;
        case StackEntry::Kind::kRegister:
            append_register('y', entry.register_index);
            start_term(entry.word);
            return;
        case StackEntry::Kind::kMissing:
            ++missing_;
            line_ += "#Absent<";
            append_stack_address(entry.address);
            line_ += ">-<";
            append_stack_address(stack_.bottom);
            line_ += ">\n";
            return;
    }
}

void BacktraceCursor::append_code(std::uint64_t address) {
    Location& location = locations_[(address >> 2U) % kLocations];
    if (location.address != address || location.text.empty()) {
        location.address = address;
        location.text = location_text(address);
    }
    append_pointer(address);
    line_ += " (";
    line_ += location.text;
    line_ += ")\n";
}

void BacktraceCursor::append_pointer(std::uint64_t address) {
    line_ += pointer_text(scheme_, address).view();
}

void BacktraceCursor::append_stack_address(std::uint64_t address) {
    append_pointer(address_in_node(scheme_, address));
}

void BacktraceCursor::start_term(std::uint64_t word) {
    printer_.start(word);
    in_term_ = true;
}

/// "y(0)" and spaces up to the column of the term.
void BacktraceCursor::append_register(char kind, std::uint64_t index) {
    constexpr std::size_t kColumn = 8;
    const std::size_t begin = line_.size();
    std::array<char, 24> digits{};
    const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), index);
    line_ += kind;
    line_ += '(';
    line_.append(digits.data(), done.ptr);
    line_ += ')';
    line_.resize(std::max(line_.size(), begin + kColumn), ' ');
    line_ += ' ';
}

std::string BacktraceCursor::location_text(std::uint64_t address) {
    const auto location = context_->code_at(address);
    if (location && location->function) {
        const auto& function = *location->function;
        std::string text = printer_.atoms().at(function.module_atom).quoted;
        text += ':';
        text += printer_.atoms().at(function.function_atom).quoted;
        fmt::format_to(std::back_inserter(text), "/{}", function.arity);
        if (scheme_.style.syntax == TermSyntax::kElixir) {
            text = elixir_name(text);
        }
        fmt::format_to(std::back_inserter(text), " + {}",
                       static_cast<std::int64_t>(address - location->mfa_start));
        return text;
    }
    if (location && location->code_point &&
        (extras_.code_points || location->code_point->starts_with('<'))) {
        return *location->code_point;
    }
    return address == 0 ? "invalid" : "unknown function";
}

}  // namespace beamdump
