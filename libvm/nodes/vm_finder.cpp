#include <libvm/nodes/running_nodes.h>
#include <libvm/nodes/vm_finder.h>
#include <libvm/target/process/relatives.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <sys/stat.h>
#include <tuple>

namespace beamdump::nodes {
namespace {

/// Programs of this machine that are known not to be a VM, so that a look at a process that runs
/// one is one system call.
class OtherPrograms {
  public:
    std::optional<pid_t> parent_of_vm(pid_t pid) {
        const auto program = program_of(pid);
        if (program && (*program == kNone || others_.contains(*program))) {
            return std::nullopt;
        }
        const auto parent = nodes::parent_of_vm(pid);
        // A process that ended or executed another program meanwhile says nothing of this one.
        if (program && !parent && program_of(pid) == program) {
            if (others_.size() >= kMostPrograms) {
                others_.clear();
            }
            others_.insert(*program);
        }
        return parent;
    }

  private:
    using Program = std::tuple<dev_t, ino_t, std::int64_t, std::int64_t>;
    static constexpr Program kNone{};
    static constexpr std::size_t kMostPrograms = 4096;

    /// kNone: a thread of the kernel, or a process that has ended. Nothing: it may not be seen.
    static std::optional<Program> program_of(pid_t pid) {
        struct stat facts{};
        if (::stat(fmt::format("/proc/{}/exe", pid).c_str(), &facts) == 0) {
            return Program(facts.st_dev, facts.st_ino, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
        }
        return errno == ENOENT || errno == ESRCH ? std::optional(kNone) : std::nullopt;
    }

    std::set<Program> others_;
};

}  // namespace

VmFinder::VmFinder()
    : machine_{target::process_ids, [others = std::make_shared<OtherPrograms>()](pid_t pid) {
                   return others->parent_of_vm(pid);
               }} {}

void VmFinder::examine(pid_t pid) {
    if (const auto parent = machine_.parent_of_vm(pid)) {
        vms_[pid] = *parent;
    } else {
        vms_.erase(pid);
    }
}

std::vector<pid_t> VmFinder::look() {
    const auto listed = machine_.processes();
    const std::set<pid_t> running(listed.begin(), listed.end());
    std::erase_if(looks_, [&](const auto& known) { return !running.contains(known.first); });
    std::erase_if(vms_, [&](const auto& vm) { return !running.contains(vm.first); });
    for (const auto pid : running) {
        // At the first look all are examined once.
        auto& looks = looks_.try_emplace(pid, begun_ ? 0 : kNewLooks - 1).first->second;
        if (looks < kNewLooks) {
            ++looks;
            examine(pid);
        }
    }
    begun_ = true;
    for (std::size_t looked = 0; looked < std::min(kOldLooks, looks_.size()); ++looked) {
        auto next = looks_.upper_bound(last_);
        next = next == looks_.end() ? looks_.begin() : next;
        last_ = next->first;
        examine(last_);
    }
    std::vector<pid_t> found;
    for (const auto& [pid, parent] : vms_) {
        if (!vms_.contains(parent)) {
            found.push_back(pid);
        }
    }
    return found;
}

}  // namespace beamdump::nodes
