// The parts of TermPrinter that print terms without parts.

#include <libdump/term/big_integer.h>
#include <libdump/term/term_dialect.h>
#include <libdump/term/term_printer.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace beamdump {

namespace {

/// From an ErtsCodeMFA to the code after it: module, function and arity (code_ix.h, OTP 25.2.3).
constexpr std::uint64_t kCodeMfaBytes = 3 * kWordBytes;

}  // namespace

void TermPrinter::print_atom(std::uint64_t index) {
    put_charged(index);
    if (budget_ <= 0) {
        stop();
    }
}

void TermPrinter::print_header(std::uint64_t word) {
    if (!frames_.empty()) {
        // Only a register or a stack slot can have one; inside a term the heap is torn.
        unreadable(word, WordStatus::kUnmapped);
        return;
    }
    if (word == scheme_.non_value) {
        buffer_.put("<TNV>");
        return;
    }
    const auto location = reader_.context().code_at(word);
    if (!location || !location->function) {
        buffer_.put("<cp/header:");
        buffer_.put(pointer_text(scheme_, word).view());
        buffer_.put('>');
        return;
    }
    buffer_.put('<');
    print_atom(location->function->module_atom);
    if (budget_ <= 0) {
        return;
    }
    buffer_.put(':');
    print_atom(location->function->function_atom);
    if (budget_ <= 0) {
        return;
    }
    buffer_.put('/');
    buffer_.put_unsigned(location->function->arity);
    buffer_.put('+');
    buffer_.put_unsigned((word - location->mfa_start - kCodeMfaBytes) / kWordBytes);
    buffer_.put('>');
}

void TermPrinter::print_big(std::uint64_t address, std::uint64_t header, bool negative) {
    if (!boxed_words(scheme_, std::span(&header, 1))) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    std::vector<std::uint64_t> magnitude;
    // Grown as words are read, not by the size in the header.
    for (std::uint64_t i = 1; i <= header_arity(header); ++i) {
        std::uint64_t word = 0;
        const auto status = reader_.read(address + i * kWordBytes, word);
        if (status != WordStatus::kHere) {
            unreadable(address, status);
            return;
        }
        magnitude.push_back(word);
    }
    buffer_.put(decimal(magnitude, negative));
}

void TermPrinter::print_float(std::uint64_t address) {
    std::uint64_t bits = 0;
    if (read_words(address + kWordBytes, std::span(&bits, 1))) {
        const auto value = std::bit_cast<double>(bits);
        buffer_.put(dialect_->elixir ? elixir_float(value) : fmt::format("{:.6e}", value));
    }
}

void TermPrinter::print_local_identifier(std::uint64_t word, bool pid) {
    if (pid) {
        buffer_.put(dialect_->pid);
        buffer_.put("0.");
        buffer_.put_unsigned(pid_number(scheme_, word));
        buffer_.put('.');
        buffer_.put_unsigned(pid_serial(scheme_, word));
    } else {
        buffer_.put("#Port<0.");
        buffer_.put_unsigned(port_number(scheme_, word));
    }
    buffer_.put('>');
}

void TermPrinter::print_channel(std::uint64_t node_address) {
    const auto node = reader_.context().node_at(node_address);
    if (!node) {
        ++statistics_.absent;
        buffer_.put('?');
        return;
    }
    buffer_.put_unsigned(node->is_self ? 0 : node->name_atom);
}

void TermPrinter::print_reference_numbers(std::span<const std::uint32_t> numbers) {
    for (std::size_t i = numbers.size(); i-- > 0;) {
        buffer_.put('.');
        buffer_.put_unsigned(numbers[i]);
    }
    buffer_.put('>');
}

void TermPrinter::print_reference(std::uint64_t address, std::uint64_t header) {
    std::array<std::uint64_t, otp25::kPidReferenceWords> words{};
    const auto size = boxed_words(scheme_, std::span(&header, 1));
    if (!size || *size > words.size()) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    if (!read_words(address, std::span(words).first(*size))) {
        return;
    }
    constexpr std::uint64_t kHalf = 0xFFFF'FFFFU;
    std::array<std::uint32_t, otp25::kReferenceNumbers + 2> numbers = {
        static_cast<std::uint32_t>(words[1] >> 32U), static_cast<std::uint32_t>(words[2] & kHalf),
        static_cast<std::uint32_t>(words[2] >> 32U), static_cast<std::uint32_t>(words[3] & kHalf),
        static_cast<std::uint32_t>(words[3] >> 32U)};
    const bool with_pid = scheme_.pid_in_reference && *size == otp25::kPidReferenceWords;
    if ((words[1] & kHalf) != otp25::kOrdinaryReferenceMarker) {
        const auto magic = reader_.context().magic_reference(words[1]);
        if (!magic) {
            unreadable(words[1], WordStatus::kAbsent);
            return;
        }
        std::ranges::copy(*magic, numbers.begin());
    }
    buffer_.put(dialect_->ref);
    buffer_.put('0');
    print_reference_numbers(
        std::span(numbers).first(with_pid ? numbers.size() : otp25::kReferenceNumbers));
}

