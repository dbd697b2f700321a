// The part of TermPrinter that prints binaries and bit strings.

#include <libdump/term/printable.h>
#include <libdump/term/term_dialect.h>
#include <libdump/term/term_printer.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

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

}  // namespace beamdump
