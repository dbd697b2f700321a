#pragma once

#include "beam/tables/code_lookup.h"

#include <array>

namespace beamdump::beam {

/// What the checks of a layout against a node examined.
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

/// What is checked, in this order: each rests on those before it.
enum class CheckStage : std::uint8_t {
    kAtoms,    ///< the first ones are `false`, `true`...; the node's name is one of the right form
    kModules,  ///< their functions name them; header, literals and lines are theirs
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

/// One of them, on a located VM and the code that its layout leads to. A sample is examined; when
/// the node is running, those that move are skipped, and a failure needs more than one in ten.
/// kImplausible and others: what was expected and found.
Result<void> check_stage(Vm& vm, CodeLookup& code, CheckStage stage, CheckReport& report);

/// What every node has and a stage did not meet, if there is such a thing: a layout that is not
/// known to be the node's may lead past it. One that is passes without.
std::optional<std::string_view> missing_kind(CheckStage stage, const CheckReport& report);

/// All of them, before anything of the node is trusted.
Result<CheckReport> check_vm(Vm& vm, CodeLookup& code);

/// How often a node that runs is examined before it is refused.
inline constexpr int kCheckTries = 5;

/// check_vm() over the modules loaded at that moment, at most `tries` times: what moved on
/// meanwhile looks like a layout that does not fit, once; one that does not fit looks so every
/// time.
Result<CheckReport> check_steadily(Vm& vm, int tries);

}  // namespace beamdump::beam
