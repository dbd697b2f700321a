#pragma once

#include <libvm/target/process/proc_directory.h>

#include <optional>
#include <string>

namespace beamdump::target {

/// What decides whether one process may read and stop another (ptrace(2), "Ptrace access mode
/// checking"; Linux' Documentation/admin-guide/LSM/Yama.rst).
struct AccessFacts {
    pid_t pid = 0;
    std::string program;  ///< of the target, for the sentence
    uid_t our_uid = 0;
    std::string our_user;
    uid_t target_uid = 0;
    std::string target_user;
    bool same_ids = true;  ///< all user and group ids of the target are ours
    bool have_ptrace_capability = false;
    bool target_has_more_capabilities = false;
    bool dumpable = true;
    std::optional<int> ptrace_scope;  ///< nothing: no Yama in this kernel
    pid_t tracer = 0;                 ///< 0: none
    std::string tracer_program;
};

/// Looks up the facts; what cannot be found out keeps its default.
AccessFacts access_facts(const ProcDirectory& target);

/// One sentence: why the target may not be read or stopped, and what to do.
std::string explain_denied(const AccessFacts& facts);

/// The error of an attempt that the kernel refused.
Error access_denied(const ProcDirectory& target);

}  // namespace beamdump::target
