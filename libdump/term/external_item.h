#pragma once

#include <libdump/term/external_reader.h>

#include <array>
#include <cstdint>
#include <optional>

namespace beamdump {

enum class ExternalKind : std::uint8_t {
    kInteger,  ///< fits a small: value
    kBig,      ///< content: its bytes, lowest first
    kFloat,
    kAtom,
    kReference,
    kFun,
    kExport,
    kPort,
    kPid,
    kTuple,
    kRecord,  ///< native record: its keys, then its values, both in the order they were declared
    kMap,
    kNil,
    kList,    ///< its elements (at least one), then its tail
    kString,  ///< a list of bytes, at least one
    kBinary,  ///< bytes or bits
};

/// An atom: by its place in the atom cache, or by its name.
struct ExternalAtom {
    std::optional<std::uint8_t> cached;
    std::uint64_t at = 0;  ///< of the name's first byte
    std::uint32_t bytes = 0;
    bool latin1 = false;  ///< else UTF-8
};

/// The item at one position: a whole term, or the head of a term whose parts follow.
struct ExternalItem {
    ExternalStatus status = ExternalStatus::kMalformed;
    ExternalKind kind = ExternalKind::kNil;
    std::uint64_t at = 0;        ///< of the tag; where a failure was found
    std::uint64_t next = 0;      ///< position behind it: of its first part, if it has any
    std::uint64_t parts = 0;     ///< terms that follow as parts of it
    std::uint64_t count = 0;     ///< elements, pairs, fields, characters, arity, bytes of a binary
                                 ///< or big
    std::uint64_t content = 0;   ///< position of the bytes of a big, string or binary
    std::int64_t value = 0;      ///< integer; index of a fun; 1 for an exported record
    double number = 0;           ///< float
    bool negative = false;       ///< big
    std::uint8_t last_bits = 8;  ///< bits that count of a binary's last byte
    ExternalAtom atom = {};      ///< atom; node of an identifier; module of a fun or record
    ExternalAtom name = {};      ///< of an export's function, of a record
    std::uint64_t creation = 0;
    std::int64_t uniq = 0;                   ///< of a fun: the older, shorter one, as printed
    std::array<std::uint64_t, 5> numbers{};  ///< count of them for a reference; pid: number, serial
};

/// Reads the item at `at`. A list or string without elements is read as its tail, the empty list.
/// Checked: the item lies inside the term, and at least one byte is left for each of its parts.
ExternalItem read_external_item(ExternalReader& reader, std::uint64_t at);

/// Moves `at` behind the term there, or to the position of the failure. A term of more than
/// `budget` items is malformed too; `budget` is reduced by the items skipped. Needs no memory.
ExternalStatus skip_external(ExternalReader& reader, std::uint64_t& at, std::uint64_t& budget);

}  // namespace beamdump
