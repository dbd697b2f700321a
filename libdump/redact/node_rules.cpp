#include <libdump/redact/field_rules.h>

#include <array>

namespace beamdump::redact::rules {
namespace {

using enum FieldRule;
template <std::size_t N>
using NodeFields = std::array<FieldDecision, N>;

constexpr NodeFields kFoundByFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},
    {2, 2, kKeep},
    {3, 3, kKeepText},
});
constexpr MessageRules kFoundBy{"FoundBy", kFoundByFields};
constexpr NodeFields kRedactionFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},
    {2, 2, kKeep},
    {3, 3, kKeepText},
});
constexpr NodeFields kCaptureFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},  // tool_version
    {2, 5, kKeep},
    {6, 6, kHide},      // executable
    {7, 9, kKeepText},  // build id, layout
    {10, 11, kKeep},
    {12, 12, kMessage, &kFoundBy},
    {13, 13, kKeepText},  // os_release
    {14, 14, kHide},      // host_name
    {15, 18, kKeepText},  // of layouts
    {19, 19, kHide},      // slogan
    {20, 21, kKeepText},  // time and version of a crash dump
    {22, 22, kKeep},
    {23, 23, kSentence},  // cut_off
    {24, 26, kKeepText},  // taints, which are modules and drivers; thread; process_state
    {27, 27, kHide},      // reason
    {28, 28, kSentence},  // cut_off_section
});

constexpr NodeFields kEpochFields = std::to_array<FieldDecision>({{1, 5, kKeep}});
constexpr NodeFields kNamedBytesFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},
    {2, 2, kKeep},
});
constexpr MessageRules kNamedBytes{"NamedBytes", kNamedBytesFields};
constexpr NodeFields kNodeFields = std::to_array<FieldDecision>({
    {1, 2, kKeepText},  // releases
    {3, 9, kKeep},
    {10, 10, kArguments},
    {11, 23, kKeep},
    {24, 24, kKeepText},  // system_version
    {25, 25, kMessage, &kNamedBytes},
    {26, 26, kKeep},      // atom_limit
    {27, 27, kKeepText},  // otp_version
    {28, 28, kKeep},      // processes_started
});
constexpr NodeFields kAtomsFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kAtomTexts},
});
constexpr NodeFields kNodeEntryFields = std::to_array<FieldDecision>({{1, 6, kKeep}});
constexpr MessageRules kNodeEntry{"NodeEntry", kNodeEntryFields};
constexpr NodeFields kNodeEntriesFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kNodeEntry}});
constexpr NodeFields kCatchesFields = std::to_array<FieldDecision>({{1, 2, kKeep}});
constexpr NodeFields kCodePointFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},
    {2, 2, kKeep},
    {3, 3, kKeepText},
});
constexpr MessageRules kCodePoint{"CodePoint", kCodePointFields};
constexpr NodeFields kCodePointsFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kCodePoint}});

constexpr NodeFields kCrashSectionsFields = std::to_array<FieldDecision>({{1, 1, kSection}});

// ---- indexes ----
constexpr NodeFields kColumnFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr NodeFields kPageRefFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr NodeFields kRowFields = std::to_array<FieldDecision>({
    {1, 8, kKeep},
    {9, 10, kMessage, &kMfa},
    {11, 13, kKeep},
    {14, 14, kMessage, &kMfa},
    {15, 21, kKeep},
});
constexpr MessageRules kRow{"ProcessRow", kRowFields};
constexpr NodeFields kTopFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kMessage, &kRow},
});
constexpr NodeFields kAtomPageFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr NodeFields kModuleRefFields = std::to_array<FieldDecision>({{1, 5, kKeep}});
constexpr NodeFields kBinaryPageFields = std::to_array<FieldDecision>({{1, 5, kKeep}});
constexpr NodeFields kStopFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr MessageRules kProcessPageRef{"ProcessPageRef", kPageRefFields};
constexpr MessageRules kTopList{"TopList", kTopFields};
constexpr MessageRules kAtomPageRef{"AtomPageRef", kAtomPageFields};
constexpr MessageRules kModuleRef{"ModuleRef", kModuleRefFields};
constexpr MessageRules kBinaryPageRef{"BinaryPageRef", kBinaryPageFields};
constexpr MessageRules kStop{"Stop", kStopFields};
constexpr NodeFields kCostFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kStop},
    {2, 7, kKeep},
});
constexpr NodeFields kTotalsFields = std::to_array<FieldDecision>({{1, 16, kKeep}});
constexpr MessageRules kCost{"CaptureCost", kCostFields};
constexpr MessageRules kTotals{"Totals", kTotalsFields};
constexpr NodeFields kModuleIndexFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kModuleRef}});
constexpr NodeFields kMeanwhileFields = std::to_array<FieldDecision>({{1, 4, kKeep}});
constexpr MessageRules kMeanwhile{"Meanwhile", kMeanwhileFields};
constexpr NodeFields kTrailerFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kTotals},
    {2, 2, kMessage, &kCost},
    {3, 4, kKeep},
    {5, 5, kMessage, &kAtomPageRef},
    {6, 12, kKeep},
    {13, 13, kMessage, &kProcessPageRef},
    {14, 14, kMessage, &kTopList},
    {15, 15, kMessage, &kBinaryPageRef},
    {16, 16, kKeep},
    {17, 17, kSentence},  // warning
    {18, 19, kKeep},
    {20, 21, kMessage, &kCrashTextCounts},
    {22, 23, kKeep},
    {26, 27, kKeep},
    {30, 31, kKeep},
    {33, 43, kKeep},
    {44, 44, kMessage, &kMeanwhile},
    {45, 45, kKeep},
});

}  // namespace

constexpr MessageRules kCapture{"Capture", kCaptureFields};
constexpr MessageRules kEpoch{"Epoch", kEpochFields};
constexpr MessageRules kNode{"Node", kNodeFields};
constexpr MessageRules kAtoms{"Atoms", kAtomsFields};
constexpr MessageRules kNodeEntries{"NodeEntries", kNodeEntriesFields};
constexpr MessageRules kCatches{"Catches", kCatchesFields};
constexpr MessageRules kCodePoints{"CodePoints", kCodePointsFields};
constexpr MessageRules kCrashSections{"CrashSections", kCrashSectionsFields};
constexpr MessageRules kProcessColumn{"ProcessColumn", kColumnFields};
constexpr MessageRules kModuleIndexPage{"ModuleIndexPage", kModuleIndexFields};
constexpr MessageRules kRedactionPolicy{"RedactionPolicy", kRedactionFields};
constexpr MessageRules kTrailer{"Trailer", kTrailerFields};

}  // namespace beamdump::redact::rules
