// Lists, and those of characters as strings.
#include "printable.h"

#include <libdump/term/term_printer.h>

#include <array>
#include <bit>

namespace beamdump {

namespace {

/// Characters of a string in one step: at most two bytes of text each.
constexpr std::size_t kCharactersPerStep = 1024;

bool is_byte(std::uint64_t word) {
    return (word & ~std::uint64_t{0xFF0}) == 0xF;
}

}  // namespace

void TermPrinter::print_list(std::uint64_t word) {
    const std::uint64_t cell = pointer_of(word);
    std::array<std::uint64_t, 2> words{};
    if (!read_words(cell, words)) {
        return;
    }
    if (is_printable_string(word)) {
        push({.position = cell, .kind = FrameKind::kString}, "\"");
    } else {
        push({.position = cell, .next = cell, .kind = FrameKind::kList}, "[");
    }
}

bool TermPrinter::is_printable_string(std::uint64_t word) {
    std::uint64_t tortoise = 0;
    for (std::uint64_t cells = 1; word != scheme_.nil; ++cells) {
        const std::uint64_t cell = pointer_of(word);
        std::uint64_t head = 0;
        if (word_kind(scheme_, word) != WordKind::kList || cell == tortoise ||
            reader_.read_pair(cell, head, word) != WordStatus::kHere || !is_byte(head) ||
            !is_string_character(static_cast<std::uint64_t>(small_value(head)))) {
            return false;
        }
        if (std::has_single_bit(cells)) {
            tortoise = cell;
        }
    }
    return true;
}

void TermPrinter::step_list(Frame& frame) {
    if (!frame.begun) {
        frame.begun = true;
        std::uint64_t head = 0;
        if (!read_words(frame.position, std::span(&head, 1)) || !print_simple(head)) {
            return;
        }
    }
    for (;;) {
        std::uint64_t tail = 0;
        const auto status = reader_.read(frame.position + kWordBytes, tail);
        if (status != WordStatus::kHere) {
            buffer_.put('|');
            unreadable(frame.position + kWordBytes, status);
            leave(']');
            return;
        }
        if (tail == scheme_.nil) {
            leave(']');
            return;
        }
        const std::uint64_t cell = pointer_of(tail);
        std::uint64_t head = 0;
        if (word_kind(scheme_, tail) != WordKind::kList ||
            reader_.read(cell, head) != WordStatus::kHere) {
            buffer_.put('|');
            frame.position += kWordBytes;
            frame.kind = FrameKind::kTail;
            print(tail);
            return;
        }
        // Brent: the tortoise waits at cell 1, 2, 4, 8, ... of this list.
        ++frame.count;
        if (cell == frame.next) {
            buffer_.put('|');
            cycle(cell);
            leave(']');
            return;
        }
        if (std::has_single_bit(frame.count)) {
            frame.next = cell;
        }
        buffer_.put(',');
        frame.position = cell;
        if (!print_simple(head)) {
            return;
        }
    }
}

void TermPrinter::step_string(Frame& frame) {
    for (std::size_t i = 0; i < kCharactersPerStep; ++i) {
        std::uint64_t head = 0;
        std::uint64_t tail = 0;
        if (budget_-- <= 0) {
            stop();
            return;
        }
        const auto status = reader_.read_pair(frame.position, head, tail);
        if (status != WordStatus::kHere) {
            unreadable(frame.position, status);
            leave('"');
            return;
        }
        const auto c = static_cast<char>(small_value(head));
        if (c == '\n') {
            buffer_.put("\\n");
        } else {
            if (c == '"') {
                buffer_.put('\\');
            }
            buffer_.put(c);
        }
        if (tail == scheme_.nil) {
            leave('"');
            return;
        }
        frame.position = pointer_of(tail);
    }
}

}  // namespace beamdump
