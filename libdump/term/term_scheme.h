#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/term/term_style.h>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

namespace beamdump {

/// The kind of a word, by its tag alone.
enum class WordKind : std::uint8_t {
    kHeader,  ///< header of a boxed object, a code pointer, or the non-value
    kList,    ///< pointer to a cons cell
    kBoxed,   ///< pointer to a boxed object
    kSmall,
    kPid,
    kPort,
    kAtom,
    kCatch,
    kNil,
    kUnknown,  ///< a tag that no release of the scheme uses
};

/// The kind of a boxed object, by its header.
enum class BoxedKind : std::uint8_t {
    kUnknown,
    kTuple,
    kMatchContext,
    kPositiveBig,
    kNegativeBig,
    kReference,  ///< ordinary, with a pid (alias), or magic
    kFun,
    kFloat,
    kRefcBinary,
    kHeapBinary,
    kSubBinary,
    kSubBits,  ///< part of an off-heap bit string, or a match context (from OTP 27 on)
    kFunRef,   ///< keeps a local fun's entry (OTP 27 and 28)
    kRecord,   ///< native record (from OTP 29 on)
    kExternalPid,
    kExternalPort,
    kExternalReference,
    kFlatMap,
    kHashMapNode,  ///< inner node of a large map
    kHashMapHead,  ///< root of a large map
};

/// The tags of words in a range of releases (64-bit words only), filled in by scheme_of(). Code
/// that reads words uses these and has no tags of its own.
struct TagScheme {
    format::TermScheme id = format::TermScheme::kUnknown;
    std::uint64_t non_value = 0;
    std::uint64_t nil = 0;
    std::array<WordKind, 4> by_primary{};     ///< by 2 bits; kUnknown: look at immediate1
    std::array<WordKind, 4> by_immediate1{};  ///< by the next 2 bits; kUnknown: at immediate2
    std::array<WordKind, 4> by_immediate2{};  ///< by the next 2 bits
    std::array<BoxedKind, 16> by_subtag{};    ///< by bits 2 to 5 of a header; maps as kFlatMap
    std::uint64_t max_tuple_arity = 0;
    std::uint64_t max_big_words = 0;
    unsigned pid_bits = 0;         ///< printed bits of a local pid's data
    unsigned pid_number_bits = 0;  ///< of these, the low ones: its number; the others: its serial
    unsigned port_bits = 0;
    bool slots_in_identifiers = false;  ///< the low bits of a local one are its slot
    /// Slots of the node's tables, if identifiers' words have slots (format::identifier_data());
    /// else 0.
    std::uint64_t pid_slots = 0;
    std::uint64_t port_slots = 0;
    bool heap_binary_in_bits = false;   ///< its second word counts bits, not bytes
    std::uint64_t refc_words = 0;       ///< size of the object that refers to a Binary
    std::uint64_t refc_binary = 0;      ///< word in it with the Binary's address
    bool fun_in_header = false;         ///< arity and size of the environment
    bool fun_kind_in_header = false;    ///< whether it is external; else it has no environment
    bool fun_counts_apart = false;      ///< arity and free variables: a word each, not a byte
    std::uint64_t fun_creator = 0;      ///< word with it; 0: funs have none
    std::uint64_t fun_environment = 0;  ///< word that it begins at
    std::uint64_t export_header = 0;    ///< of external funs, where they have another than local
    std::uint64_t export_words = 0;     ///< size of an external fun
    bool pid_in_reference = false;      ///< the pid of an alias is printed as two more numbers
    bool large_maps_as_pairs = false;   ///< printed as pairs, without inner nodes
    bool writable_binaries_listed = false;  ///< by process_info(binary)
    bool empty_tuple_is_copied = false;     ///< up to OTP 24; then it is a literal of the node
    bool prints_no_value = false;           ///< for the catch with index 0, e.g. a missing default
    bool atom_keys_by_index = false;  ///< atom keys of small maps are in the order of their indexes
    /// Converted from a crash dump of a node with four-byte words: objects are at doubled
    /// addresses, since words have eight bytes in the dump.
    bool doubled_addresses = false;
    TermStyle style = {};  ///< how its terms are printed
};

/// The scheme's tags for the VM's own text, as what is not shown to the user needs it.
inline TagScheme without_style(TagScheme scheme) {
    scheme.style = {};
    return scheme;
}

/// The tags for texts that are read back, as paths to terms are.
inline TagScheme without_resource_types(TagScheme scheme) {
    scheme.style.resources = nullptr;
    return scheme;
}

/// The tags of a dump's scheme; kUnsupported for an unknown one.
Result<TagScheme> scheme_of(format::TermScheme id);

inline constexpr std::uint64_t kWordBytes = 8;

inline WordKind word_kind(const TagScheme& scheme, std::uint64_t word) {
    WordKind kind = scheme.by_primary[word & 3U];
    if (kind == WordKind::kUnknown) {
        kind = scheme.by_immediate1[(word >> 2U) & 3U];
        if (kind == WordKind::kUnknown) {
            kind = scheme.by_immediate2[(word >> 4U) & 3U];
        }
    }
    return kind;
}

/// Address of a list or boxed word's object. Not checked to be aligned: see is_aligned().
constexpr std::uint64_t pointer_of(std::uint64_t word) {
    return word & ~std::uint64_t{3};
}
constexpr bool is_aligned(std::uint64_t address) {
    return address % kWordBytes == 0;
}

constexpr std::int64_t small_value(std::uint64_t word) {
    return static_cast<std::int64_t>(word) >> 4;
}
/// An atom's or catch word's index in the runtime's table.
constexpr std::uint64_t table_index(std::uint64_t word) {
    return word >> 6U;
}

/// The printed parts of a local pid or port (erl_term.h, erl_ptab.h).
constexpr std::uint64_t low_bits(std::uint64_t value, unsigned bits) {
    return value & ((std::uint64_t{1} << bits) - 1);
}
constexpr std::uint64_t identifier_bits(std::uint64_t word, unsigned bits, std::uint64_t slots) {
    const std::uint64_t data = low_bits(word >> 4U, bits);
    return slots == 0 ? data : format::identifier_data(data, slots);
}
constexpr std::uint64_t pid_number(const TagScheme& scheme, std::uint64_t word) {
    return low_bits(identifier_bits(word, scheme.pid_bits, scheme.pid_slots),
                    scheme.pid_number_bits);
}
constexpr std::uint64_t pid_serial(const TagScheme& scheme, std::uint64_t word) {
    return identifier_bits(word, scheme.pid_bits, scheme.pid_slots) >> scheme.pid_number_bits;
}
constexpr std::uint64_t port_number(const TagScheme& scheme, std::uint64_t word) {
    return identifier_bits(word, scheme.port_bits, scheme.port_slots);
}

constexpr std::uint64_t header_arity(std::uint64_t header) {
    return header >> 6U;
}

/// Words of data under a map header: the bits of its bitmap (large maps).
constexpr std::uint64_t map_bitmap(std::uint64_t header) {
    return (header >> 16U) & 0xFFFFU;
}

inline BoxedKind boxed_kind(const TagScheme& scheme, std::uint64_t header) {
    if ((header & 3U) != 0) {
        return BoxedKind::kUnknown;
    }
    const BoxedKind kind = scheme.by_subtag[(header >> 2U) & 15U];
    if (kind == BoxedKind::kFlatMap) {
        constexpr std::array kMapTypes = {BoxedKind::kFlatMap, BoxedKind::kHashMapNode,
                                          BoxedKind::kHashMapHead, BoxedKind::kHashMapHead};
        return kMapTypes[(header >> 6U) & 3U];
    }
    return kind;
}

/// Word positions inside boxed objects of the OTP 25 scheme (erl_term.h, global.h ProcBin,
/// erl_bits.h ErlSubBin and ErlBinMatchState, erl_fun.h ErlFunThing, erl_map.h; OTP 25.2.3). Maps,
/// external identifiers, references and a heap binary's data are the same in OTP 27.
namespace otp25 {
inline constexpr std::uint64_t kBinarySize = 1;  ///< bytes, in all three kinds of binaries
inline constexpr std::uint64_t kRefcNext = 2;
inline constexpr std::uint64_t kRefcBytes = 4;  ///< address of the first byte
inline constexpr std::uint64_t kRefcWords = 6;
inline constexpr std::uint64_t kHeapBinaryData = 2;
inline constexpr std::uint64_t kSubOffset = 2;  ///< bytes
inline constexpr std::uint64_t kSubBits = 3;    ///< bytes: bit size, bit offset, is_writable
inline constexpr std::uint64_t kSubOriginal = 4;
inline constexpr std::uint64_t kSubWords = 5;
/// Words of a match context: the binary, and the current and the last bit (erl_bits.h,
/// ErlBinMatchBuffer).
inline constexpr std::uint64_t kMatchOriginal = 1;
inline constexpr std::uint64_t kMatchOffset = 3;
inline constexpr std::uint64_t kMatchEnd = 4;
inline constexpr std::uint64_t kFunEntry = 1;    ///< address of an ErlFunEntry or Export
inline constexpr std::uint64_t kFunCounts = 3;   ///< bytes: arity, free variables (25, 26)
inline constexpr std::uint64_t kFunCreator = 4;  ///< a pid, or for an export fun an atom
inline constexpr std::uint64_t kFunEnvironment = 5;
inline constexpr std::uint64_t kExternalNode = 1;
inline constexpr std::uint64_t kExternalData = 3;
inline constexpr std::uint64_t kFlatMapSize = 1;
inline constexpr std::uint64_t kFlatMapKeys = 2;
inline constexpr std::uint64_t kFlatMapValues = 3;
inline constexpr std::uint64_t kHashHeadItems = 2;
inline constexpr std::uint64_t kHashNodeItems = 1;
/// Low half of an ordinary reference's first data word; a magic one holds a pointer there.
inline constexpr std::uint64_t kOrdinaryReferenceMarker = 0xFFFF'FFFFU;
inline constexpr std::uint64_t kReferenceNumbers = 3;
inline constexpr std::uint64_t kPidReferenceWords = 4;
/// Pairs that a flat map holds at most (MAP_SMALL_MAP_LIMIT).
inline constexpr std::uint64_t kMaxFlatMapSize = 32;
/// By the first data word of a local reference: whether this is the address of a magic binary.
constexpr bool is_magic_reference(std::uint64_t first_data_word) {
    return (first_data_word & kOrdinaryReferenceMarker) != kOrdinaryReferenceMarker;
}
}  // namespace otp25

/// Releases up to 24 (erl_fun.h, ErlFunThing of R10B to OTP 24; erl_term.h, HEADER_EXPORT).
namespace otp24 {
inline constexpr std::uint64_t kFunFreeVariables = 4;
inline constexpr std::uint64_t kFunCreator = 5;
inline constexpr std::uint64_t kFunEnvironment = 6;
inline constexpr std::uint64_t kExportWords = 2;  ///< a header and the Export's address
inline constexpr std::uint64_t kExportHeader = 1U << 6U | 7U << 2U;
inline constexpr std::uint64_t kRefcWordsOfR11 = 5;
}  // namespace otp24

/// Word positions that differ in OTP 27 (erl_bits.h ErlSubBits and BinRef, erl_fun.h; 27.3.4).
namespace otp27 {
inline constexpr std::uint64_t kSubBase = 1;   ///< address of a byte, flags in the two lowest bits
inline constexpr std::uint64_t kSubStart = 2;  ///< in bits from there on
inline constexpr std::uint64_t kSubEnd = 3;
inline constexpr std::uint64_t kSubOriginal = 4;
inline constexpr std::uint64_t kSubWords = 5;
inline constexpr std::uint64_t kSubFlags = 3;
/// Flag: the bytes may have moved; the Binary has their address.
inline constexpr std::uint64_t kSubVolatile = 2;
inline constexpr std::uint64_t kFunRefWords = 3;
inline constexpr std::uint64_t kFunEnvironment = 2;
}  // namespace otp27

/// What OTP 29 has of its own (erl_term.h and erl_record.h, 29.1.1).
namespace otp29 {
/// The bits of a fun's header above those of its arity: the environment's size, then its kind.
inline constexpr std::uint64_t kFunExternal = 0x100;
inline constexpr std::uint64_t kRecordDefinition = 1;
inline constexpr std::uint64_t kRecordValues = 2;
/// Word positions in a record's definition, which is tagged as a tuple. Its keys, and the values of
/// each record, are in the order of the atom table.
inline constexpr std::uint64_t kDefinitionModule = 3;
inline constexpr std::uint64_t kDefinitionName = 4;
inline constexpr std::uint64_t kDefinitionKeys = 6;
}  // namespace otp29

/// Number of a fun's words that is_external_fun() needs; every fun has them.
constexpr std::uint64_t fun_head_words(const TagScheme& scheme) {
    return scheme.fun_in_header || scheme.export_header != 0 ? otp27::kFunEnvironment
                                                             : otp25::kFunEnvironment;
}

/// Whether a header has the tag of an external fun, where those are objects of their own.
constexpr bool is_export_object(const TagScheme& scheme, std::uint64_t header) {
    return scheme.export_header != 0 && low_bits(header ^ scheme.export_header, 6) == 0;
}

/// The word that has the number of free variables, where the header does not have it.
constexpr std::uint64_t fun_free_word(const TagScheme& scheme) {
    return scheme.fun_counts_apart ? otp24::kFunFreeVariables : otp25::kFunCounts;
}

/// Whether a fun is external, fun M:F/A. `words`: the first fun_head_words().
bool is_external_fun(const TagScheme& scheme, std::span<const std::uint64_t> words);

/// First word that a boxed object of that kind holds terms in, and how many follow.
struct TermRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

/// Words that say an object's size: a fun of OTP 24 says it in the last of them.
inline constexpr std::size_t kSizeWords = 5;

/// Size of a boxed object in words, its header included. `words` starts at the header and must hold
/// kSizeWords (or as many as the object has, if fewer). nullopt if the words contradict the scheme
/// (unknown header, arity over the runtime's limits, map of more than 32 pairs).
std::optional<std::uint64_t> boxed_words(const TagScheme& scheme,
                                         std::span<const std::uint64_t> words);

/// The slots of a boxed object that hold terms (elements, values, environment, a sub binary's
/// original); count 0 if it has none. `words` as for boxed_words().
std::optional<TermRange> boxed_terms(const TagScheme& scheme, std::span<const std::uint64_t> words);

}  // namespace beamdump
