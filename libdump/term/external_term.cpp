#include <libdump/term/big_integer.h>
#include <libdump/term/external_tags.h>
#include <libdump/term/external_term.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace beamdump {

namespace {

/// Characters or elements in one step: at most a few bytes of text each.
constexpr std::size_t kElementsPerStep = 512;
/// Levels of nesting that a finished term leaves allocated for the next one.
constexpr std::size_t kKeptExternalLevels = 4096;

/// Limits of looking ahead: for each byte of the term, and for a small one.
constexpr std::uint64_t kLookAheadPerByte = 64;
constexpr std::uint64_t kLookAheadAtLeast = 1U << 16U;

/// Bytes of a binary in one step: at most four bytes of text each ("255,").
constexpr std::size_t kExternalBytesPerStep = 768;

/// Limit of positions of all open sorted maps.
constexpr std::size_t kMaxSortedPositions = 1U << 20U;

/// The index of an atom not in the atom table: after all others.
constexpr std::uint64_t kNoPlace = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t kLocalReferenceNumbers = 3;

}  // namespace

ExternalTermPrinter::ExternalTermPrinter(ExternalNames& names, const TagScheme& scheme)
    : atoms_(reader_, names),
      order_(reader_, atoms_),
      style_(scheme.style),
      buffer_(scheme.style.syntax),
      dialect_(&buffer_.dialect()),
      atom_keys_by_index_(scheme.atom_keys_by_index) {}

void ExternalTermPrinter::start(const ExternalTerm& term) {
    reader_.open(*term.source);
    atoms_.open(term.cached_atoms);
    buffer_.restart();
    frames_.clear();
    sorted_.clear();
    open_records_.clear();
    if (frames_.capacity() > kKeptExternalLevels) {
        frames_.shrink_to_fit();
        sorted_.shrink_to_fit();
    }
    at_ = 0;
    look_ahead_ = kLookAheadAtLeast + reader_.size() * kLookAheadPerByte;
    version_byte_ = term.version_byte;
    root_pending_ = true;
    failed_ = false;
    finished_ = false;
}

std::size_t ExternalTermPrinter::next(std::size_t max_bytes, std::string& out) {
    return buffer_.next(max_bytes, out, finished_, [this] { step(); });
}

void ExternalTermPrinter::step() {
    if (root_pending_) {
        root_pending_ = false;
        std::uint8_t version = kExternalVersion;
        const auto status = version_byte_ ? reader_.byte(at_++, version) : ExternalStatus::kHere;
        if (status != ExternalStatus::kHere || version != kExternalVersion) {
            fail(status == ExternalStatus::kHere ? ExternalStatus::kMalformed : status, 0);
        } else {
            print();
        }
    } else if (failed_ && !frames_.empty()) {
        close();
    } else if (!frames_.empty()) {
        Frame& top = frames_.back();
        switch (top.kind) {
            case FrameKind::kTuple:
                step_parts(top);
                break;
            case FrameKind::kList:
                step_list(top);
                break;
            case FrameKind::kTail:
                close();
                break;
            case FrameKind::kMap:
            case FrameKind::kSortedMap:
                step_map(top);
                break;
            case FrameKind::kRecord:
                step_record(top);
                break;
            case FrameKind::kBinary:
                step_binary(top);
                break;
        }
    }
    finished_ = frames_.empty();
}

void ExternalTermPrinter::step_parts(Frame& frame) {
    const std::size_t depth = frames_.size();
    for (std::size_t i = 0; i < kElementsPerStep; ++i) {
        if (frame.left == 0) {
            close();
            return;
        }
        if (frame.begun) {
            buffer_.separate(false, frame.named);
        }
        frame.begun = true;
        if (frame.named) {
            const auto& fields = *open_records_.back();
            buffer_.put(fields[fields.size() - frame.left]);
            buffer_.put(" = ");
        }
        --frame.left;
        print();
        if (failed_ || frames_.size() != depth || !buffer_.has_room()) {
            return;
        }
    }
}

