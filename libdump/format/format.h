#pragma once

// Fixed structures of the dump format, version 1. The specification, with the reasons, is
// schemas/dump-format.md; fact records are in schemas/records.proto. All integers little-endian.

#include <array>
#include <cstddef>
#include <cstdint>

namespace beamdump::format {

inline constexpr std::uint16_t kMajorVersion = 1;
inline constexpr std::uint16_t kMinorVersion = 1;

inline constexpr std::uint32_t kZstdMagic = 0xFD2FB528;
/// Skippable frames of this format: file header and tail. The seek table has its standard number.
inline constexpr std::uint32_t kHeaderSkippableMagic = 0x184D2A5D;
inline constexpr std::uint32_t kTailSkippableMagic = 0x184D2A5C;
inline constexpr std::uint32_t kSeekTableSkippableMagic = 0x184D2A5E;
inline constexpr std::uint32_t kSeekTableFooterMagic = 0x8F92EAB1;
inline constexpr std::size_t kSeekTableFooterBytes = 9;
inline constexpr std::size_t kSeekTableEntryBytes = 12;  ///< with checksums
inline constexpr std::uint8_t kSeekTableHasChecksums = 0x80;

inline constexpr std::array<char, 8> kHeaderText = {'B', 'E', 'A', 'M', 'D', 'U', 'M', 'P'};
inline constexpr std::array<char, 8> kTailText = {'B', 'D', 'U', 'M', 'P', 'E', 'N', 'D'};

/// Maximum decompressed size of a frame. Readers refuse more before allocating.
inline constexpr std::uint32_t kMaxFrameBytes = 16U << 20U;
/// Minimum of FileHeader::frame_bytes, which is a multiple of 8.
inline constexpr std::uint32_t kMinFrameBytes = 1U << 10U;
inline constexpr std::uint32_t kDefaultFrameBytes = 256U << 10U;

/// Maximum size of a zstd frame of `content_bytes` bytes. Readers refuse more before allocating;
/// zstd's own bound (ZSTD_COMPRESSBOUND) is always below.
constexpr std::uint64_t max_compressed_bytes(std::uint64_t content_bytes) {
    return content_bytes + content_bytes / 64 + 512;
}

/// First bytes of a dump: a skippable frame, 8 bytes of frame header and this.
struct FileHeader {
    std::array<char, 8> text = kHeaderText;
    std::uint16_t major = kMajorVersion;
    std::uint16_t minor = kMinorVersion;
    std::uint32_t frame_bytes = kDefaultFrameBytes;  ///< decompressed bytes of a full frame
    std::uint64_t dump_id = 0;                       ///< random; every frame repeats it
    std::int64_t created_us = 0;                     ///< wall clock
    std::uint64_t reserved = 0;
    std::uint64_t checksum = 0;  ///< XXH64, seed 0, of all bytes before it
};
static_assert(sizeof(FileHeader) == 48);

/// The skippable frame before the seek table.
struct Tail {
    std::array<char, 8> text = kTailText;
    std::uint64_t dump_id = 0;
    std::uint64_t trailer_offset = 0;       ///< flat offset of the Trailer record
    std::uint64_t flat_bytes = 0;           ///< decompressed length of the stream
    std::uint64_t frames = 0;               ///< zstd frames
    std::uint64_t seek_table_checksum = 0;  ///< XXH64 of the whole seek table frame
    std::uint64_t checksum = 0;             ///< XXH64, seed 0, of all bytes before it
};
static_assert(sizeof(Tail) == 56);

/// The start of every record. Records are padded with zeros to a multiple of 8 bytes, follow each
/// other, and never span two frames.
struct RecordHeader {
    std::uint16_t kind = 0;
    std::uint16_t flags = 0;          ///< of a coded record its Coding, else 0
    std::uint32_t payload_bytes = 0;  ///< without this header and without the padding
};
static_assert(sizeof(RecordHeader) == 8);

/// Bytes of a record with its header and padding.
constexpr std::uint64_t record_bytes(std::uint64_t payload_bytes) {
    return (sizeof(RecordHeader) + payload_bytes + 7U) / 8U * 8U;
}

/// Added to the kind of a record whose words are coded (since 1.1): readers of 1.0, which do not
/// know such a kind, do not take coded words for plain ones.
inline constexpr std::uint16_t kCodedKind = 0x4000;

/// How the words of a coded record are stored.
enum class Coding : std::uint16_t {
    kDistances = 1,          ///< pointers as distances, columns of addresses as differences
    kDistancesInPlanes = 3,  ///< then the bytes of all words sorted by their place in the word
};

/// Payload of the first record of every frame.
struct FrameStart {
    std::uint64_t sequence = 0;     ///< 0, 1, 2, ... over the zstd frames
    std::uint64_t flat_offset = 0;  ///< of this frame's first byte
    std::uint64_t dump_id = 0;
    std::uint64_t content_bytes = 0;  ///< decompressed bytes of this frame, this record included
    std::uint64_t checksum = 0;       ///< XXH64, seed 0, of the frame's bytes after this record
};
static_assert(sizeof(FrameStart) == 40);
inline constexpr std::size_t kFrameStartBytes = sizeof(RecordHeader) + sizeof(FrameStart);

/// Record kinds. Numbers below 256 are the format's own; a reader skips what it does not know.
enum class RecordKind : std::uint16_t {
    kFrameStart = 1,  ///< FrameStart above
    kRegion = 2,      ///< RegionHeader below, then the words (or bytes)
    kPadding = 3,     ///< nothing; may be skipped

