#pragma once

#include "fake_vm/fake_process.h"

namespace beamdump::test {

/// A link of a process to what a word names, in its tree. Gives the node (ErtsMonLnkNode).
FakeStruct add_link(FakeVm& vm, FakeProcess& process, std::uint64_t other);
/// A link to a remote process: extended, with a term of its own for the pid.
FakeStruct add_remote_link(FakeVm& vm, FakeProcess& process, Address node, std::uint32_t number);

/// Both halves of a monitor between two processes.
struct FakeMonitor {
    FakeStruct origin, target;  ///< ErtsMonLnkNode
    Address data;
};
/// `name`: by which the target was monitored; empty: by its pid.
FakeMonitor add_monitor(FakeVm& vm, FakeProcess& origin, FakeProcess& target,
                        std::string_view name = {});

/// A suspension of another process: the highest bit of `state` says that it is active.
FakeStruct add_suspension(FakeVm& vm, FakeProcess& process, std::uint64_t other,
                          std::uint64_t state);
/// The half of a resource's monitor that the process has as its target.
FakeStruct add_resource_monitor(FakeVm& vm, FakeProcess& process, Address magic_binary);
/// An alias.
FakeStruct add_alias(FakeVm& vm, FakeProcess& process);

/// A remote pid (ExternalThing) on the VM's heap. Gives its word.
std::uint64_t remote_pid(FakeVm& vm, Address node, std::uint32_t number);

}  // namespace beamdump::test