void ExternalTermPrinter::step_list(Frame& frame) {
    const std::size_t depth = frames_.size();
    for (std::size_t i = 0; i < kElementsPerStep; ++i) {
        if (!next_element(frame) || failed_ || frames_.size() != depth || !buffer_.has_room()) {
            return;
        }
    }
}

/// Prints a list's next element or its end. False if the list is complete.
bool ExternalTermPrinter::next_element(Frame& frame) {
    if (frame.left == 0 && frame.characters) {
        close();
        return false;
    }
    if (frame.left == 0) {
        const auto tail = read_external_item(reader_, at_);
        const bool goes_on =
            tail.status == ExternalStatus::kHere &&
            (tail.kind == ExternalKind::kList || tail.kind == ExternalKind::kString);
        if (goes_on) {
            frame.left = tail.count;
            frame.characters = tail.kind == ExternalKind::kString;
            at_ = frame.characters ? tail.content : tail.next;
            return true;
        }
        if (tail.status == ExternalStatus::kHere && tail.kind == ExternalKind::kNil) {
            at_ = tail.next;
            close();
            return false;
        }
        buffer_.put_tail();
        frame.kind = FrameKind::kTail;
        print(tail);
        return false;
    }
    --frame.left;
    if (!frame.quoted && frame.begun) {
        buffer_.separate(frame.characters);
    }
    frame.begun = true;
    if (!frame.characters && !frame.quoted) {
        if (!frame.keyword || !print_keyword_pair()) {
            print();
        }
        return true;
    }
    std::uint64_t character = 0;
    if (frame.characters) {
        std::uint8_t byte = 0;
        const auto status = reader_.byte(at_, byte);
        if (status != ExternalStatus::kHere) {
            fail(status, at_);
            return false;
        }
        ++at_;
        character = byte;
    } else {
        const auto item = read_external_item(reader_, at_);
        at_ = item.next;
        character = static_cast<std::uint64_t>(item.value);
    }
    if (frame.quoted) {
        put_string_character(static_cast<char>(character));
    } else {
        buffer_.put_unsigned(character);
    }
    return true;
}

void ExternalTermPrinter::step_map(Frame& frame) {
    if (frame.left == 0) {
        if (frame.kind == FrameKind::kSortedMap) {
            at_ = sorted_.back();
            sorted_.pop_back();
        }
        close();
        return;
    }
    const bool key = frame.left % 2 == 0;
    --frame.left;
    if (frame.kind == FrameKind::kSortedMap) {
        at_ = sorted_.back();
        sorted_.pop_back();
    }
    if (!key) {
        buffer_.put(frame.record ? "=" : frame.keyword ? " " : dialect_->pair);
        print();
        return;
    }
    if (frame.structure && hides_next()) {
        --frame.left;
        if (frame.kind == FrameKind::kSortedMap) {
            sorted_.pop_back();
        }
        return;
    }
    if (frame.begun) {
        buffer_.separate();
    }
    frame.begun = true;
    print_key(frame);
}

void ExternalTermPrinter::step_record(Frame& frame) {
    if (frame.left == 0) {
        close();
        return;
    }
    const bool key = frame.left % 2 == 0;
    --frame.left;
    if (!key) {
        buffer_.put('=');
        print();
        return;
    }
    if (frame.begun) {
        buffer_.separate();
    }
    frame.begun = true;
    // print_record() has checked that it is an atom.
    const auto item = read_external_item(reader_, frame.key);
    frame.key = item.next;
    print_atom(item.atom, false);
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

void ExternalTermPrinter::close() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (!frame.quoted) {
        buffer_.mark(LayoutMark::kClose);
    } else if (dialect_->elixir) {
        buffer_.end_characters();
    }
    if (frame.named) {
        open_records_.pop_back();
    }
    switch (frame.kind) {
        case FrameKind::kTuple:
        case FrameKind::kMap:
        case FrameKind::kSortedMap:
        case FrameKind::kRecord:
            buffer_.put('}');
            return;
        case FrameKind::kList:
        case FrameKind::kTail:
            buffer_.put(frame.quoted ? '"' : ']');
            return;
        case FrameKind::kBinary:
            buffer_.put(frame.quoted ? dialect_->binary_end : ">>");
            return;
    }
}

