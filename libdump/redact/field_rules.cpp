#include <libdump/redact/field_rules.h>

#include <algorithm>

namespace beamdump::redact {

const FieldDecision* MessageRules::find(std::uint32_t number) const {
    const auto found = std::ranges::find_if(fields, [number](const FieldDecision& field) {
        return number >= field.first && number <= field.last;
    });
    return found == fields.end() ? nullptr : &*found;
}

// Without a default: the compiler reports a kind without a decision.
KindDecision decision_of(format::RecordKind kind) {
    using format::RecordKind;
    const auto fields = [](const MessageRules& message) {
        return KindDecision{KindRule::kFields, &message};
    };
    switch (kind) {
        case RecordKind::kFrameStart:  // is written anew with each frame
        case RecordKind::kPadding:
            return {KindRule::kZero};
        case RecordKind::kRegion:
            return {KindRule::kRegion};
        case RecordKind::kCapture:
            return fields(rules::kCapture);
        case RecordKind::kEpoch:
            return fields(rules::kEpoch);
        case RecordKind::kNode:
            return fields(rules::kNode);
        case RecordKind::kAtoms:
            return fields(rules::kAtoms);
        case RecordKind::kModule:
            return fields(rules::kModule);
        case RecordKind::kLoadedModules:
            return fields(rules::kLoadedModules);
        case RecordKind::kFunctions:
            return fields(rules::kFunctions);
        case RecordKind::kLines:
            return fields(rules::kLines);
        case RecordKind::kExports:
            return fields(rules::kExports);
        case RecordKind::kFunEntries:
            return fields(rules::kFunEntries);
        case RecordKind::kNodeEntries:
            return fields(rules::kNodeEntries);
        case RecordKind::kCatches:
            return fields(rules::kCatches);
        case RecordKind::kCodePoints:
            return fields(rules::kCodePoints);
        case RecordKind::kProcess:
            return fields(rules::kProcess);
        case RecordKind::kRelations:
            return fields(rules::kRelations);
        case RecordKind::kPackedRegions:
            return fields(rules::kPackedRegions);
        case RecordKind::kMessages:
            return fields(rules::kMessages);
        case RecordKind::kRunDirectory:
            return fields(rules::kRunDirectory);
        case RecordKind::kProcessEnd:
            return fields(rules::kProcessEnd);
        case RecordKind::kBinaries:
            return fields(rules::kBinaries);
        case RecordKind::kProcessColumn:
            return fields(rules::kProcessColumn);
        case RecordKind::kModuleIndexPage:
            return fields(rules::kModuleIndexPage);
        case RecordKind::kBinaryIndexPage:
            return fields(rules::kBinaryIndexPage);
        case RecordKind::kRedactionPolicy:
            return fields(rules::kRedactionPolicy);
        case RecordKind::kTrailer:
            return fields(rules::kTrailer);
        case RecordKind::kEtsTables:
            return fields(rules::kEtsTables);
        case RecordKind::kEtsRows:
            return fields(rules::kEtsRows);
        case RecordKind::kPorts:
            return fields(rules::kPorts);
        case RecordKind::kTimers:
            return fields(rules::kTimers);
        case RecordKind::kPersistentTerms:
            return fields(rules::kPersistentTerms);
        case RecordKind::kScheduler:
            return fields(rules::kSchedulers);
        case RecordKind::kSystemMemory:
            return fields(rules::kSystemMemory);
        case RecordKind::kAllocator:
            return fields(rules::kAllocators);
        case RecordKind::kCarriers:
            return fields(rules::kCarriersPage);
        case RecordKind::kBlocks:
            return fields(rules::kBlocksPage);
        case RecordKind::kSamples:
            return fields(rules::kSamples);
        case RecordKind::kSockets:
            return fields(rules::kSockets);
        case RecordKind::kHistory:
            return fields(rules::kHistory);
        case RecordKind::kCrash:
            return fields(rules::kCrash);
        case RecordKind::kEmulator:
            return fields(rules::kEmulator);
        case RecordKind::kResourceTypes:
            return fields(rules::kResourceTypes);
        case RecordKind::kDistributionEntries:
            return fields(rules::kDistributionEntries);
        case RecordKind::kCrashSections:
            return fields(rules::kCrashSections);
        case RecordKind::kCrashIndex:
        case RecordKind::kCrashPlaces:
        case RecordKind::kCrashNames:
        case RecordKind::kThreadRegisters:
        case RecordKind::kHashTables:
            return {KindRule::kRefuse};
    }
    return {KindRule::kRefuse};
}

}  // namespace beamdump::redact
