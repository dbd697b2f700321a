#include <libdump/redact/field_rules.h>

#include <array>

namespace beamdump::redact::rules {
namespace {

using enum FieldRule;
template <std::size_t N>
using TableFields = std::array<FieldDecision, N>;

// ---- code ----
constexpr TableFields kModuleFields = std::to_array<FieldDecision>({
    {1, 8, kKeep},
    {9, 9, kChecksum},    // md5
    {10, 14, kKeep},      // file names are literals: hidden with them
    {15, 15, kExternal},  // attributes
});
constexpr TableFields kFunctionFields = std::to_array<FieldDecision>({{1, 4, kKeep}});
constexpr TableFields kLineFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr TableFields kExportFields = std::to_array<FieldDecision>({{1, 5, kKeep}});
constexpr TableFields kFunEntryFields = std::to_array<FieldDecision>({
    {1, 4, kKeep},
    {5, 6, kChecksum},  // old_uniq, which is the first 27 bits of the other; uniq
    {7, 9, kKeep},
});
constexpr MessageRules kFunEntry{"FunEntry", kFunEntryFields};
constexpr TableFields kFunEntriesFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kFunEntry}});

// ---- ETS tables and persistent terms ----
constexpr TableFields kEtsFixerFields = std::to_array<FieldDecision>({{1, 2, kKeep}});
constexpr MessageRules kEtsFixer{"EtsFixer", kEtsFixerFields};
constexpr TableFields kEtsTableFields = std::to_array<FieldDecision>({
    {1, 20, kKeep},
    {21, 21, kMessage, &kEtsFixer},
    {22, 24, kKeep},
});
constexpr MessageRules kEtsTable{"EtsTable", kEtsTableFields};
constexpr TableFields kEtsTablesFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kMessage, &kEtsTable},
});
constexpr TableFields kEtsRowsFields = std::to_array<FieldDecision>({
    {1, 3, kKeep},
    {4, 4, kMessage, &kRunDirectory},
    {5, 15, kKeep},
});
constexpr TableFields kPersistentTermFields = std::to_array<FieldDecision>({
    {1, 3, kKeep}, {4, 5, kTerm},  // key and value
});
constexpr MessageRules kPersistentTerm{"PersistentTerm", kPersistentTermFields};
constexpr TableFields kPersistentTermsFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kMessage, &kPersistentTerm},
    {3, 3, kMessage, &kRunDirectory},
    {4, 12, kKeep},
});