void ExternalTermPrinter::print() {
    print(read_external_item(reader_, at_));
}

void ExternalTermPrinter::print(const ExternalItem& item) {
    if (item.status != ExternalStatus::kHere) {
        fail(item.status, item.at);
        return;
    }
    at_ = item.next;
    switch (item.kind) {
        case ExternalKind::kInteger:
            buffer_.put_signed(item.value);
            return;
        case ExternalKind::kBig:
            print_big(item);
            return;
        case ExternalKind::kFloat:
            buffer_.put(dialect_->elixir ? elixir_float(item.number)
                                         : fmt::format("{:.6e}", item.number));
            return;
        case ExternalKind::kAtom:
            print_atom(item.atom, dialect_->elixir);
            return;
        case ExternalKind::kReference:
        case ExternalKind::kPort:
        case ExternalKind::kPid:
            print_identifier(item);
            return;
        case ExternalKind::kFun:
        case ExternalKind::kExport:
            print_fun(item);
            return;
        case ExternalKind::kTuple:
            if (style_.records == nullptr || !print_named_tuple(item)) {
                buffer_.open("{");
                frames_.push_back({.left = item.count, .kind = FrameKind::kTuple});
            }
            return;
        case ExternalKind::kMap:
            print_map(item);
            return;
        case ExternalKind::kRecord:
            print_record(item);
            return;
        case ExternalKind::kNil:
            buffer_.put("[]");
            return;
        case ExternalKind::kList:
        case ExternalKind::kString: {
            const bool quoted = is_printable_string(item);
            const bool characters = item.kind == ExternalKind::kString;
            const bool keyword = dialect_->elixir && !quoted && is_keyword_list(item);
            if (quoted) {
                buffer_.put(dialect_->string);
            } else {
                buffer_.open("[");
            }
            at_ = characters ? item.content : item.next;
            frames_.push_back({.left = item.count,
                               .kind = FrameKind::kList,
                               .characters = characters,
                               .quoted = quoted,
                               .keyword = keyword});
            return;
        }
        case ExternalKind::kBinary:
            print_binary(item);
            return;
    }
}

void ExternalTermPrinter::print_big(const ExternalItem& item) {
    std::vector<std::uint64_t> magnitude;
    std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
    for (std::uint64_t at = 0; at < item.count; at += bytes.size()) {
        bytes = {};
        const auto wanted = std::min<std::uint64_t>(bytes.size(), item.count - at);
        if (reader_.copy(item.content + at, std::span(bytes).first(wanted)) < wanted) {
            mark(ExternalStatus::kAbsent, item.content + at);
            return;
        }
        std::uint64_t word = 0;
        for (std::size_t i = bytes.size(); i-- > 0;) {
            word = word << 8U | bytes.at(i);
        }
        magnitude.push_back(word);
    }
    buffer_.put(decimal(magnitude, item.negative));
}

void ExternalTermPrinter::print_atom(const ExternalAtom& atom, bool elixir) {
    if (const auto text = elixir ? atoms_.name(atom) : atoms_.quoted(atom)) {
        buffer_.put(elixir ? elixir_atom(*text) : *text);
    } else if (atom.cached) {
        ++statistics_.absent;
        buffer_.put("#Absent<atom ");
        buffer_.put_unsigned(*atom.cached);
        buffer_.put('>');
    } else {
        std::uint8_t last = 0;
        const auto status = reader_.byte(atom.at + atom.bytes - 1, last);
        if (status != ExternalStatus::kHere) {
            fail(status, atom.at);
            return;
        }
        // Too long for an atom, but what follows it is known.
        mark(ExternalStatus::kMalformed, atom.at);
    }
}

