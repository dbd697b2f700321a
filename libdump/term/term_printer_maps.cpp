// Maps and native records: keys beside their values.
#include <libdump/term/term_dialect.h>
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
    const std::uint64_t values = address + otp25::kFlatMapValues * kWordBytes;
    const MapShape shape =
        dialect_->elixir ? flat_map_shape(keys + kWordBytes, values, size) : MapShape();
    push({.position = keys + kWordBytes,
          .next = values,
          .count = static_cast<std::uint32_t>(size),
          .kind = FrameKind::kMap,
          .keyword = shape.keyword,
          .structure = shape.structure.has_value()},
         map_opening(shape));
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
    print_record_atom(table_index(module));
    if (budget_ <= 0) {
        return;
    }
    buffer_.put(':');
    print_record_atom(table_index(name));
    if (budget_ > 0) {
        push(frame, "{");
    }
}

/// An atom of a native record, which has no notation of its own in Elixir.
void TermPrinter::print_record_atom(std::uint64_t index) {
    if (!dialect_->elixir) {
        print_atom(index);
        return;
    }
    const auto& atom = atoms_.at(index);
    statistics_.absent += atom.known ? 0 : 1;
    buffer_.put(atom.quoted);
}

void TermPrinter::step_map(Frame& frame) {
    const std::size_t depth = frames_.size();
    // Continue with the next key or value while nothing is nested and the text has room.
    do {
        if (frame.at_value) {
            buffer_.put(frame.kind == FrameKind::kRecord ? "="
                        : frame.keyword                  ? " "
                                                         : dialect_->pair);
            frame.at_value = false;
            --frame.count;
            std::swap(frame.position, frame.next);
            print_slot(frame.position);
            continue;
        }
        if (frame.count == 0) {
            leave("}");
            return;
        }
        if (frame.begun) {
            std::swap(frame.position, frame.next);
            frame.position += kWordBytes;
            frame.next += kWordBytes;
        }
        frame.begun = true;
        if (frame.structure && hides(frame.position)) {
            --frame.count;
            std::swap(frame.position, frame.next);
            continue;
        }
        begin_pair(frame);
        frame.at_value = true;
        print_map_key(frame, frame.position);
    } while (frames_.size() == depth && buffer_.has_room());
}

/// Before a pair of a map.
void TermPrinter::begin_pair(Frame& map) {
    if (map.printed) {
        buffer_.separate();
    }
    map.printed = true;
}

/// Whether a struct's key at an address is one that is not printed.
bool TermPrinter::hides(std::uint64_t key_slot) {
    std::uint64_t key = 0;
    return reader_.read(key_slot, key) == WordStatus::kHere &&
           word_kind(scheme_, key) == WordKind::kAtom &&
           is_hidden_field(atoms_.at(table_index(key)).name);
}

void TermPrinter::print_map_key(const Frame& frame, std::uint64_t slot) {
    std::uint64_t key = 0;
    const bool record = frame.kind == FrameKind::kRecord && dialect_->elixir;
    if ((!frame.keyword && !record) || reader_.read(slot, key) != WordStatus::kHere ||
        word_kind(scheme_, key) != WordKind::kAtom) {
        print_slot(slot);
    } else if (record) {
        print_record_atom(table_index(key));
    } else {
        buffer_.put(atoms_.at(table_index(key)).key);
    }
}

void TermPrinter::print_hash_map(std::uint64_t address, std::uint64_t header, bool head) {
    const std::uint64_t bitmap = map_bitmap(header);
    const std::uint64_t before = head ? otp25::kHashHeadItems - 1 : otp25::kHashNodeItems - 1;
    if (scheme_.large_maps_as_pairs || dialect_->elixir) {
        Frame frame{.position = address + before * kWordBytes,
                    .count = static_cast<std::uint32_t>(std::popcount(bitmap)),
                    .kind = FrameKind::kMapNode,
                    .whole = head};
        std::string opening;
        if (head) {
            const MapShape shape = dialect_->elixir ? hash_map_shape(address, header) : MapShape();
            opening = map_opening(shape);
            frame.keyword = shape.keyword;
            frame.structure = shape.structure.has_value();
        } else if (!frames_.empty() && frames_.back().kind == FrameKind::kMapNode) {
            frame.keyword = frames_.back().keyword;
            frame.structure = frames_.back().structure;
        }
        push(frame, opening);
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

/// The frame of the whole map that a large map's node belongs to.
TermPrinter::Frame& TermPrinter::map_of_node() {
    std::size_t at = frames_.size() - 1;
    while (at > 0 && !frames_[at].whole && frames_[at - 1].kind == FrameKind::kMapNode) {
        --at;
    }
    return frames_[at];
}

/// A large map as its pairs: a node's items are pairs in cells, inner nodes, and tuples of pairs
/// whose keys have the same hash value.
void TermPrinter::step_map_node(Frame& frame) {
    if (frame.at_value) {
        // The key of the pair at `next` is printed.
        frame.at_value = false;
        buffer_.put(frame.keyword ? " " : dialect_->pair);
        print_slot(frame.next + kWordBytes);
        return;
    }
    if (frame.count == 0) {
        if (frame.whole) {
            leave("}");
        } else {
            frames_.pop_back();
        }
        return;
    }
    std::uint64_t word = 0;
    if (!next_slot(frame, word)) {
        return;
    }
    if (word_kind(scheme_, word) != WordKind::kList) {
        print_map_item(word);
        return;
    }
    const std::uint64_t cell = pointer_of(word);
    if (frame.structure) {
        if (hides(cell)) {
            return;
        }
        begin_pair(map_of_node());
    }
    frame.next = cell;
    frame.at_value = true;
    print_map_key(frame, cell);
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
              .kind = FrameKind::kMapNode,
              .keyword = frames_.back().keyword,
              .structure = frames_.back().structure},
             "");
        return;
    }
    print(word);
}

}  // namespace beamdump
