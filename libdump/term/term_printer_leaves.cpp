// The parts of TermPrinter that print terms without parts: atoms, numbers, identifiers, funs, and
// binaries with bit strings.

#include <libdump/term/big_integer.h>
#include <libdump/term/term_printer.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace beamdump {

namespace {

/// From an ErtsCodeMFA to the code after it: module, function and arity (code_ix.h, OTP 25.2.3).
constexpr std::uint64_t kCodeMfaBytes = 3 * kWordBytes;

/// Eight bytes with the same value each.
constexpr std::uint64_t eight(std::uint8_t byte) {
    return byte * 0x0101'0101'0101'0101U;
}

/// A word's first bytes in memory, and spaces.
constexpr std::uint64_t first_bytes(std::uint64_t word, std::uint64_t bytes) {
    const std::uint64_t kept = ~std::uint64_t{0} >> (8 * (kWordBytes - bytes));
    return (word & kept) | (eight(' ') & ~kept);
}

/// Whether eight bytes are all printable and none is a quote, which would need a backslash.
constexpr bool are_plain(std::uint64_t word) {
    // The highest bit of each byte: set for what is below a space, DEL or above, and a quote.
    const std::uint64_t quotes = word ^ eight('"');
    const std::uint64_t other =
        (word - eight(' ')) | word | (word + eight(1)) | (quotes - eight(1));
    return (other & eight(0x80)) == 0;
}

bool is_printable(std::span<const std::uint8_t> bytes) {
    return std::ranges::all_of(bytes, is_printable_byte);
}

}  // namespace

void TermPrinter::step_binary() {
    const std::size_t wanted =
        std::min<std::uint64_t>(binary_.block.size(), binary_.end - binary_.at);
    const auto block = binary_block();
    const auto cost = static_cast<std::int64_t>(block.size());
    if (budget_ <= cost) {
        // The VM charges a byte after showing it.
        put_octets(block.first(static_cast<std::size_t>(
            std::min<std::int64_t>(cost, std::max<std::int64_t>(budget_, 0) + 1))));
        budget_ -= cost;
        if (budget_ < 0) {
            stop();
            return;
        }
    } else {
        put_octets(block);
        budget_ -= cost;
    }
    binary_.at += block.size();
    if (block.size() < wanted) {
        // Bytes of the binary are missing: mark the end of the text.
        ++statistics_.absent;
        if (dialect_->elixir && binary_.quoted) {
            buffer_.end_characters();
            buffer_.put("\"...");
        } else {
            if (!binary_.quoted) {
                buffer_.mark(LayoutMark::kClose);
            }
            buffer_.put(binary_.quoted ? "\"...>>" : "...>>");
        }
        frames_.pop_back();
    } else if (binary_.at == binary_.end) {
        end_binary();
    }
}