// ---- ports, schedulers, timers, connections ----
constexpr TableFields kPortFields = std::to_array<FieldDecision>({
    {1, 3, kKeep},
    {4, 4, kHide},      // name: a command line
    {5, 5, kKeepText},  // driver
    {6, 20, kKeep},
});
constexpr MessageRules kPort{"Port", kPortFields};
constexpr TableFields kPortsFields = std::to_array<FieldDecision>({{1, 1, kMessage, &kPort}});
constexpr TableFields kSocketFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 4, kKeepText},  // protocol, state
    {5, 6, kHide},      // addresses, paths
    {7, 10, kKeep},
});
constexpr MessageRules kSocket{"Socket", kSocketFields};
constexpr TableFields kSocketsFields = std::to_array<FieldDecision>({{1, 1, kMessage, &kSocket}});
constexpr TableFields kSchedulerFields = std::to_array<FieldDecision>({{1, 14, kKeep}});
constexpr TableFields kRunQueueFields = std::to_array<FieldDecision>({{1, 9, kKeep}});
constexpr TableFields kProgressFields = std::to_array<FieldDecision>({{1, 7, kKeep}});
constexpr MessageRules kProgress{"ThreadProgress", kProgressFields};
constexpr TableFields kProgressReadingFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kMessage, &kProgress},
});
constexpr MessageRules kProgressReading{"ProgressReading", kProgressReadingFields};
constexpr TableFields kPermissionFields = std::to_array<FieldDecision>({{1, 8, kKeep}});
constexpr MessageRules kPermission{"Permission", kPermissionFields};
constexpr TableFields kTraceSessionFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kMessage, &kTracer},
});
constexpr MessageRules kTraceSession{"TraceSession", kTraceSessionFields};
constexpr TableFields kFunctionTraceFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr MessageRules kFunctionTrace{"FunctionTrace", kFunctionTraceFields};
constexpr TableFields kTracedFunctionFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kMfa},
    {2, 2, kMessage, &kFunctionTrace},
});
constexpr MessageRules kTracedFunction{"TracedFunction", kTracedFunctionFields};
constexpr TableFields kEmulatorFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kProgressReading},
    {2, 2, kMessage, &kPermission},
    {3, 3, kSentence},  // untold
    {4, 6, kKeep},
    {7, 7, kMessage, &kTraceSession},
    {8, 8, kKeep},
    {9, 9, kMessage, &kTracedFunction},
    {10, 10, kKeep},
});
constexpr TableFields kResourceTypeFields = std::to_array<FieldDecision>({
    {1, 6, kKeep},
    {7, 7, kKeepText},  // name of code
    {8, 8, kKeep},
    {9, 9, kKeepText},  // function
});
constexpr MessageRules kResourceType{"ResourceType", kResourceTypeFields};
constexpr TableFields kResourceTypesFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kResourceType}});
constexpr MessageRules kScheduler{"Scheduler", kSchedulerFields};
constexpr MessageRules kRunQueue{"RunQueue", kRunQueueFields};
constexpr TableFields kSchedulersFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kScheduler},
    {2, 2, kMessage, &kRunQueue},
});
constexpr TableFields kCrashMappingFields = std::to_array<FieldDecision>({
    {1, 5, kKeep}, {6, 6, kHide},  // path
});
constexpr MessageRules kCrashMapping{"CrashMapping", kCrashMappingFields};
constexpr TableFields kCrashFileFields = std::to_array<FieldDecision>({
    {1, 1, kHide},      // directory
    {2, 3, kKeepText},  // name and build id of code
    {4, 5, kKeep},
});
constexpr MessageRules kCrashFile{"CrashFile", kCrashFileFields};
constexpr TableFields kCrashFrameFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kKeepText},  // a function
    {4, 4, kKeep},
});
constexpr MessageRules kCrashFrame{"CrashFrame", kCrashFrameFields};
constexpr TableFields kCrashThreadFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kKeepText},  // name
    {3, 6, kKeep},
    {7, 7, kChecksum},  // registers, which may hold a value
    {8, 8, kKeep},
    {9, 9, kMessage, &kCrashFrame},
    {10, 10, kKeep},
    {11, 11, kMessage, &kMfa},
    {12, 14, kKeep},
    {15, 15, kMessage, &kCrashMapping},
});
constexpr MessageRules kCrashThread{"CrashThread", kCrashThreadFields};
constexpr TableFields kCrashFields = std::to_array<FieldDecision>({
    {1, 5, kKeep},
    {6, 6, kSentence},  // of the C library
    {7, 7, kMessage, &kCrashMapping},
    {8, 8, kMessage, &kCrashFile},
    {9, 9, kMessage, &kCrashThread},
});
constexpr TableFields kTimerFields = std::to_array<FieldDecision>({{1, 10, kKeep}});
constexpr TableFields kTimerWheelFields = std::to_array<FieldDecision>({{1, 8, kKeep}});
constexpr MessageRules kTimer{"Timer", kTimerFields};
constexpr MessageRules kTimerWheel{"TimerWheel", kTimerWheelFields};
constexpr TableFields kTimersFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kTimer},
    {2, 2, kMessage, &kTimerWheel},
});
constexpr TableFields kDistributionFields = std::to_array<FieldDecision>({{1, 14, kKeep}});
constexpr MessageRules kDistributionEntry{"DistributionEntry", kDistributionFields};
constexpr TableFields kDistributionEntriesFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kDistributionEntry}});