/// A tuple that is a record whose fields are known.
bool ExternalTermPrinter::print_named_tuple(const ExternalItem& item) {
    const auto tag = read_external_item(reader_, item.next);
    if (item.count == 0 || tag.status != ExternalStatus::kHere || tag.kind != ExternalKind::kAtom) {
        return false;
    }
    const auto name = atoms_.name(tag.atom);
    const auto* fields = name ? style_.records->find(*name, item.count) : nullptr;
    if (fields == nullptr) {
        return false;
    }
    at_ = tag.next;
    buffer_.put('#');
    print_atom(tag.atom, false);
    buffer_.open("{");
    frames_.push_back({.left = fields->size(), .kind = FrameKind::kTuple, .named = true});
    open_records_.push_back(fields);
    return true;
}

void ExternalTermPrinter::print_key(const Frame& frame) {
    const auto key = read_external_item(reader_, at_);
    const bool atom = key.status == ExternalStatus::kHere && key.kind == ExternalKind::kAtom;
    const auto name = atom && frame.keyword ? atoms_.name(key.atom) : std::nullopt;
    if (name) {
        at_ = key.next;
        buffer_.put(elixir_key(*name));
    } else if (atom && frame.record) {
        at_ = key.next;
        print_atom(key.atom, false);
    } else {
        print(key);
    }
}

/// Whether the key that follows is one of a struct's that is not printed; `at_` is then behind its
/// value.
bool ExternalTermPrinter::hides_next() {
    const auto key = read_external_item(reader_, at_);
    const auto name = atoms_.name(key.atom);
    if (!name || !is_hidden_field(*name)) {
        return false;
    }
    at_ = key.next;
    auto items = reader_.size();
    return skip_external(reader_, at_, items) == ExternalStatus::kHere;
}

/// The next element of a keyword list. False: it is none, and nothing was printed.
bool ExternalTermPrinter::print_keyword_pair() {
    const auto pair = read_external_item(reader_, at_);
    if (pair.status != ExternalStatus::kHere || pair.kind != ExternalKind::kTuple) {
        return false;
    }
    const auto key = read_external_item(reader_, pair.next);
    const auto name = key.status == ExternalStatus::kHere && key.kind == ExternalKind::kAtom
                          ? atoms_.name(key.atom)
                          : std::nullopt;
    if (!name) {
        return false;
    }
    buffer_.put(elixir_key(*name));
    buffer_.put(' ');
    at_ = key.next;
    print();
    return true;
}

bool ExternalTermPrinter::is_keyword_list(const ExternalItem& first) {
    ExternalItem list = first;
    while (list.status == ExternalStatus::kHere && list.kind == ExternalKind::kList) {
        auto at = list.next;
        for (std::uint64_t i = 0; i < list.count; ++i) {
            if (!is_keyword_pair(at, at)) {
                return false;
            }
        }
        list = read_external_item(reader_, at);
    }
    return list.status == ExternalStatus::kHere && list.kind == ExternalKind::kNil;
}

/// A pair at `at` whose key is an atom that can be one of a keyword list. `next`: behind it.
bool ExternalTermPrinter::is_keyword_pair(std::uint64_t at, std::uint64_t& next) {
    constexpr std::uint64_t kPairElements = 2;
    const auto pair = read_external_item(reader_, at);
    if (pair.status != ExternalStatus::kHere || pair.kind != ExternalKind::kTuple ||
        pair.count != kPairElements) {
        return false;
    }
    const auto key = read_external_item(reader_, pair.next);
    if (key.status != ExternalStatus::kHere || key.kind != ExternalKind::kAtom) {
        return false;
    }
    const auto name = atoms_.name(key.atom);
    next = key.next;
    return name && is_elixir_keyword(*name) &&
           skip_external(reader_, next, look_ahead_) == ExternalStatus::kHere;
}