void TermPrinter::end_binary() {
    frames_.pop_back();
    if (binary_.whole && binary_.content.trailing_bits() != 0) {
        if (binary_.end != 0) {
            buffer_.separate(true);
        }
        buffer_.put_bits(binary_.content.trailing_value(reader_), binary_.content.trailing_bits());
    }
    if (!binary_.quoted) {
        buffer_.mark(LayoutMark::kClose);
    } else if (dialect_->elixir) {
        buffer_.end_characters();
    }
    buffer_.put(binary_.quoted ? dialect_->binary_end : ">>");
    if (!binary_.whole) {
        buffer_.put('>');
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

void TermPrinter::print_atom(std::uint64_t index) {
    put_charged(index);
    if (budget_ <= 0) {
        stop();
    }
}

void TermPrinter::print_binary(std::uint64_t address) {
    BinaryContent content;
    switch (BinaryContent::resolve(scheme_, reader_, address, content)) {
        case BinaryContent::Status::kFound:
            break;
        case BinaryContent::Status::kMalformed:
            return unreadable(address, WordStatus::kUnmapped);
        case BinaryContent::Status::kAbsent:
            return unreadable(address, WordStatus::kAbsent);
    }
    binary_.content = content;
    binary_.at = 0;
    binary_.held = 0;
    binary_.end = content.whole_bytes();
    binary_.whole = content.is_whole();
    if (!binary_.whole) {
        ++statistics_.partial_binaries;
        statistics_.lost_binaries += content.is_as_asked() ? 0 : 1;
        binary_.end = content.captured_bytes();
        buffer_.put("#Bin<");
        buffer_.put_unsigned(content.whole_bytes());
        buffer_.put(" bytes");
        if (binary_.end == 0) {
            buffer_.put('>');
            return;
        }
        buffer_.put(", first ");
        buffer_.put_unsigned(binary_.end);
        buffer_.put(": ");
    }
    binary_.quoted = prints_quoted();
    binary_.at = 0;
    buffer_.put(binary_.quoted ? dialect_->binary : "<<");
    if (!binary_.quoted) {
        buffer_.mark(LayoutMark::kOpen);
    }
    frames_.push_back({.kind = FrameKind::kBinary});
}

bool TermPrinter::print_short_binary(std::uint64_t address, std::uint64_t header) {
    std::array<std::uint64_t, kShortBinaryBytes / kWordBytes> words;
    std::uint64_t size = 0;
    if (reader_.read(address + otp25::kBinarySize * kWordBytes, size) != WordStatus::kHere ||
        (scheme_.heap_binary_in_bits && size % 8 != 0)) {
        return false;
    }
    if (scheme_.heap_binary_in_bits) {
        size /= 8;
    }
    if (size == 0 || size > kShortBinaryBytes ||
        header_arity(header) != 1 + (size + kWordBytes - 1) / kWordBytes ||
        budget_ <= static_cast<std::int64_t>(size)) {
        return false;
    }
    const std::size_t count = (size + kWordBytes - 1) / kWordBytes;
    const std::uint64_t data = address + otp25::kHeapBinaryData * kWordBytes;
    for (std::size_t i = 0; i < count; ++i) {
        if (reader_.read(data + i * kWordBytes, words[i]) != WordStatus::kHere) {
            return false;
        }
    }
    const std::uint64_t last_bytes = size - (count - 1) * kWordBytes;
    if (!are_plain(first_bytes(words[count - 1], last_bytes)) ||
        !std::ranges::all_of(std::span(words).first(count - 1), are_plain)) {
        return false;
    }
    buffer_.put("<<\"");
    buffer_.put(std::string_view(reinterpret_cast<const char*>(words.data()), size));
    buffer_.put("\">>");
    budget_ -= static_cast<std::int64_t>(size);
    return true;
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
    const bool is_magic = otp25::is_magic_reference(words[1]);
    if (is_magic) {
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
    if (scheme_.style.resources != nullptr && is_magic) {
        print_resource_type(words[1]);
    }
}

void TermPrinter::print_resource_type(std::uint64_t magic_binary) {
    const auto type = reader_.context().resource_type(magic_binary);
    const auto& names = *scheme_.style.resources;
    if (const auto name = type ? names.find(*type) : names.end(); name != names.end()) {
        buffer_.put(" (");
        buffer_.put(name->second);
        buffer_.put(')');
    }
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

void TermPrinter::print_reference_numbers(std::span<const std::uint32_t> numbers) {
    for (std::size_t i = numbers.size(); i-- > 0;) {
        buffer_.put('.');
        buffer_.put_unsigned(numbers[i]);
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

std::span<const std::uint8_t> TermPrinter::binary_block() {
    if (binary_.held == 0 || binary_.held_at != binary_.at) {
        const std::size_t wanted =
            std::min<std::uint64_t>(binary_.block.size(), binary_.end - binary_.at);
        binary_.held_at = binary_.at;
        binary_.held =
            binary_.content.octets(reader_, binary_.at, std::span(binary_.block).first(wanted));
    }
    return std::span(binary_.block).first(binary_.held);
}

bool TermPrinter::prints_quoted() {
    if (binary_.whole && binary_.content.trailing_bits() != 0) {
        return false;
    }
    if (binary_.end == 0) {
        return dialect_->elixir;
    }
    ElixirPrintable printable;
    while (binary_.at < binary_.end) {
        const auto block = binary_block();
        if (block.empty() || !(dialect_->elixir ? printable.add(block) : is_printable(block))) {
            return false;
        }
        if (block.size() == binary_.end) {
            break;  // at hand for printing
        }
        binary_.at += block.size();
    }
    // The captured beginning of a binary may end within a character.
    return printable.is_whole() || !binary_.whole;
}

void TermPrinter::put_octets(std::span<const std::uint8_t> octets) {
    if (!binary_.quoted) {
        bool comma = binary_.at != 0;
        for (const std::uint8_t octet : octets) {
            if (comma) {
                buffer_.separate(true);
            }
            comma = true;
            buffer_.put_unsigned(octet);
        }
        return;
    }
    put_quoted(octets);
}

void TermPrinter::put_quoted(std::span<const std::uint8_t> octets) {
    if (dialect_->elixir) {
        buffer_.put_characters(octets);
        return;
    }
    while (!octets.empty()) {
        const auto quote = std::find(octets.begin(), octets.end(), '"');
        const auto plain = static_cast<std::size_t>(quote - octets.begin());
        buffer_.put(std::string_view(reinterpret_cast<const char*>(octets.data()), plain));
        octets = octets.subspan(plain);
        if (!octets.empty()) {
            buffer_.put("\\\"");
            octets = octets.subspan(1);
        }
    }
}

}  // namespace beamdump
