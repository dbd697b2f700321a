#include <libdump/redact/field_rules.h>

#include <array>

namespace beamdump::redact::rules {
namespace {

using enum FieldRule;
template <std::size_t N>
using ProcessFields = std::array<FieldDecision, N>;

constexpr ProcessFields kRegionRefFields = std::to_array<FieldDecision>({{1, 8, kKeep}});
constexpr ProcessFields kMfaFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr ProcessFields kTracerFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr ProcessFields kCountFields = std::to_array<FieldDecision>({{1, 4, kKeep}});
constexpr ProcessFields kPackRefFields = std::to_array<FieldDecision>({{1, 5, kKeep}});

}  // namespace

constexpr MessageRules kRegionRef{"RegionRef", kRegionRefFields};
constexpr MessageRules kMfa{"Mfa", kMfaFields};
constexpr MessageRules kTracer{"Tracer", kTracerFields};
constexpr MessageRules kCrashTextCounts{"CrashTextCounts", kCountFields};

namespace {

constexpr MessageRules kPackRef{"PackRef", kPackRefFields};
constexpr ProcessFields kDirectoryFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kMessage, &kRegionRef},
    {3, 6, kMessage, &kPackRef},
});

constexpr ProcessFields kSystemTaskFields = std::to_array<FieldDecision>({{1, 5, kKeep}});
constexpr MessageRules kSystemTask{"SystemTask", kSystemTaskFields};
constexpr ProcessFields kTracingFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kTracer},
    {2, 4, kKeep},
});
constexpr MessageRules kTracing{"Tracing", kTracingFields};
constexpr ProcessFields kProcessFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kTerm},  // pid_word
    {3, 5, kKeep},
    {6, 6, kKeepText},  // status
    {7, 9, kKeep},
    {10, 11, kMessage, &kMfa},
    {12, 13, kKeep},
    {14, 14, kKeepText},  // priority
    {15, 16, kTerm},      // group leader, parent
    {17, 21, kKeep},
    {30, 54, kKeep},
    {60, 66, kKeep},
    {70, 70, kKeep},
    {71, 71, kTerm},  // argument_words
    {72, 74, kKeep},
    {75, 77, kTerm},  // exception's value and trace, sequential trace token
    {78, 78, kKeep},
    {79, 79, kKeep},  // specific_data: addresses of the runtime's own structures
    {80, 80, kTerm},  // error_handler_word
    {81, 82, kKeep},
    {84, 87, kKeep},
    {88, 88, kMessage, &kMfa},
    {89, 89, kKeep},
    {90, 90, kMessage, &kSystemTask},
    {91, 92, kKeep},
    {93, 93, kMessage, &kTracing},
    {94, 95, kKeep},
});

constexpr ProcessFields kLinkFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kTerm},  // other_word
    {3, 5, kKeep},
});
constexpr ProcessFields kMonitorFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kTerm},  // other_word
    {4, 12, kKeep},
});
constexpr MessageRules kLink{"Link", kLinkFields};
constexpr MessageRules kMonitor{"Monitor", kMonitorFields};
constexpr ProcessFields kRelationsFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kLink},
    {2, 2, kMessage, &kMonitor},
});

constexpr ProcessFields kPackedRegionFields = std::to_array<FieldDecision>({
    {1, 3, kKeep},
    {4, 4, kWords},
    {5, 6, kKeep},
});
constexpr MessageRules kPackedRegion{"PackedRegion", kPackedRegionFields};
constexpr ProcessFields kPackedRegionsFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kPackedRegion}});

constexpr ProcessFields kExternalFields = std::to_array<FieldDecision>({
    {1, 1, kExternal},
    {2, 5, kKeep},
    {6, 6, kMessage, &kRegionRef},
});
constexpr MessageRules kExternalMessage{"External", kExternalFields};
constexpr ProcessFields kMessageFields = std::to_array<FieldDecision>({
    {1, 3, kKeep},
    {4, 6, kTerm},  // term, token, from
    {7, 7, kMessage, &kPackedRegion},
    {8, 9, kKeep},
    {10, 10, kMessage, &kExternalMessage},
});
constexpr MessageRules kQueueEntry{"Message", kMessageFields};
constexpr ProcessFields kMessagesFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kMessage, &kQueueEntry},
});

constexpr ProcessFields kBinaryPartFields = std::to_array<FieldDecision>({
    {1, 1, kKeep}, {2, 2, kHide},  // content
});
constexpr MessageRules kBinaryPart{"BinaryPart", kBinaryPartFields};
constexpr ProcessFields kBinaryFields = std::to_array<FieldDecision>({
    {1, 5, kKeep},
    {6, 6, kHide},  // prefix
    {7, 11, kKeep},
    {12, 12, kMessage, &kBinaryPart},
    {13, 13, kKeep},
});
constexpr MessageRules kBinary{"Binary", kBinaryFields};
constexpr ProcessFields kBinariesFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kBinary}});
constexpr ProcessFields kBinaryIndexFields = std::to_array<FieldDecision>({{1, 3, kKeep}});

}  // namespace

constexpr MessageRules kRunDirectory{"RunDirectory", kDirectoryFields};

namespace {

constexpr ProcessFields kAddressSpanFields = std::to_array<FieldDecision>({{1, 2, kKeep}});
constexpr MessageRules kAddressSpan{"AddressSpan", kAddressSpanFields};
constexpr ProcessFields kLastMovedFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr MessageRules kLastMoved{"LastMoved", kLastMovedFields};
constexpr ProcessFields kCollectionFields = std::to_array<FieldDecision>({
    {1, 2, kMessage, &kAddressSpan},
    {3, 3, kMessage, &kLastMoved},
});
constexpr MessageRules kCollection{"Collection", kCollectionFields};

constexpr ProcessFields kProcessEndFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kSentence},  // detail
    {4, 4, kKeep},
    {5, 5, kMessage, &kRunDirectory},
    {6, 12, kKeep},
    {13, 15, kMessage, &kCrashTextCounts},
    {16, 18, kKeep},
    {19, 19, kMessage, &kCollection},
    {20, 22, kKeep},
});

}  // namespace

constexpr MessageRules kProcess{"Process", kProcessFields};
constexpr MessageRules kRelations{"Relations", kRelationsFields};
constexpr MessageRules kPackedRegions{"PackedRegions", kPackedRegionsFields};
constexpr MessageRules kMessages{"Messages", kMessagesFields};
constexpr MessageRules kProcessEnd{"ProcessEnd", kProcessEndFields};
constexpr MessageRules kBinaries{"Binaries", kBinariesFields};
constexpr MessageRules kBinaryIndexPage{"BinaryIndexPage", kBinaryIndexFields};

}  // namespace beamdump::redact::rules