/// Looks at the keys of a map, as far as looking ahead reaches.
ExternalTermPrinter::MapShape ExternalTermPrinter::map_shape(const ExternalItem& item) {
    MapShape shape;
    auto at = item.next;
    for (std::uint64_t pair = 0; pair < item.count; ++pair) {
        const auto key = read_external_item(reader_, at);
        if (key.status != ExternalStatus::kHere || key.kind != ExternalKind::kAtom) {
            return {};
        }
        const auto name = atoms_.name(key.atom);
        if (!name || !is_elixir_keyword(*name)) {
            return {};
        }
        at = key.next;
        if (*name == "__struct__") {
            const auto value = read_external_item(reader_, at);
            const auto module =
                value.status == ExternalStatus::kHere && value.kind == ExternalKind::kAtom
                    ? atoms_.name(value.atom)
                    : std::nullopt;
            if (module && is_elixir_alias(*module)) {
                shape.structure = elixir_atom(*module);
            }
        }
        if (skip_external(reader_, at, look_ahead_) != ExternalStatus::kHere) {
            return {};
        }
    }
    shape.keyword = item.count != 0;
    return shape;
}

void ExternalTermPrinter::print_channel(const ExternalAtom& node) {
    if (const auto channel = atoms_.channel(node)) {
        buffer_.put_unsigned(*channel);
    } else {
        ++statistics_.absent;
        buffer_.put('?');
    }
}

void ExternalTermPrinter::print_identifier(const ExternalItem& item) {
    buffer_.put(item.kind == ExternalKind::kPid    ? dialect_->pid
                : item.kind == ExternalKind::kPort ? "#Port<"
                                                   : dialect_->ref);
    print_channel(item.atom);
    if (item.kind == ExternalKind::kReference) {
        // The node's own references have three numbers, whatever was sent.
        const auto count = atoms_.channel(item.atom) == 0
                               ? std::max(item.count, kLocalReferenceNumbers)
                               : item.count;
        for (auto i = count; i-- > 0;) {
            buffer_.put('.');
            buffer_.put_unsigned(item.numbers.at(i));
        }
    } else {
        buffer_.put('.');
        buffer_.put_unsigned(item.numbers[0]);
    }
    if (item.kind == ExternalKind::kPid) {
        buffer_.put('.');
        buffer_.put_unsigned(item.numbers[1]);
    }
    buffer_.put('>');
}

void ExternalTermPrinter::print_fun_name(const ExternalItem& item) {
    if (dialect_->elixir) {
        // The format does not have the name of the function that it was written in.
        buffer_.put_fun_head(item.value, item.uniq, item.count);
        print_atom(item.atom, true);
        buffer_.put('>');
        return;
    }
    buffer_.put("#Fun<");
    if (const auto module = atoms_.name(item.atom)) {
        buffer_.put(*module);
    } else {
        print_atom(item.atom, false);
    }
    buffer_.put('.');
    buffer_.put_signed(item.value);
    buffer_.put('.');
    buffer_.put_signed(item.uniq);
    buffer_.put('>');
}

void ExternalTermPrinter::print_fun(const ExternalItem& item) {
    if (item.kind == ExternalKind::kExport) {
        buffer_.put(dialect_->elixir ? "&" : "fun ");
        print_atom(item.atom, dialect_->elixir);
        buffer_.put(dialect_->elixir ? '.' : ':');
        const auto name = atoms_.name(item.name);
        if (dialect_->elixir && name) {
            buffer_.put(elixir_function(*name));
        } else {
            print_atom(item.name, false);
        }
        buffer_.put('/');
        buffer_.put_unsigned(item.count);
        return;
    }
    print_fun_name(item);
    // Its creator and its free variables are not printed. No term has more items than bytes.
    auto items = reader_.size();
    for (std::uint64_t part = 0; part < item.parts; ++part) {
        const auto status = skip_external(reader_, at_, items);
        if (status != ExternalStatus::kHere) {
            fail(status, at_);
            return;
        }
    }
}

