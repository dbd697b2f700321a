#include "query/term/term_parts.h"

#include <libdump/term/heap_object.h>
#include <libdump/term/map_cells.h>

#include <bit>
#include <optional>

namespace beamdump::query {

namespace {

using VisitPart = std::function<bool(const TermPart&)>;
using Kind = WalkLevel::Kind;

bool each_item(const TagScheme& scheme, WordReader& reader, std::uint64_t list,
               const VisitPart& visit) {
    std::uint64_t cell = pointer_of(list);
    std::uint64_t tortoise = cell;
    for (std::uint64_t index = 0;;) {
        std::uint64_t head = 0;
        std::uint64_t tail = 0;
        if (reader.read_pair(cell, head, tail) != WordStatus::kHere) {
            return false;
        }
        if (!visit({{Kind::kList, cell, index}, head}) || tail == scheme.nil) {
            return true;
        }
        if (word_kind(scheme, tail) != WordKind::kList) {
            visit({{Kind::kList, cell, WalkLevel::kTail}, tail});
            return true;
        }
        // Brent: the tortoise waits at cell 1, 2, 4, 8, ... of a torn list.
        cell = pointer_of(tail);
        if (cell == tortoise) {
            return false;
        }
        if (std::has_single_bit(++index)) {
            tortoise = cell;
        }
    }
}

bool each_pair(const TagScheme& scheme, WordReader& reader, const HeapObject& map, Parts which,
               const VisitPart& visit) {
    MapCells cells(scheme, reader, map.address, map.header);
    std::uint64_t cell = 0;
    while (cells.next(cell)) {
        std::uint64_t key = 0;
        std::uint64_t value = 0;
        if (reader.read_pair(cell, key, value) != WordStatus::kHere) {
            return false;
        }
        if ((which == Parts::kAll && !visit({{Kind::kPair, cell, 0}, key})) ||
            !visit({{Kind::kPair, cell, 1}, value})) {
            return true;
        }
    }
    return !cells.is_broken();
}

/// The kind of the steps out of an object; nullopt: it has no parts.
std::optional<Kind> step_kind(BoxedKind kind) {
    switch (kind) {
        case BoxedKind::kTuple:
            return Kind::kTuple;
        case BoxedKind::kFlatMap:
            return Kind::kFlatMap;
        case BoxedKind::kFun:
            return Kind::kFun;
        case BoxedKind::kRecord:
            return Kind::kRecord;
        case BoxedKind::kSubBinary:
        case BoxedKind::kSubBits:
        case BoxedKind::kMatchContext:
            return Kind::kKept;
        default:
            return std::nullopt;
    }
}

}  // namespace

bool each_part(const TagScheme& scheme, WordReader& reader, std::uint64_t word, Parts which,
               const VisitPart& visit) {
    const WordKind tag = word_kind(scheme, word);
    if (tag == WordKind::kList) {
        return each_item(scheme, reader, word, visit);
    }
    if (tag != WordKind::kBoxed) {
        return true;
    }
    const auto object = boxed_object(scheme, reader, pointer_of(word));
    if (!object) {
        return false;
    }
    if (object->kind == BoxedKind::kHashMapHead) {
        return each_pair(scheme, reader, *object, which, visit);
    }
    const auto kind = step_kind(object->kind);
    if (!kind || (*kind == Kind::kKept && which == Parts::kShown)) {
        return true;
    }
    // A map's keys, and a record's definition, come before the values.
    const bool hides_first =
        which == Parts::kShown && (*kind == Kind::kFlatMap || *kind == Kind::kRecord);
    for (std::uint64_t i = hides_first ? 1 : 0; i < object->terms.count; ++i) {
        std::uint64_t part = 0;
        if (reader.read(object->terms_address() + i * kWordBytes, part) != WordStatus::kHere) {
            return false;
        }
        if (!visit({{*kind, object->address, i}, part})) {
            return true;
        }
    }
    return true;
}

std::string_view term_kind_text(const TagScheme& scheme, WordReader& reader, std::uint64_t word) {
    switch (word_kind(scheme, word)) {
        case WordKind::kSmall:
            return "integer";
        case WordKind::kAtom:
            return "atom";
        case WordKind::kPid:
            return "pid";
        case WordKind::kPort:
            return "port";
        case WordKind::kNil:
        case WordKind::kList:
            return "list";
        case WordKind::kBoxed:
            break;
        default:
            return "unknown";
    }
    const auto object = boxed_object(scheme, reader, pointer_of(word));
    switch (object ? object->kind : BoxedKind::kUnknown) {
        case BoxedKind::kTuple:
            return "tuple";
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            return "integer";
        case BoxedKind::kFloat:
            return "float";
        case BoxedKind::kReference:
        case BoxedKind::kExternalReference:
            return "reference";
        case BoxedKind::kExternalPid:
            return "pid";
        case BoxedKind::kExternalPort:
            return "port";
        case BoxedKind::kFun:
            return "fun";
        case BoxedKind::kRecord:
            return "native_record";
        case BoxedKind::kRefcBinary:
        case BoxedKind::kHeapBinary:
        case BoxedKind::kSubBinary:
        case BoxedKind::kSubBits:
            return "binary";
        case BoxedKind::kMatchContext:
            return "match_context";
        case BoxedKind::kFlatMap:
        case BoxedKind::kHashMapHead:
            return "map";
        default:
            return "unknown";
    }
}

}  // namespace beamdump::query
