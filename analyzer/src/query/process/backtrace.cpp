#include "query/process/backtrace.h"

#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/node_scheme.h>
#include <libdump/term/pointer_text.h>

#include <fmt/format.h>

#include <utility>

namespace beamdump::query {

namespace {

std::string catch_text(Dump& dump, std::uint64_t address) {
    const auto location = dump.code_at(address);
    if (location && location->function) {
        return fmt::format("{} + {}", function_text(dump, *location->function),
                           address - location->mfa_start);
    }
    return fmt::format("{:#x}", address);
}

RegisterLine register_line(Dump& dump, const FrameRegister& from) {
    RegisterLine line{from.index, from.word, from.is_catch, std::nullopt};
    if (from.catch_address) {
        line.catch_function = catch_text(dump, *from.catch_address);
    }
    return line;
}

FrameLine frame_line(Dump& dump, const TagScheme& scheme, const StackFrame& frame) {
    FrameLine line;
    line.index = frame.index;
    line.code_address = frame.code_address;
    if (frame.stack_address) {
        line.stack_address = address_in_node(scheme, *frame.stack_address);
    }
    line.continued = frame.continued;
    line.cut_short = frame.cut_short;
    name_frame(dump, frame, line);
    for (const FrameRegister& from : frame.registers) {
        line.registers.push_back(register_line(dump, from));
    }
    return line;
}

void add(Gaps& gaps, const PrintStatistics& statistics) {
    gaps.malformed += statistics.malformed;
    gaps.absent += statistics.absent;
    gaps.partial_binaries += statistics.partial_binaries;
    gaps.lost_binaries += statistics.lost_binaries;
}

}  // namespace

void name_frame(Dump& dump, const StackFrame& frame, FrameLine& line) {
    if (!frame.location) {
        return;
    }
    if (frame.location->function) {
        line.function = function_text(dump, *frame.location->function);
        line.offset = frame.code_address - frame.location->mfa_start;
    } else {
        line.function = frame.location->code_point;
    }
    line.file = frame.location->file;
    line.line = frame.location->line;
}

Backtrace::Backtrace(Dump& dump, std::unique_ptr<OpenedProcess> process, BacktraceOptions options)
    : dump_(&dump),
      process_(std::move(process)),
      options_(options),
      withheld_(terms_withheld(process_->run, options.sensitive)) {}

Result<std::unique_ptr<Backtrace>> Backtrace::open(Dump& dump, const std::string& file,
                                                   std::string_view name,
                                                   const BacktraceOptions& options) {
    ASSIGN_OR_RETURN(auto process, open_process(dump, name));
    std::unique_ptr<Backtrace> backtrace(new Backtrace(dump, std::move(process), options));
    backtrace->facts_ = query::dump_facts(dump, file);
    RETURN_IF_ERROR(backtrace->prepare());
    return backtrace;
}

Result<void> Backtrace::show_as_the_vm() {
    ASSIGN_OR_RETURN(auto scheme, node_scheme(*dump_));
    process_->scheme = without_style(scheme);
    return {};
}

Result<void> Backtrace::load_arguments() {
    ASSIGN_OR_RETURN(const auto words, process_->arguments());
    auto& lines = arguments_.emplace();
    for (const std::uint64_t word : words) {
        lines.push_back({.index = lines.size(), .word = word, .catch_function = {}});
    }
    return {};
}

Result<void> Backtrace::prepare() {
    if (withheld_ != Withheld::kNo) {
        return {};
    }
    if (form_of(*dump_).argument_registers) {
        RETURN_IF_ERROR(options_.term_limit == kClassicTermLimit ? show_as_the_vm()
                                                                 : load_arguments());
    }
    terms_.emplace(process_->context(), process_->scheme, options_.term_limit);
    return {};
}

std::optional<std::uint64_t> Backtrace::binary_prefix_bytes() const {
    const records::Capture& capture = dump_->capture();
    return capture.has_binary_prefix_bytes() ? std::optional(capture.binary_prefix_bytes())
                                             : std::nullopt;
}

std::size_t Backtrace::next_text(std::size_t max_bytes, std::string& out) {
    if (withheld_ != Withheld::kNo) {
        return 0;
    }
    if (!text_) {
        BacktraceExtras beyond{.arguments = {},
                               .code_points = options_.term_limit != kClassicTermLimit};
        for (const RegisterLine& argument : arguments_.value_or(std::vector<RegisterLine>())) {
            beyond.arguments.push_back(argument.word);
        }
        text_.emplace(process_->context(), process_->scheme, process_->stack(), options_.term_limit,
                      std::move(beyond));
    }
    return text_->next(max_bytes, out);
}

std::optional<FrameLine> Backtrace::next_frame() {
    if (withheld_ != Withheld::kNo) {
        return std::nullopt;
    }
    if (!frames_) {
        frames_.emplace(process_->context(), process_->scheme, process_->stack());
    }
    const auto frame = frames_->next();
    if (!frame) {
        return std::nullopt;
    }
    cut_short_ = cut_short_ || frame->cut_short;
    return frame_line(*dump_, process_->scheme, *frame);
}

void Backtrace::start_term(const RegisterLine& shown) {
    terms_->start(shown.word);
}

std::size_t Backtrace::next_term(std::size_t max_bytes, std::string& out) {
    return terms_ ? terms_->next(max_bytes, out) : 0;
}

Gaps Backtrace::gaps() const {
    Gaps gaps;
    if (text_) {
        add(gaps, text_->statistics());
    }
    if (terms_) {
        add(gaps, terms_->statistics());
    }
    gaps.absent += cut_short_ ? 1 : 0;
    return gaps;
}

}  // namespace beamdump::query
