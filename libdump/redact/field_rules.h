#pragma once

#include <libdump/format/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace beamdump::redact {

/// What is done with a field of a fact record. Every field has a rule, by its number: a field
/// without one is an error, never passed on.
enum class FieldRule : std::uint8_t {
    kKeep,       ///< a number: an amount, an address, an index, an identity, an enumeration
    kKeepText,   ///< bytes that the programs or the runtime made: names of releases, of structures
    kSentence,   ///< of the programs: words with names or paths in them are hidden
    kHide,       ///< bytes: each becomes an x
    kChecksum,   ///< of code, by which a literal could be guessed: bytes or a number, zeroed
    kArguments,  ///< bytes: as kHide, but for the sizes of the node's tables
    kTerm,       ///< words: a term each
    kMessage,
    kAtomTexts,  ///< bytes, each the text of an atom
    kWords,      ///< of a PackedRegion
    kExternal,   ///< bytes of a term in external format: becomes a binary of the same size
    kSection,    ///< a section of a crash dump's text: by its lines
};

struct MessageRules;

/// The rule of the fields `first` to `last`, which all exist.
struct FieldDecision {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    FieldRule rule = FieldRule::kKeep;
    const MessageRules* message = nullptr;  ///< of kMessage
};

struct MessageRules {
    std::string_view name;  ///< in the schema
    std::span<const FieldDecision> fields;

    [[nodiscard]] const FieldDecision* find(std::uint32_t number) const;
};

/// What is done with a record of a kind: docs/redaction.md has the table.
enum class KindRule : std::uint8_t {
    kFields,  ///< by its message's rules
    kRegion,  ///< by the region's kind
    kZero,    ///< its payload has no meaning
    kRefuse,  ///< no dump that can be redacted has it
};
struct KindDecision {
    KindRule rule = KindRule::kRefuse;
    const MessageRules* message = nullptr;  ///< of kFields
};

/// kRefuse for a kind that this version does not know.
KindDecision decision_of(format::RecordKind kind);

namespace rules {
// By schemas' files.
extern const MessageRules kRegionRef, kRunDirectory, kProcess, kRelations, kPackedRegions,
    kMessages, kProcessEnd, kBinaries, kBinaryIndexPage, kMfa, kTracer, kCrashTextCounts;
extern const MessageRules kModule, kLoadedModules, kFunctions, kLines, kExports, kFunEntries;
extern const MessageRules kEtsTables, kEtsRows, kPersistentTerms;
extern const MessageRules kPorts, kSockets, kSchedulers, kTimers, kDistributionEntries, kCrash;
extern const MessageRules kEmulator, kResourceTypes;
extern const MessageRules kSamples, kHistory;
extern const MessageRules kAllocators, kCarriersPage, kBlocksPage, kSystemMemory;
extern const MessageRules kCapture, kEpoch, kNode, kAtoms, kNodeEntries, kCatches, kCodePoints,
    kCrashSections, kProcessColumn, kModuleIndexPage, kTrailer, kRedactionPolicy;
}  // namespace rules

}  // namespace beamdump::redact
