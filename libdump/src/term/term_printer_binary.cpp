// The part of TermPrinter that prints binaries and bit strings.

#include <libdump/term/term_printer.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

/// Bytes of a binary in one step: at most four bytes of text each ("255,"), so that a step stays
/// within TextBuffer::kStepBytes.
constexpr std::size_t kBytesPerStep = 768;

}  // namespace

bool TermPrinter::is_printable(const BinaryContent& content, std::uint64_t bytes) {
    std::array<std::uint8_t, 4096> block;
    for (std::uint64_t at = 0; at < bytes;) {
        const std::size_t wanted = std::min<std::uint64_t>(block.size(), bytes - at);
        const std::size_t got = content.octets(reader_, at, std::span(block).first(wanted));
        if (got == 0) {
            return false;
        }
        for (std::size_t i = 0; i < got; ++i) {
            if (block[i] < ' ' || block[i] >= 127) {
                return false;
            }
        }
        at += got;
    }
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
    binary_ = {.content = content, .end = content.whole_bytes(), .whole = content.is_whole()};
    if (!binary_.whole) {
        ++statistics_.partial_binaries;
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
    const bool has_bits = binary_.whole && content.trailing_bits() != 0;
    binary_.quoted = binary_.end != 0 && !has_bits && is_printable(content, binary_.end);
    buffer_.put(binary_.quoted ? "<<\"" : "<<");
    frames_.push_back({.kind = FrameKind::kBinary});
}

void TermPrinter::step_binary() {
    std::array<std::uint8_t, kBytesPerStep> block;
    const std::size_t wanted = std::min<std::uint64_t>(block.size(), binary_.end - binary_.at);
    const std::size_t got =
        binary_.content.octets(reader_, binary_.at, std::span(block).first(wanted));
    for (std::size_t i = 0; i < got; ++i) {
        const std::uint8_t octet = block[i];
        if (binary_.quoted) {
            if (octet == '"') {
                buffer_.put('\\');
            }
            buffer_.put(static_cast<char>(octet));
        } else {
            if (binary_.at + i != 0) {
                buffer_.put(',');
            }
            buffer_.put_unsigned(octet);
        }
        if (budget_-- <= 0) {
            stop();
            return;
        }
    }
    binary_.at += got;
    if (got < wanted) {
        // The size was promised, the bytes are not there: say so where the text breaks off.
        ++statistics_.absent;
        buffer_.put(binary_.quoted ? "\"...>>" : "...>>");
        frames_.pop_back();
    } else if (binary_.at == binary_.end) {
        end_binary();
    }
}

void TermPrinter::end_binary() {
    frames_.pop_back();
    if (binary_.whole && binary_.content.trailing_bits() != 0) {
        if (binary_.end != 0) {
            buffer_.put(',');
        }
        buffer_.put_unsigned(binary_.content.trailing_value(reader_));
        buffer_.put(':');
        buffer_.put_unsigned(binary_.content.trailing_bits());
    }
    buffer_.put(binary_.quoted ? "\">>" : ">>");
    if (!binary_.whole) {
        buffer_.put('>');
    }
}

}  // namespace beamdump