bool ExternalTermPrinter::is_in_string(std::uint64_t character) const {
    return dialect_->elixir ? is_charlist_character(character) : is_string_character(character);
}

void ExternalTermPrinter::print_map(const ExternalItem& item) {
    const MapShape shape = dialect_->elixir ? map_shape(item) : MapShape();
    buffer_.open(shape.structure.empty() ? std::string(dialect_->map)
                                         : "%" + shape.structure + "{");
    const Frame frame{.left = 2 * item.count,
                      .kind = FrameKind::kMap,
                      .keyword = shape.keyword,
                      .structure = !shape.structure.empty()};
    std::vector<std::uint64_t> positions;
    if (item.count < 2 || item.count > otp25::kMaxFlatMapSize ||
        sorted_.size() > kMaxSortedPositions || !find_parts(item, positions)) {
        frames_.push_back(frame);
        return;
    }
    const auto end = positions.back();
    positions.pop_back();
    if (!sort_pairs(positions)) {
        frames_.push_back(frame);
        return;
    }
    push_sorted(positions, end, frame);
}

void ExternalTermPrinter::print_record(const ExternalItem& item) {
    buffer_.put('#');
    print_atom(item.atom, false);
    if (!failed_) {
        buffer_.put(':');
        print_atom(item.name, false);
    }
    if (failed_) {
        return;
    }
    buffer_.open("{");
    std::uint64_t values = item.next;
    if (!pass_keys(item, values)) {
        frames_.push_back({.kind = FrameKind::kRecord});
        return;
    }
    std::vector<std::uint64_t> parts;
    if (item.parts > kMaxSortedPositions || sorted_.size() > kMaxSortedPositions ||
        !find_parts(item, parts)) {
        frames_.push_back({.left = item.parts, .key = item.next, .kind = FrameKind::kRecord});
        at_ = values;
        return;
    }
    push_sorted(sorted_fields(parts), parts.back(), {.record = true});
}

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