// ---- memory ----
constexpr TableFields kBlockCountFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr MessageRules kBlockCount{"AllocatorBlocks", kBlockCountFields};
constexpr TableFields kCarriersFields = std::to_array<FieldDecision>({
    {1, 4, kKeep},
    {5, 5, kMessage, &kBlockCount},
});
constexpr MessageRules kCarriers{"AllocatorCarriers", kCarriersFields};
constexpr TableFields kFixedFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},
    {2, 3, kKeep},
});
constexpr MessageRules kFixedSizeType{"FixedSizeType", kFixedFields};
constexpr TableFields kInstanceFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 2, kKeepText},
    {3, 4, kKeep},
    {5, 7, kMessage, &kCarriers},
    {8, 8, kMessage, &kFixedSizeType},
    {9, 10, kKeep},
});
constexpr MessageRules kInstance{"AllocatorInstance", kInstanceFields};
constexpr TableFields kAllocatorsFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kInstance}});
constexpr TableFields kCarrierFields = std::to_array<FieldDecision>({{1, 11, kKeep}});
constexpr MessageRules kCarrier{"Carrier", kCarrierFields};
constexpr TableFields kCarrierListFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kCarrier}});
constexpr TableFields kBlockFields = std::to_array<FieldDecision>({
    {1, 9, kKeep},
    {10, 10, kHide},  // the first bytes
    {11, 11, kKeep},
});
constexpr MessageRules kBlock{"Block", kBlockFields};
constexpr TableFields kBlocksFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kMessage, &kBlock},
    {4, 4, kKeep},
});
constexpr TableFields kBlockSumsFields = std::to_array<FieldDecision>({{1, 11, kKeep}});
constexpr MessageRules kBlockSums{"BlockSums", kBlockSumsFields};
constexpr TableFields kFreeSizesFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr MessageRules kFreeBlockSizes{"FreeBlockSizes", kFreeSizesFields};
constexpr TableFields kFreeBlocksFields = std::to_array<FieldDecision>({
    {1, 7, kKeep},
    {8, 8, kMessage, &kFreeBlockSizes},
    {9, 9, kKeep},
});
constexpr MessageRules kFreeBlocks{"FreeBlocks", kFreeBlocksFields};
constexpr TableFields kAmountFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},
    {2, 2, kKeep},
});
constexpr TableFields kMapperFields = std::to_array<FieldDecision>({{1, 4, kKeep}});
constexpr TableFields kCacheFields = std::to_array<FieldDecision>({{1, 3, kKeep}});
constexpr TableFields kCarrierPagesFields = std::to_array<FieldDecision>({{1, 4, kKeep}});
constexpr TableFields kGroupFields = std::to_array<FieldDecision>({
    {1, 1, kKeepText},
    {2, 7, kKeep},
});
constexpr MessageRules kAmount{"MemoryAmount", kAmountFields};
constexpr MessageRules kMapper{"MemoryMapper", kMapperFields};
constexpr MessageRules kSegmentCache{"SegmentCache", kCacheFields};
constexpr MessageRules kCarrierPages{"CarrierPages", kCarrierPagesFields};
constexpr MessageRules kMappingGroup{"MappingGroup", kGroupFields};
constexpr TableFields kMemoryCgroupFields = std::to_array<FieldDecision>({
    {1, 1, kHide},  // name
    {2, 8, kKeep},
});
constexpr MessageRules kMemoryCgroup{"MemoryCgroup", kMemoryCgroupFields};
constexpr TableFields kSystemMemoryFields = std::to_array<FieldDecision>({
    {1, 2, kMessage, &kAmount},
    {3, 3, kKeep},
    {4, 4, kMessage, &kMappingGroup},
    {5, 5, kMessage, &kCarrierPages},
    {6, 6, kMessage, &kSegmentCache},
    {7, 8, kMessage, &kMapper},
    {9, 9, kMessage, &kFreeBlocks},
    {10, 10, kMessage, &kMemoryCgroup},
    {11, 11, kKeep},
    {12, 12, kMessage, &kBlockSums},
});

constexpr TableFields kLoadedModulesFields =
    std::to_array<FieldDecision>({{1, 1, kMessage, &kModule}});

}  // namespace

constexpr MessageRules kModule{"Module", kModuleFields};
constexpr MessageRules kLoadedModules{"LoadedModules", kLoadedModulesFields};
constexpr MessageRules kFunctions{"Functions", kFunctionFields};
constexpr MessageRules kLines{"Lines", kLineFields};
constexpr MessageRules kExports{"Exports", kExportFields};
constexpr MessageRules kFunEntries{"FunEntries", kFunEntriesFields};
constexpr MessageRules kEtsTables{"EtsTables", kEtsTablesFields};
constexpr MessageRules kEtsRows{"EtsRows", kEtsRowsFields};
constexpr MessageRules kPersistentTerms{"PersistentTerms", kPersistentTermsFields};
constexpr MessageRules kPorts{"Ports", kPortsFields};
constexpr MessageRules kSockets{"Sockets", kSocketsFields};
constexpr MessageRules kSchedulers{"Schedulers", kSchedulersFields};
constexpr MessageRules kCrash{"Crash", kCrashFields};
constexpr MessageRules kEmulator{"Emulator", kEmulatorFields};
constexpr MessageRules kResourceTypes{"ResourceTypes", kResourceTypesFields};
constexpr MessageRules kTimers{"Timers", kTimersFields};
constexpr MessageRules kDistributionEntries{"DistributionEntries", kDistributionEntriesFields};
constexpr MessageRules kAllocators{"Allocators", kAllocatorsFields};
constexpr MessageRules kCarriersPage{"Carriers", kCarrierListFields};
constexpr MessageRules kBlocksPage{"Blocks", kBlocksFields};
constexpr MessageRules kSystemMemory{"SystemMemory", kSystemMemoryFields};

}  // namespace beamdump::redact::rules
