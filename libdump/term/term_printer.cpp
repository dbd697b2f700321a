#include <libdump/term/map_cells.h>
#include <libdump/term/term_printer.h>

#include <array>
#include <bit>
#include <utility>

namespace beamdump {

namespace {

/// Levels of nesting that a finished term leaves allocated for the next one.
constexpr std::size_t kKeptLevels = 4096;

/// Characters of a string in one step: at most two bytes of text each.
constexpr std::size_t kCharactersPerStep = 1024;

bool is_byte(std::uint64_t word) {
    return (word & ~std::uint64_t{0xFF0}) == 0xF;
}

}  // namespace

TermPrinter::TermPrinter(TermContext& context, const TagScheme& scheme, std::int64_t term_limit)
    : scheme_(scheme),
      term_limit_(term_limit),
      reader_(context),
      atoms_(context, scheme.style.syntax),
      buffer_(scheme.style.syntax),
      dialect_(&buffer_.dialect()) {}

void TermPrinter::start(std::uint64_t word) {
    buffer_.restart();
    frames_.clear();
    open_records_.clear();
    if (frames_.capacity() > kKeptLevels) {
        frames_.shrink_to_fit();
    }
    root_ = word;
    root_pending_ = true;
    cut_ = false;
    finished_ = false;
    budget_ = term_limit_;
}

std::size_t TermPrinter::next(std::size_t max_bytes, std::string& out) {
    return buffer_.next(max_bytes, out, finished_, [this] { step(); });
}

void TermPrinter::step() {
    if (root_pending_) {
        root_pending_ = false;
        print(root_);
    } else if (!frames_.empty()) {
        Frame& top = frames_.back();
        switch (top.kind) {
            case FrameKind::kArray:
                step_array(top);
                break;
            case FrameKind::kList:
                step_list(top);
                break;
            case FrameKind::kTail:
                leave("]");
                break;
            case FrameKind::kMap:
            case FrameKind::kRecord:
                step_map(top);
                break;
            case FrameKind::kMapNode:
                step_map_node(top);
                break;
            case FrameKind::kString:
                step_string(top);
                break;
            case FrameKind::kBinary:
                step_binary();
                break;
        }
    }
    if (frames_.empty()) {
        finished_ = true;
        if (cut_ || budget_ <= 0) {
            buffer_.put("... ");
        }
    }
}

void TermPrinter::step_array(Frame& frame) {
    while (frame.count != 0) {
        std::uint64_t word = 0;
        if (!next_slot(frame, word) || !print_simple(word)) {
            return;
        }
    }
    if (frame.named) {
        open_records_.pop_back();
    }
    leave("}");
}

/// Moves to a frame's next slot. False if it is missing, which ends the frame.
bool TermPrinter::next_slot(Frame& frame, std::uint64_t& word) {
    if (frame.begun && !frame.structure) {
        buffer_.separate(false, frame.named);
    }
    frame.begun = true;
    if (frame.named) {
        const auto& fields = *open_records_.back();
        buffer_.put(fields[fields.size() - frame.count]);
        buffer_.put(" = ");
    }
    --frame.count;
    frame.position += kWordBytes;
    const auto status = reader_.read(frame.position, word);
    if (status != WordStatus::kHere) {
        // One placeholder for all missing slots: an untrusted header may claim millions.
        unreadable(frame.position, status);
        frame.count = 0;
        return false;
    }
    return true;
}

bool TermPrinter::print_simple(std::uint64_t word) {
    const std::size_t depth = frames_.size();
    print(word);
    return frames_.size() == depth && buffer_.has_room();
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

/// Whether a struct's key at an address is one that is not printed.
bool TermPrinter::hides(std::uint64_t key_slot) {
    std::uint64_t key = 0;
    return reader_.read(key_slot, key) == WordStatus::kHere &&
           word_kind(scheme_, key) == WordKind::kAtom &&
           is_hidden_field(atoms_.at(table_index(key)).name);
}

/// Before a pair of a map.
void TermPrinter::begin_pair(Frame& map) {
    if (map.printed) {
        buffer_.separate();
    }
    map.printed = true;
}

/// The frame of the whole map that a large map's node belongs to.
TermPrinter::Frame& TermPrinter::map_of_node() {
    std::size_t at = frames_.size() - 1;
    while (at > 0 && !frames_[at].whole && frames_[at - 1].kind == FrameKind::kMapNode) {
        --at;
    }
    return frames_[at];
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

/// Adds a key to what is known of the others. False: the map is no keyword map.
bool TermPrinter::look_at_key(std::uint64_t key, std::uint64_t value_slot, MapShape& shape) {
    if (word_kind(scheme_, key) != WordKind::kAtom) {
        return false;
    }
    const auto& atom = atoms_.at(table_index(key));
    if (!atom.known || !is_elixir_keyword(atom.name)) {
        return false;
    }
    if (atom.name == "__struct__") {
        std::uint64_t module = 0;
        if (reader_.read(value_slot, module) == WordStatus::kHere &&
            word_kind(scheme_, module) == WordKind::kAtom) {
            const auto& name = atoms_.at(table_index(module));
            if (name.known && is_elixir_alias(name.name)) {
                shape.structure = table_index(module);
            }
        }
    }
    return true;
}

TermPrinter::MapShape TermPrinter::flat_map_shape(std::uint64_t keys, std::uint64_t values,
                                                  std::uint64_t count) {
    MapShape shape;
    for (std::uint64_t at = 0; at < count * kWordBytes; at += kWordBytes) {
        std::uint64_t key = 0;
        if (reader_.read(keys + at, key) != WordStatus::kHere ||
            !look_at_key(key, values + at, shape)) {
            return {};
        }
    }
    shape.keyword = count != 0;
    return shape;
}

TermPrinter::MapShape TermPrinter::hash_map_shape(std::uint64_t address, std::uint64_t header) {
    MapShape shape;
    MapCells cells(scheme_, reader_, address, header);
    std::uint64_t cell = 0;
    while (cells.next(cell)) {
        std::uint64_t key = 0;
        if (reader_.read(cell, key) != WordStatus::kHere ||
            !look_at_key(key, cell + kWordBytes, shape)) {
            return {};
        }
    }
    shape.keyword = !cells.is_broken();
    return shape.keyword ? shape : MapShape();
}

/// What stands before a map's first key.
std::string TermPrinter::map_opening(const MapShape& shape) {
    return shape.structure ? "%" + atoms_.at(*shape.structure).shown + "{"
                           : std::string(dialect_->map);
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

void TermPrinter::print(std::uint64_t word) {
    if (budget_-- <= 0) {
        stop();
        return;
    }
    switch (word_kind(scheme_, word)) {
        case WordKind::kSmall:
            buffer_.put_signed(small_value(word));
            return;
        case WordKind::kAtom:
            print_atom(table_index(word));
            return;
        case WordKind::kNil:
            buffer_.put("[]");
            return;
        case WordKind::kList:
            print_list(word);
            return;
        case WordKind::kBoxed:
            print_boxed(word);
            return;
        case WordKind::kPid:
            print_local_identifier(word, true);
            return;
        case WordKind::kPort:
            print_local_identifier(word, false);
            return;
        case WordKind::kHeader:
            print_header(word);
            return;
        case WordKind::kCatch:
            if (scheme_.prints_no_value && table_index(word) == 0) {
                buffer_.put("<novalue>");
                return;
            }
            [[fallthrough]];
        case WordKind::kUnknown:
            unreadable(word, WordStatus::kUnmapped);
            return;
    }
}

void TermPrinter::print_slot(std::uint64_t address) {
    std::uint64_t word = 0;
    const auto status = reader_.read(address, word);
    if (status == WordStatus::kHere) {
        print(word);
    } else {
        unreadable(address, status);
    }
}

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

void TermPrinter::print_boxed(std::uint64_t word) {
    const std::uint64_t address = pointer_of(word);
    std::uint64_t header = 0;
    if (!read_words(address, std::span(&header, 1))) {
        return;
    }
    const BoxedKind kind = boxed_kind(scheme_, header);
    switch (kind) {
        case BoxedKind::kTuple:
            return print_tuple(address, header);
        case BoxedKind::kRecord:
            return print_record(address, header);
        case BoxedKind::kFlatMap:
            return print_flat_map(address);
        case BoxedKind::kHashMapNode:
            return print_hash_map(address, header, false);
        case BoxedKind::kHashMapHead:
            return print_hash_map(address, header, true);
        case BoxedKind::kPositiveBig:
            return print_big(address, header, false);
        case BoxedKind::kNegativeBig:
            return print_big(address, header, true);
        case BoxedKind::kFloat:
            return print_float(address);
        case BoxedKind::kReference:
            return print_reference(address, header);
        case BoxedKind::kExternalPid:
        case BoxedKind::kExternalPort:
        case BoxedKind::kExternalReference:
            return print_external(address, header, kind);
        case BoxedKind::kHeapBinary:
            if (!dialect_->elixir && print_short_binary(address, header)) {
                return;
            }
            return print_binary(address);
        case BoxedKind::kRefcBinary:
            if (scheme_.heap_binary_in_bits) {
                buffer_.put("#BinRef");
                return;
            }
            return print_binary(address);
        case BoxedKind::kSubBinary:
        case BoxedKind::kSubBits:
            return print_binary(address);
        case BoxedKind::kFunRef:
            buffer_.put("#FunRef");
            return;
        case BoxedKind::kFun:
            return print_fun(address);
        case BoxedKind::kMatchContext:
            buffer_.put("#MatchState");
            return;
        case BoxedKind::kUnknown:
            unreadable(address, WordStatus::kUnmapped);
            return;
    }
}

void TermPrinter::print_tuple(std::uint64_t address, std::uint64_t header) {
    if (header_arity(header) > scheme_.max_tuple_arity) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    if (scheme_.style.records != nullptr && print_named_tuple(address, header)) {
        return;
    }
    push({.position = address,
          .count = static_cast<std::uint32_t>(header_arity(header)),
          .kind = FrameKind::kArray},
         "{");
}

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

bool TermPrinter::push(const Frame& frame, std::string_view opening) {
    // Brent again, along the path from the root: the tortoise waits at depth 1, 2, 4, 8, ... A slot
    // that is reached again while it is being printed is a cycle.
    if (frames_.size() >= 2) {
        const std::size_t deepest = frames_.size() - 1;
        const std::size_t tortoise = std::bit_floor(deepest);
        if (tortoise != deepest && frames_[tortoise].position == frames_[deepest].position) {
            cycle(frame.position);
            cut_ = true;
            stop();
            return false;
        }
    }
    buffer_.put(opening);
    if (frame.kind != FrameKind::kString && !opening.empty()) {
        buffer_.mark(LayoutMark::kOpen);
    }
    frames_.push_back(frame);
    return true;
}

void TermPrinter::leave(std::string_view closing) {
    if (closing != "\"") {
        buffer_.mark(LayoutMark::kClose);
    }
    buffer_.put(closing);
    frames_.pop_back();
}

void TermPrinter::stop() {
    frames_.clear();
    open_records_.clear();
}

void TermPrinter::unreadable(std::uint64_t address, WordStatus status) {
    const bool absent = status == WordStatus::kAbsent;
    ++(absent ? statistics_.absent : statistics_.malformed);
    buffer_.put(absent ? "#Absent<" : "#Unreadable<");
    buffer_.put_pointer(scheme_, address);
    buffer_.put('>');
}

void TermPrinter::cycle(std::uint64_t address) {
    ++statistics_.malformed;
    buffer_.put("#Cycle<");
    buffer_.put_pointer(scheme_, address);
    buffer_.put('>');
}

bool TermPrinter::read_words(std::uint64_t address, std::span<std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto status = reader_.read(address + i * kWordBytes, words[i]);
        if (status != WordStatus::kHere) {
            unreadable(address, status);
            return false;
        }
    }
    return true;
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

/// A tuple that is a record whose fields are known.
bool TermPrinter::print_named_tuple(std::uint64_t address, std::uint64_t header) {
    std::uint64_t tag = 0;
    if (header_arity(header) == 0 || reader_.read(address + kWordBytes, tag) != WordStatus::kHere ||
        word_kind(scheme_, tag) != WordKind::kAtom) {
        return false;
    }
    const auto& atom = atoms_.at(table_index(tag));
    const auto* fields = scheme_.style.records->find(atom.name, header_arity(header));
    if (!atom.known || fields == nullptr) {
        return false;
    }
    const Frame frame{.position = address + kWordBytes,
                      .count = static_cast<std::uint32_t>(fields->size()),
                      .kind = FrameKind::kArray,
                      .named = true};
    buffer_.put('#');
    buffer_.put(atom.quoted);
    if (push(frame, "{")) {
        open_records_.push_back(fields);
    }
    return true;
}

}  // namespace beamdump