/// Whether all elements of a list are printable characters, so that it prints as a string.
bool ExternalTermPrinter::is_printable_string(const ExternalItem& first) {
    ExternalItem list = first;
    for (;;) {
        const bool characters = list.kind == ExternalKind::kString;
        auto at = characters ? list.content : list.next;
        for (std::uint64_t i = 0; i < list.count; ++i) {
            std::uint8_t byte = 0;
            if (characters) {
                if (reader_.byte(at, byte) != ExternalStatus::kHere || !is_in_string(byte)) {
                    return false;
                }
                ++at;
                continue;
            }
            const auto item = read_external_item(reader_, at);
            if (item.status != ExternalStatus::kHere || item.kind != ExternalKind::kInteger ||
                item.value < 0 || item.value > 255 ||
                !is_in_string(static_cast<std::uint64_t>(item.value))) {
                return false;
            }
            at = item.next;
        }
        if (characters) {
            return true;
        }
        list = read_external_item(reader_, at);
        if (list.status != ExternalStatus::kHere) {
            return false;
        }
        if (list.kind != ExternalKind::kList && list.kind != ExternalKind::kString) {
            return list.kind == ExternalKind::kNil;
        }
    }
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

void ExternalTermPrinter::put_string_character(char character) {
    if (dialect_->elixir) {
        const auto octet = static_cast<std::uint8_t>(character);
        buffer_.put_characters(std::span(&octet, 1));
        return;
    }
    if (character == '\n') {
        buffer_.put("\\n");
        return;
    }
    if (character == '"') {
        buffer_.put('\\');
    }
    buffer_.put(character);
}

/// Positions of the parts of an item, as they stand, and of what follows them.
bool ExternalTermPrinter::find_parts(const ExternalItem& item,
                                     std::vector<std::uint64_t>& positions) {
    auto at = item.next;
    for (std::uint64_t part = 0; part < item.parts; ++part) {
        positions.push_back(at);
        if (skip_external(reader_, at, look_ahead_) != ExternalStatus::kHere) {
            return false;
        }
    }
    positions.push_back(at);
    return true;
}

/// Moves `at` behind a record's keys. False if one is not an atom or missing, which is marked.
bool ExternalTermPrinter::pass_keys(const ExternalItem& record, std::uint64_t& at) {
    for (std::uint64_t field = 0; field < record.count; ++field) {
        const auto key = read_external_item(reader_, at);
        if (key.status != ExternalStatus::kHere || key.kind != ExternalKind::kAtom) {
            fail(key.status == ExternalStatus::kHere ? ExternalStatus::kMalformed : key.status, at);
            return false;
        }
        at = key.next;
    }
    return true;
}

/// A record's keys and values, one after the other, in the order of the atom table. `parts`: the
/// keys, the values and their end.
std::vector<std::uint64_t> ExternalTermPrinter::sorted_fields(
    const std::vector<std::uint64_t>& parts) {
    struct Field {
        std::uint64_t place = 0;
        std::uint64_t key = 0;
        std::uint64_t value = 0;
    };
    const std::size_t count = parts.size() / 2;
    std::vector<Field> fields(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto index = atoms_.index(read_external_item(reader_, parts[i]).atom);
        fields[i] = {index ? *index : kNoPlace, parts[i], parts[count + i]};
    }
    std::ranges::stable_sort(fields, {}, &Field::place);
    std::vector<std::uint64_t> positions;
    for (const Field& field : fields) {
        positions.push_back(field.key);
        positions.push_back(field.value);
    }
    return positions;
}

void ExternalTermPrinter::push_sorted(const std::vector<std::uint64_t>& positions,
                                      std::uint64_t end, Frame frame) {
    sorted_.push_back(end);
    sorted_.insert(sorted_.end(), positions.rbegin(), positions.rend());
    frame.left = positions.size();
    frame.kind = FrameKind::kSortedMap;
    frames_.push_back(frame);
}

/// Sorts pairs by their keys. False if they are sorted already, or the order is unknown.
bool ExternalTermPrinter::sort_pairs(std::vector<std::uint64_t>& positions) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (std::size_t i = 0; i < positions.size(); i += 2) {
        pairs.emplace_back(positions[i], positions[i + 1]);
    }
    const auto compare = [this](std::uint64_t left, std::uint64_t right) {
        return atom_keys_by_index_ ? order_.compare_keys(left, right, look_ahead_)
                                   : order_.compare(left, right, look_ahead_);
    };
    bool moved = false;
    // Insertion sort: the pairs are few and nearly always sorted, which takes one comparison each.
    // It can also stop at the first unknown comparison.
    for (std::size_t i = 1; i < pairs.size(); ++i) {
        for (std::size_t j = i; j > 0; --j) {
            const auto order = compare(pairs[j - 1].first, pairs[j].first);
            if (!order) {
                return false;
            }
            if (*order <= 0) {
                break;
            }
            std::swap(pairs[j - 1], pairs[j]);
            moved = true;
        }
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        positions[2 * i] = pairs[i].first;
        positions[2 * i + 1] = pairs[i].second;
    }
    return moved;
}

void ExternalTermPrinter::mark(ExternalStatus status, std::uint64_t at) {
    const bool absent = status == ExternalStatus::kAbsent;
    ++(absent ? statistics_.absent : statistics_.malformed);
    buffer_.put(absent ? "#Absent<byte " : "#Malformed<byte ");
    buffer_.put_unsigned(at);
    buffer_.put(" of ");
    buffer_.put_unsigned(reader_.size());
    buffer_.put('>');
}

void ExternalTermPrinter::fail(ExternalStatus status, std::uint64_t at) {
    mark(status, at);
    failed_ = true;
}

}  // namespace beamdump
