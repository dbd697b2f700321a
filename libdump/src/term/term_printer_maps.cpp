// Maps and native records: keys beside their values.
#include <libdump/term/term_printer.h>

#include <array>
#include <bit>
#include <utility>

namespace beamdump {

void TermPrinter::print_flat_map(std::uint64_t address) {
    std::array<std::uint64_t, 3> words{};
    if (!read_words(address, words)) {
        return;
    }
    const std::uint64_t keys = pointer_of(words[otp25::kFlatMapKeys]);
    const std::uint64_t size = words[otp25::kFlatMapSize];
    if (!boxed_words(scheme_, words) ||
        word_kind(scheme_, words[otp25::kFlatMapKeys]) != WordKind::kBoxed) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    std::uint64_t keys_header = 0;
    if (!read_words(keys, std::span(&keys_header, 1))) {
        return;
    }
    if (boxed_kind(scheme_, keys_header) != BoxedKind::kTuple ||
        header_arity(keys_header) != size) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    push({.position = keys + kWordBytes,
          .next = address + otp25::kFlatMapValues * kWordBytes,
          .count = static_cast<std::uint32_t>(size),
          .kind = FrameKind::kMap},
         "#{");
}

/// A native record: the keys are in its definition.
void TermPrinter::print_record(std::uint64_t address, std::uint64_t header) {
    std::array<std::uint64_t, otp29::kRecordValues> record{};
    if (!read_words(address, record)) {
        return;
    }
    const auto size = boxed_words(scheme_, std::span(&header, 1));
    const std::uint64_t definition_word = record[otp29::kRecordDefinition];
    const std::uint64_t definition = pointer_of(definition_word);
    std::array<std::uint64_t, otp29::kDefinitionKeys> words{};
    if (!size || word_kind(scheme_, definition_word) != WordKind::kBoxed) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    if (!read_words(definition, words)) {
        return;
    }
    const std::uint64_t fields = *size - otp29::kRecordValues;
    const std::uint64_t module = words[otp29::kDefinitionModule];
    const std::uint64_t name = words[otp29::kDefinitionName];
    if (boxed_kind(scheme_, words[0]) != BoxedKind::kTuple ||
        header_arity(words[0]) + 1 != otp29::kDefinitionKeys + fields ||
        word_kind(scheme_, module) != WordKind::kAtom ||
        word_kind(scheme_, name) != WordKind::kAtom) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    const Frame frame{.position = definition + otp29::kDefinitionKeys * kWordBytes,
                      .next = address + otp29::kRecordValues * kWordBytes,
                      .count = static_cast<std::uint32_t>(fields),
                      .kind = FrameKind::kRecord};
    buffer_.put('#');
    print_atom(table_index(module));
    if (budget_ <= 0) {
        return;
    }
    buffer_.put(':');
    print_atom(table_index(name));
    if (budget_ > 0) {
        push(frame, "{");
    }
}

void TermPrinter::step_map(Frame& frame) {
    const std::size_t depth = frames_.size();
    // Continue with the next key or value while nothing is nested and the text has room.
    do {
        if (frame.at_value) {
            buffer_.put(frame.kind == FrameKind::kRecord ? "=" : "=>");
            frame.at_value = false;
            --frame.count;
            std::swap(frame.position, frame.next);
        } else if (frame.count == 0) {
            leave('}');
            return;
        } else {
            if (frame.begun) {
                buffer_.put(',');
                std::swap(frame.position, frame.next);
                frame.position += kWordBytes;
                frame.next += kWordBytes;
            }
            frame.begun = true;
            frame.at_value = true;
        }
        print_slot(frame.position);
    } while (frames_.size() == depth && buffer_.has_room());
}

void TermPrinter::print_hash_map(std::uint64_t address, std::uint64_t header, bool head) {
    const std::uint64_t bitmap = map_bitmap(header);
    const std::uint64_t before = head ? otp25::kHashHeadItems - 1 : otp25::kHashNodeItems - 1;
    if (scheme_.large_maps_as_pairs) {
        push({.position = address + before * kWordBytes,
              .count = static_cast<std::uint32_t>(std::popcount(bitmap)),
              .kind = FrameKind::kMapNode,
              .whole = head},
             head ? "#{" : "");
        return;
    }
    const Frame frame{.position = address + before * kWordBytes,
                      .count = static_cast<std::uint32_t>(std::popcount(bitmap)),
                      .kind = FrameKind::kArray};
    if (!push(frame, head ? "#<" : "<")) {
        return;
    }
    buffer_.put_unsigned(bitmap, 16);
    buffer_.put(">{");
}

/// A large map as its pairs: a node's items are pairs in cells, inner nodes, and tuples of pairs
/// whose keys have the same hash value.
void TermPrinter::step_map_node(Frame& frame) {
    if (frame.at_value) {
        // The key of the pair at `next` is printed.
        frame.at_value = false;
        buffer_.put("=>");
        print_slot(frame.next + kWordBytes);
        return;
    }
    if (frame.count == 0) {
        if (frame.whole) {
            buffer_.put('}');
        }
        frames_.pop_back();
        return;
    }
    std::uint64_t word = 0;
    if (!next_slot(frame, word)) {
        return;
    }
    if (word_kind(scheme_, word) == WordKind::kList) {
        frame.next = pointer_of(word);
        frame.at_value = true;
        print_slot(frame.next);
    } else {
        print_map_item(word);
    }
}

void TermPrinter::print_map_item(std::uint64_t word) {
    const std::uint64_t address = pointer_of(word);
    std::uint64_t header = 0;
    if (word_kind(scheme_, word) == WordKind::kBoxed &&
        reader_.read(address, header) == WordStatus::kHere &&
        boxed_kind(scheme_, header) == BoxedKind::kTuple && header_arity(header) != 0 &&
        header_arity(header) <= scheme_.max_tuple_arity) {
        push({.position = address,
              .count = static_cast<std::uint32_t>(header_arity(header)),
              .kind = FrameKind::kMapNode},
             "");
        return;
    }
    print(word);
}

}  // namespace beamdump