void TermPrinter::print_external(std::uint64_t address, std::uint64_t header, BoxedKind kind) {
    constexpr std::size_t kMaxWords = otp25::kExternalData + 3;
    std::array<std::uint64_t, kMaxWords> words{};
    const auto size = boxed_words(scheme_, std::span(&header, 1));
    if (!size || *size > kMaxWords) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    if (!read_words(address, std::span(words).first(*size))) {
        return;
    }
    const std::uint64_t data = words[otp25::kExternalData];
    constexpr std::uint64_t kHalf = 0xFFFF'FFFFU;
    if (kind == BoxedKind::kExternalReference) {
        // 32-bit numbers: how many, then the numbers.
        std::array<std::uint32_t, 6> halves{};
        for (std::size_t i = 0; i < halves.size(); ++i) {
            halves[i] = static_cast<std::uint32_t>(words[otp25::kExternalData + i / 2] >>
                                                   (i % 2 != 0 ? 32U : 0U));
        }
        const std::uint64_t count = halves[0];
        if (count == 0 || count + 1 > 2 * (*size - otp25::kExternalData)) {
            unreadable(address, WordStatus::kUnmapped);
            return;
        }
        buffer_.put(dialect_->ref);
        print_channel(words[otp25::kExternalNode]);
        print_reference_numbers(std::span(halves).subspan(1, count));
        return;
    }
    const bool pid = kind == BoxedKind::kExternalPid;
    buffer_.put(pid ? dialect_->pid : "#Port<");
    print_channel(words[otp25::kExternalNode]);
    buffer_.put('.');
    buffer_.put_unsigned(pid ? data & kHalf : data);
    if (pid) {
        buffer_.put('.');
        buffer_.put_unsigned(data >> 32U);
    }
    buffer_.put('>');
}

void TermPrinter::print_fun(std::uint64_t address) {
    std::array<std::uint64_t, otp25::kFunEnvironment> words{};
    if (!read_words(address, std::span(words).first(fun_head_words(scheme_)))) {
        return;
    }
    const std::uint64_t entry = words[otp25::kFunEntry];
    if (is_external_fun(scheme_, words)) {
        print_export(entry);
        return;
    }
    const auto fun = reader_.context().fun_entry_at(entry);
    if (!fun) {
        unreadable(entry, WordStatus::kAbsent);
        return;
    }
    if (dialect_->elixir) {
        print_elixir_fun(*fun);
        return;
    }
    buffer_.put("#Fun<");
    buffer_.put(atoms_.at(fun->module_atom).name);
    buffer_.put('.');
    buffer_.put_signed(fun->index);
    buffer_.put('.');
    buffer_.put_signed(fun->old_uniq);
    buffer_.put('>');
}

/// A fun as #Function<INDEX.UNIQ/ARITY in MODULE.PARENT/ARITY> (Inspect.Function).
void TermPrinter::print_elixir_fun(const FunInfo& fun) {
    buffer_.put_fun_head(fun.index, fun.old_uniq, fun.arity);
    buffer_.put(atoms_.at(fun.module_atom).shown);
    if (fun.code_address != 0) {
        const auto code = reader_.context().code_at(fun.code_address);
        if (code && code->function) {
            buffer_.put(elixir_fun_parent(atoms_.at(code->function->function_atom).name));
        }
    }
    buffer_.put('>');
}

void TermPrinter::print_export(std::uint64_t entry) {
    const auto function = reader_.context().export_at(entry);
    if (!function) {
        unreadable(entry, WordStatus::kAbsent);
        return;
    }
    if (dialect_->elixir) {
        buffer_.put('&');
        buffer_.put(atoms_.at(function->module_atom).shown);
        buffer_.put('.');
        buffer_.put(elixir_function(atoms_.at(function->function_atom).name));
        buffer_.put('/');
        buffer_.put_unsigned(function->arity);
        return;
    }
    buffer_.put("fun ");
    // Both names count towards the limit, but are never truncated: the VM prints a name in one
    // piece.
    put_charged(function->module_atom);
    buffer_.put(':');
    put_charged(function->function_atom);
    buffer_.put('/');
    buffer_.put_unsigned(function->arity);
}

void TermPrinter::put_charged(std::uint64_t atom) {
    const auto& name = atoms_.at(atom);
    if (!name.known) {
        ++statistics_.absent;
    }
    budget_ -= static_cast<std::int64_t>(name.name_bytes);
    buffer_.put(name.shown);
}

}  // namespace beamdump