    kCapture = 16,
    kEpoch = 17,
    kNode = 18,

    kAtoms = 32,
    kModule = 33,
    kFunctions = 34,
    kLines = 35,
    kExports = 36,
    kFunEntries = 37,
    kNodeEntries = 38,
    kCatches = 39,
    kCodePoints = 40,
    kCrashSections = 41,
    kLoadedModules = 42,

    kProcess = 64,
    kRelations = 65,
    kPackedRegions = 66,
    kMessages = 67,
    kRunDirectory = 68,
    kProcessEnd = 69,
    kBinaries = 70,

    kProcessColumn = 96,
    kModuleIndexPage = 97,
    kBinaryIndexPage = 98,

    kTrailer = 127,

    kEtsTables = 128,
    kEtsRows = 129,
    kPorts = 130,
    kTimers = 131,
    kPersistentTerms = 132,
    kCarriers = 133,
    kBlocks = 134,
    kScheduler = 135,
    kSystemMemory = 137,
    kSamples = 139,
    kAllocator = 140,
    kDistributionEntries = 141,
    kSockets = 143,
    kHistory = 144,
    kCrash = 145,
    kEmulator = 146,
    kResourceTypes = 147,

    // Reserved, so that later versions of the programs need no new major version.
    kThreadRegisters = 136,
    kRedactionPolicy = 138,
    kHashTables = 142,

