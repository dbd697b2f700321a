#include <libvm/target/process/access.h>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <linux/capability.h>
#include <pwd.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

std::string user_name(uid_t uid) {
    std::array<char, 4096> text{};
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(uid, &entry, text.data(), text.size(), &found) == 0 && found != nullptr) {
        return entry.pw_name;
    }
    return fmt::format("uid {}", uid);
}

std::optional<int> yama_ptrace_scope() {
    std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
    int scope = 0;
    return file >> scope ? std::optional(scope) : std::nullopt;
}

std::string of_root_without_capability(const AccessFacts& facts) {
    return fmt::format(
        "this program runs as root but without the capability CAP_SYS_PTRACE, which {}: run it "
        "outside the container, or start the container with --cap-add=SYS_PTRACE",
        facts.same_ids ? "is needed here" : "reading another user's process needs");
}

/// Why, where no capability helps and Yama does not forbid it as such.
std::string of_ownership(const AccessFacts& facts) {
    const bool own_user_is_enough = facts.ptrace_scope.value_or(0) == 0;
    if (facts.our_uid != facts.target_uid) {
        return fmt::format("it belongs to user {} and this program runs as {}: run as root{}",
                           facts.target_user, facts.our_user,
                           own_user_is_enough ? " or as user " + facts.target_user : "");
    }
    if (!facts.same_ids) {
        return fmt::format(
            "it runs as user {} too, but with other real, saved or group ids: run "
            "as root",
            facts.target_user);
    }
    if (!facts.dumpable) {
        return "it is marked as not dumpable (its program is set-uid, has file capabilities or "
               "called prctl(PR_SET_DUMPABLE)): run as root";
    }
    if (facts.target_has_more_capabilities) {
        return "it has capabilities that this program lacks: run as root";
    }
    if (facts.ptrace_scope == 1) {
        return "kernel.yama.ptrace_scope is 1, which lets only root and the process's own parents "
               "attach: run as root, or allow it with `sysctl kernel.yama.ptrace_scope=0`";
    }
    return "a security module (SELinux, AppArmor), a seccomp filter or a user namespace forbids "
           "it: run as root, outside the container if this is one";
}

std::string reason(const AccessFacts& facts) {
    if (facts.ptrace_scope == 3) {
        return "kernel.yama.ptrace_scope is 3, which forbids attaching to everyone until the next "
               "boot: boot with a lower value";
    }
    if (facts.have_ptrace_capability) {
        return "this program has the capability CAP_SYS_PTRACE, so a security module (SELinux, "
               "AppArmor), a seccomp filter or a user namespace forbids it: look at the system's "
               "audit log, or run outside the container";
    }
    if (facts.our_uid == 0) {
        return of_root_without_capability(facts);
    }
    if (facts.ptrace_scope == 2) {
        return "kernel.yama.ptrace_scope is 2, which requires the capability CAP_SYS_PTRACE: run "
               "as root";
    }
    return of_ownership(facts);
}

}  // namespace

AccessFacts access_facts(const ProcDirectory& target) {
    AccessFacts facts;
    facts.pid = target.pid();
    facts.our_uid = ::geteuid();
    facts.our_user = user_name(facts.our_uid);
    facts.ptrace_scope = yama_ptrace_scope();
    const auto self = process_facts(::getpid());
    if (self) {
        facts.have_ptrace_capability =
            (self->effective_capabilities >> static_cast<unsigned>(CAP_SYS_PTRACE) & 1U) != 0;
    }
    const auto other = target.facts();
    if (!other) {
        return facts;
    }
    facts.program = other->name;
    facts.target_uid = other->effective_uid;
    facts.target_user = user_name(facts.target_uid);
    for (const auto uid : {other->real_uid, other->effective_uid, other->saved_uid}) {
        facts.same_ids = facts.same_ids && uid == facts.our_uid;
    }
    for (const auto gid : {other->real_gid, other->effective_gid, other->saved_gid}) {
        facts.same_ids = facts.same_ids && gid == ::getegid();
    }
    if (self) {
        facts.target_has_more_capabilities =
            (other->permitted_capabilities & ~self->permitted_capabilities) != 0;
    }
    // The kernel gives the files of a process that is not dumpable to root (proc(5)).
    const auto owner = target.owner("status");
    facts.dumpable = !owner || *owner == facts.target_uid;
    facts.tracer = other->tracer;
    if (facts.tracer != 0) {
        const auto tracer = process_facts(facts.tracer);
        facts.tracer_program = tracer ? tracer->name : "?";
    }
    return facts;
}

std::string explain_denied(const AccessFacts& facts) {
    if (facts.tracer != 0) {
        return fmt::format(
            "process {} ({}) is traced by process {} ({}), and a process can have only one tracer: "
            "stop that one first",
            facts.pid, facts.program, facts.tracer, facts.tracer_program);
    }
    return fmt::format("not permitted to read process {} ({}): {}", facts.pid, facts.program,
                       reason(facts));
}

Error access_denied(const ProcDirectory& target) {
    return {ErrorCode::kPermission, explain_denied(access_facts(target))};
}

}  // namespace beamdump::target
