#include <libdump/base/return_if_error.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/node_tables.h>
#include <libvm/nodes/running_nodes.h>
#include <libvm/target/image/vm_image.h>
#include <libvm/target/live_target.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/relatives.h>

#include <set>

namespace beamdump::nodes {
std::optional<pid_t> parent_of_vm(pid_t pid) {
    const auto facts = target::process_facts(pid);
    const bool vm = facts && !facts->kernel_thread && !facts->dead() &&
                    (facts->name.starts_with("beam.") || target::runs_vm(pid));
    return vm ? std::optional(facts->parent) : std::nullopt;
}

Result<std::vector<pid_t>> running_vms() {
    RETURN_IF_ERROR(target::check_proc());
    const auto parents = target::running_processes();
    if (parents.empty()) {
        return fail(ErrorCode::kIo, "cannot list the processes in /proc");
    }
    std::set<pid_t> found;
    for (const auto& [pid, parent] : parents) {
        if (parent_of_vm(pid)) {
            found.insert(pid);
        }
    }
    // A node starts programs through erl_child_setup, so a VM whose parent is one is its fork.
    std::vector<pid_t> vms;
    for (const auto pid : found) {
        if (!found.contains(parents.at(pid))) {
            vms.push_back(pid);
        }
    }
    return vms;
}

Result<std::string> node_name(beam::Vm& vm) {
    ASSIGN_OR_RETURN(auto name, beam::read_node_name(vm));
    ASSIGN_OR_RETURN(auto atoms, beam::AtomReader::open(vm));
    return atoms.text(name.atom);
}

Result<std::string> node_name(pid_t pid, const beam::LocateOptions& how) {
    ASSIGN_OR_RETURN(auto target, target::LiveTarget::open(pid));
    ASSIGN_OR_RETURN(const auto vm, beam::locate_vm(std::move(target), how));
    return node_name(*vm);
}

}  // namespace beamdump::nodes
