#pragma once

#include <libvm/beam/tables/modules.h>

#include <array>

namespace beamdump::beam {

/// Counts of what the checks of a layout examined.
struct CheckReport {
    std::uint64_t atoms = 0;
    std::uint64_t modules = 0;
    std::uint64_t functions = 0;
    std::uint64_t processes = 0;
    std::uint64_t heap_bounds = 0;
    std::uint64_t return_addresses = 0;
    std::uint64_t with_md5 = 0, with_lines = 0, with_literals = 0;  ///< modules
    std::uint64_t fun_entries = 0;
    std::uint64_t registered = 0;  ///< processes
    std::uint64_t dictionary_slots = 0;
    std::uint64_t links = 0, monitors = 0;
    std::uint64_t monitor_halves = 0;  ///< of monitors between processes of this node
    std::uint64_t terms = 0;           ///< objects on heaps; of these:
    std::uint64_t binaries = 0, funs = 0;
};

/// The stages of the check, in order: each relies on those before it.
enum class CheckStage : std::uint8_t {
    kAtoms,    ///< the first ones are `false`, `true`...; the node's name has the right form
    kModules,  ///< their functions name them; header, literals and lines belong to them
    kExports,
    kFuns,
    kNodes,
    kCatches,
    kProcesses,  ///< ids, heap bounds, stacks: see ProcessCheck
    kRelations,  ///< see RelationCheck
    kTerms,      ///< see TermCheck
};
inline constexpr std::array kCheckStages = {
    CheckStage::kAtoms,     CheckStage::kModules,   CheckStage::kExports,
    CheckStage::kFuns,      CheckStage::kNodes,     CheckStage::kCatches,
    CheckStage::kProcesses, CheckStage::kRelations, CheckStage::kTerms};

/// Runs one stage on a located VM and its code. A sample is examined; in a running node changing
/// objects are skipped, and a failure needs more than one in ten. Errors (kImplausible and others)
/// give what was expected and found.
Result<void> check_stage(Vm& vm, CodeLookup& code, CheckStage stage, CheckReport& report);

/// What every node has and a stage did not find, if any: a layout that is not known to be the
/// node's may miss it. Not required of the node's own layout.
std::optional<std::string_view> missing_kind(CheckStage stage, const CheckReport& report);

/// How often a stage is run on a running node before it is refused.
inline constexpr int kCheckTries = 5;

/// Runs all stages, before anything of the node is trusted. Each is run at most `tries` times, over
/// the modules loaded at the time: a change meanwhile may look like a wrong layout once; a wrong
/// layout does so every time.
Result<CheckReport> check_steadily(Vm& vm, int tries);

}  // namespace beamdump::beam
