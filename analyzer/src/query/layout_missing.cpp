#include "query/layout_missing.h"

#include <algorithm>
#include <array>

namespace beamdump::query {

namespace {

/// Structures that an inferred layout may do without, and what is read of them.
struct Missing {
    std::string_view structure;
    std::string_view what;
};
constexpr std::array kMissing = std::to_array<Missing>({
    {"BeamCodeLineTab", "files and lines of code"},
    {"BeamCatch", "where catches lead"},
    {"CatchPool", "where catches lead"},
    {"ErlFunEntry", "names of funs"},
    {"ErlHeapFragment", "heap fragments"},
    {"ErlNode", "names of other nodes"},
    {"ErtsAtomTranslationTable", "undecoded messages of other nodes"},
    {"ErtsDistExternal", "undecoded messages of other nodes"},
    {"ErtsDistExternalData", "undecoded messages of other nodes"},
    {"ErtsELink", "links to other nodes"},
    {"ErtsILink", "links"},
    {"ErtsMagicBinary", "references of resources"},
    {"ErtsMonLnkDist", "monitors by name on other nodes"},
    {"ErtsMonLnkNode", "links and monitors"},
    {"ErtsMonitorData", "monitors"},
    {"ErtsMonitorDataExtended", "monitors by name"},
    {"ErtsMonitorDataHeap", "monitors"},
    {"ErtsMonitorSuspend", "suspended processes"},
    {"ErtsNativeFunc", "arguments of rescheduled native functions"},
    {"ErtsPSD", "process-specific data"},
    {"ErtsSignalInQueueBuffer", "messages in parallel signal queues"},
    {"ErtsSignalInQueueBufferArray", "messages in parallel signal queues"},
    {"Export", "names of external funs"},
    {"ProcDict", "process dictionaries"},
    {"RegProc", "registered names"},
});

}  // namespace

std::string_view missing_without(std::string_view structure) {
    const auto* missing = std::ranges::find(kMissing, structure, &Missing::structure);
    return missing == kMissing.end() ? std::string_view() : missing->what;
}

}  // namespace beamdump::query
