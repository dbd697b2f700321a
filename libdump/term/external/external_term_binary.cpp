// The part of ExternalTermPrinter that prints binaries and bit strings.

#include <libdump/term/external_term.h>
#include <libdump/term/printable.h>
#include <libdump/term/term_dialect.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

/// Bytes of a binary in one step: at most four bytes of text each ("255,").
constexpr std::size_t kExternalBytesPerStep = 768;

}  // namespace

void ExternalTermPrinter::print_binary(const ExternalItem& item) {
    const bool bits = item.last_bits != 8;
    const bool quoted = is_printable_binary(item);
    binary_.bits = bits ? item.last_bits : 0;
    if (item.count == 0) {
        buffer_.put(dialect_->elixir ? "\"\"" : "<<>>");
        return;
    }
    if (quoted) {
        buffer_.put(dialect_->binary);
    } else {
        buffer_.open("<<");
    }
    at_ = item.content;
    frames_.push_back(
        {.left = item.count - (bits ? 1 : 0), .kind = FrameKind::kBinary, .quoted = quoted});
}

bool ExternalTermPrinter::is_printable_binary(const ExternalItem& item) {
    if (item.last_bits != 8 || item.count == 0) {
        return false;
    }
    ElixirPrintable printable;
    std::array<std::uint8_t, 512> block{};
    for (std::uint64_t at = 0; at < item.count;) {
        const auto wanted = std::min<std::uint64_t>(block.size(), item.count - at);
        const auto bytes =
            std::span(block).first(reader_.copy(item.content + at, std::span(block).first(wanted)));
        if (dialect_->elixir ? !printable.add(bytes)
                             : !std::ranges::all_of(bytes, is_printable_byte)) {
            return false;
        }
        if (bytes.size() < wanted) {
            return true;  // as far as this can be known
        }
        at += wanted;
    }
    return printable.is_whole();
}

void ExternalTermPrinter::step_binary(Frame& frame) {
    std::array<std::uint8_t, kExternalBytesPerStep> block{};
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), frame.left));
    const auto got = reader_.copy(at_, std::span(block).first(wanted));
    put_octets(frame, std::span(block).first(got));
    at_ += got;
    frame.left -= got;
    if (got < wanted) {
        fail(ExternalStatus::kAbsent, at_);
        return;
    }
    if (frame.left == 0) {
        end_binary(frame.begun);
    }
}

void ExternalTermPrinter::put_octets(Frame& frame, std::span<const std::uint8_t> octets) {
    if (frame.quoted && dialect_->elixir) {
        buffer_.put_characters(octets);
        return;
    }
    for (const auto octet : octets) {
        if (frame.quoted) {
            if (octet == '"') {
                buffer_.put('\\');
            }
            buffer_.put(static_cast<char>(octet));
            continue;
        }
        if (frame.begun) {
            buffer_.separate(true);
        }
        frame.begun = true;
        buffer_.put_unsigned(octet);
    }
}

void ExternalTermPrinter::end_binary(bool comma) {
    std::uint8_t last = 0;
    if (binary_.bits != 0) {
        const auto status = reader_.byte(at_, last);
        if (status != ExternalStatus::kHere) {
            fail(status, at_);
            return;
        }
        ++at_;
        if (comma) {
            buffer_.separate(true);
        }
        buffer_.put_bits(last >> (8U - binary_.bits), binary_.bits);
    }
    close();
}

}  // namespace beamdump
