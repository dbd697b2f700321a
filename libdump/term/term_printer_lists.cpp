// Lists, and those of characters as strings.
#include <libdump/term/printable.h>
#include <libdump/term/term_dialect.h>
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
        push({.position = cell, .kind = FrameKind::kString}, dialect_->string);
    } else {
        push({.position = cell,
              .next = cell,
              .kind = FrameKind::kList,
              .keyword = dialect_->elixir && is_keyword_list(word)},
             "[");
    }
}

/// Whether a word is a pair whose key is an atom that can be one of a keyword list.
bool TermPrinter::is_keyword(std::uint64_t word, std::uint64_t& value) {
    constexpr std::uint64_t kPairElements = 2;
    const std::uint64_t address = pointer_of(word);
    std::uint64_t header = 0;
    std::uint64_t key = 0;
    if (word_kind(scheme_, word) != WordKind::kBoxed ||
        reader_.read(address, header) != WordStatus::kHere ||
        boxed_kind(scheme_, header) != BoxedKind::kTuple || header_arity(header) != kPairElements ||
        reader_.read(address + kWordBytes, key) != WordStatus::kHere ||
        word_kind(scheme_, key) != WordKind::kAtom) {
        return false;
    }
    value = address + kPairElements * kWordBytes;
    const auto& atom = atoms_.at(table_index(key));
    return atom.known && is_elixir_keyword(atom.name);
}

bool TermPrinter::is_keyword_list(std::uint64_t word) {
    std::uint64_t tortoise = 0;
    for (std::uint64_t cells = 1; word != scheme_.nil; ++cells) {
        const std::uint64_t cell = pointer_of(word);
        std::uint64_t head = 0;
        std::uint64_t value = 0;
        if (word_kind(scheme_, word) != WordKind::kList || cell == tortoise ||
            reader_.read_pair(cell, head, word) != WordStatus::kHere || !is_keyword(head, value)) {
            return false;
        }
        if (std::has_single_bit(cells)) {
            tortoise = cell;
        }
    }
    return true;
}

/// An element of a list. False as print_simple().
bool TermPrinter::print_element(const Frame& frame, std::uint64_t word) {
    std::uint64_t value = 0;
    if (!frame.keyword || !is_keyword(word, value)) {
        return print_simple(word);
    }
    std::uint64_t key = 0;
    static_cast<void>(reader_.read(value - kWordBytes, key));  // is_keyword() has read it
    buffer_.put(atoms_.at(table_index(key)).key);
    buffer_.put(' ');
    const std::size_t depth = frames_.size();
    print_slot(value);
    return frames_.size() == depth && buffer_.has_room();
}

bool TermPrinter::is_printable_string(std::uint64_t word) {
    std::uint64_t tortoise = 0;
    for (std::uint64_t cells = 1; word != scheme_.nil; ++cells) {
        const std::uint64_t cell = pointer_of(word);
        std::uint64_t head = 0;
        if (word_kind(scheme_, word) != WordKind::kList || cell == tortoise ||
            reader_.read_pair(cell, head, word) != WordStatus::kHere || !is_byte(head) ||
            !(dialect_->elixir
                  ? is_charlist_character(static_cast<std::uint64_t>(small_value(head)))
                  : is_string_character(static_cast<std::uint64_t>(small_value(head))))) {
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
        if (!read_words(frame.position, std::span(&head, 1)) || !print_element(frame, head)) {
            return;
        }
    }
    for (;;) {
        std::uint64_t tail = 0;
        const auto status = reader_.read(frame.position + kWordBytes, tail);
        if (status != WordStatus::kHere) {
            buffer_.put_tail();
            unreadable(frame.position + kWordBytes, status);
            leave("]");
            return;
        }
        if (tail == scheme_.nil) {
            leave("]");
            return;
        }
        const std::uint64_t cell = pointer_of(tail);
        std::uint64_t head = 0;
        if (word_kind(scheme_, tail) != WordKind::kList ||
            reader_.read(cell, head) != WordStatus::kHere) {
            buffer_.put_tail();
            frame.position += kWordBytes;
            frame.kind = FrameKind::kTail;
            print(tail);
            return;
        }
        // Brent: the tortoise waits at cell 1, 2, 4, 8, ... of this list.
        ++frame.count;
        if (cell == frame.next) {
            buffer_.put_tail();
            cycle(cell);
            leave("]");
            return;
        }
        if (std::has_single_bit(frame.count)) {
            frame.next = cell;
        }
        buffer_.separate(word_kind(scheme_, head) == WordKind::kSmall);
        frame.position = cell;
        if (!print_element(frame, head)) {
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
            buffer_.end_characters();
            unreadable(frame.position, status);
            leave("\"");
            return;
        }
        const auto c = static_cast<char>(small_value(head));
        if (dialect_->elixir) {
            const auto octet = static_cast<std::uint8_t>(c);
            buffer_.put_characters(std::span(&octet, 1));
        } else if (c == '\n') {
            buffer_.put("\\n");
        } else {
            if (c == '"') {
                buffer_.put('\\');
            }
            buffer_.put(c);
        }
        if (tail == scheme_.nil) {
            buffer_.end_characters();
            leave("\"");
            return;
        }
        frame.position = pointer_of(tail);
    }
}

}  // namespace beamdump