    // Private to this program's cache (schemas/crash_index.proto): never assigned.
    kCrashIndex = 0x8001,
    kCrashPlaces = 0x8002,
    kCrashNames = 0x8003,
};

/// The owner of a region; the id is the runtime's own.
enum class OwnerKind : std::uint8_t {
    kUnknown = 0,
    kNode = 1,        ///< the node as a whole; id 0
    kProcess = 2,     ///< id = serial << 32 | number
    kBinary = 3,      ///< id = address of the Binary
    kEtsTable = 4,    ///< id = index of the table in the dump
    kPort = 5,        ///< reserved
    kTimer = 6,       ///< reserved
    kPersistent = 7,  ///< id = 0: all of them
    kThread = 8,      ///< reserved
    kCarrier = 9,     ///< reserved
};

enum class RegionKind : std::uint8_t {
    kUnknown = 0,
    kStack = 1,  ///< from the stack top (lowest address) to its bottom
    kHeap = 2,   ///< from the heap's start to its top
    kOldHeap = 3,
    kAbandonedHeap = 4,
    kHeapFragment = 5,      ///< mbuf chain
    kReceivedFragment = 6,  ///< msg_frag chain: messages received, not yet moved by a collection
    kMessageFragment = 7,   ///< of a message in a queue
    kDictionary = 8,        ///< the dictionary's slots: NIL, a {Key,Value} tuple, or a list of such
    kArguments = 9,         ///< argument registers beyond the built-in ones
    kShadowFragment = 10,   ///< fragments of a dirty NIF's shadow process
    kLiterals = 11,         ///< owner: the node
    kBinaryContent = 12,    ///< bytes
    kExternalData = 13,     ///< bytes of an undecoded message
    kSpecificData = 14,     ///< words that process-specific data points to
    kSignalData = 15,       ///< fragment of a signal that is not a message
    kRemoteIdentifiers = 16,  ///< external pids and references of links and monitors
    kUnplaced = 17,           ///< of a crash dump: heap, old heap or fragments, unknown which
    kEtsRow = 18,             ///< the words of a row, from its tuple on
    kPersistentTerm = 19,     ///< the words of a persistent term, from {Key, Value} on
    kCollectedHeap =
        20,            ///< heap, old heap or fragment that a collection is moving: see Collection
    kCopiedHeap = 21,  ///< what that collection has copied so far
};

/// In the regions of a converted crash dump: a word that the text lacks, between others that it
/// has. No release's terms have these low bits, and data nearly never this value.
inline constexpr std::uint64_t kLackingWord = 0xB5'C7'1D'93'6A'E8'F4'2B;

enum class RegionState : std::uint8_t {
    kWhole = 0,
    kPrefix = 1,      ///< only the first part was asked for
    kRedacted = 2,    ///< omitted by a redaction policy
    kNotPresent = 3,  ///< the pages were not in memory (swapped out or never touched)
    kUnreadable = 4,  ///< reading failed; the dump has the units before the failure
    kLeftOut = 5,     ///< not asked for, or over a size limit
};

/// How words are to be read as terms.
enum class TermScheme : std::uint16_t {
    kUnknown = 0,
    kOtp25 = 1,     ///< 64-bit, OTP 25: ProcBin, ErlSubBin, ErlHeapBin, ErlFunThing
    kOtp27 = 2,     ///< 64-bit, BinRef, ErlHeapBits, ErlSubBits, FunRef
    kOtp29 = 3,     ///< 64-bit, OTP 28 and 29: as kOtp27 without FunRef; native records (29)
    kR12 = 4,       ///< as kOtp25 with a fun's counts in its header: of R12 to OTP 24, text only
    kR11 = 5,       ///< as kR12 with a ProcBin of five words: of R10 and R11, text only
    kOtp26 = 6,     ///< 64-bit, OTP 26: as kOtp25 with the identifiers of kOtp27
    kOtp24 = 7,     ///< 64-bit, OTP 24: as kOtp25 with larger funs, and export funs of two words
    kNeutral = 64,  ///< reserved: words made from a crash dump's text
};

enum class RegionUnit : std::uint8_t { kWords = 0, kBytes = 1 };

/// Payload of a Region record, followed by `count` units of data.
struct RegionHeader {
    OwnerKind owner_kind = OwnerKind::kUnknown;
    RegionKind region_kind = RegionKind::kUnknown;
    RegionUnit unit = RegionUnit::kWords;
    std::uint8_t reserved = 0;
    TermScheme term_scheme = TermScheme::kUnknown;
    std::uint16_t word_bytes = 8;
    std::uint64_t owner_id = 0;
    std::uint64_t address = 0;  ///< of the region's first unit
    std::uint64_t total = 0;    ///< units of the whole region
    std::uint64_t first = 0;    ///< index of this piece's first unit
    std::uint64_t count = 0;    ///< units in this piece
};
static_assert(sizeof(RegionHeader) == 48);
/// From a Region record's flat offset to its data.
inline constexpr std::size_t kRegionDataOffset = sizeof(RecordHeader) + sizeof(RegionHeader);

/// Bytes of data in each full piece of a striped region. A striped region is in consecutive frames
/// of exactly frame_bytes, one piece each, so unit i is found by arithmetic.
constexpr std::uint64_t stripe_data_bytes(std::uint64_t frame_bytes) {
    return frame_bytes - kFrameStartBytes - kRegionDataOffset;
}

/// Flat offset of byte `byte` of a striped region whose first Region record is at `offset`.
constexpr std::uint64_t stripe_offset(std::uint64_t offset, std::uint64_t byte,
                                      std::uint64_t frame_bytes) {
    const std::uint64_t piece = stripe_data_bytes(frame_bytes);
    return offset + kRegionDataOffset + (byte / piece) * frame_bytes + byte % piece;
}

constexpr std::uint64_t owner_id_of(std::uint64_t number, std::uint64_t serial) {
    return serial << 32U | number;
}

/// Minimum number of slots of a table of processes or ports.
inline constexpr std::uint64_t kFewestSlots = 16;

/// The data of a pid or port of OTP 27 from the bits of its word, whose lowest bits are the slot in
/// the table (erl_ptab.h, erts_ptab_pixdata2data()). Slots lie scattered over the
/// table's cache lines of eight. `slots`: a power of two, 16 at least.
constexpr std::uint64_t identifier_data(std::uint64_t bits, std::uint64_t slots) {
    constexpr std::uint64_t kPerLine = 8;
    const std::uint64_t lines = slots / kPerLine;
    return (bits & ~(slots - 1)) | (bits / kPerLine & (lines - 1)) |
           (bits & (kPerLine - 1)) * lines;
}

}  // namespace beamdump::format
