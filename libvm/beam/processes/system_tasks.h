#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

namespace beamdump::beam {

/// Reads the system tasks that wait to be done by a process (erl_process.h, ErtsProcSysTask; OTP 24
/// to 29). Those that wait since its collections are disabled are not among them.
class SystemTaskReader {
  public:
    /// kNotFound: the layout lacks these structures.
    static Result<SystemTaskReader> open(Vm& vm);

    /// Sets the tasks of a process from its structure. They change without it: they are read until
    /// two reads in a row are equal, else it is said that they could not be read. No reads for a
    /// process without tasks, otherwise two or more of each task. Only kTargetDied is an error.
    Result<void> read(StructView process, records::Process& into);

  private:
    SystemTaskReader(Vm& vm, LayoutNames& names, PidWords pids, AtomWords atoms);
    struct Task {
        Address address = 0;
        std::uint64_t type = 0, requester = 0, argument = 0;
        std::optional<std::uint32_t> priority;
        bool operator==(const Task&) const = default;
    };
    Result<std::vector<Task>> tasks(Address queues, Address dirty);
    Result<Address> take(Address address, std::optional<std::uint32_t> priority,
                         std::vector<Task>& into);

    Vm* vm_;
    PidWords pids_;
    AtomWords atoms_;
    Field queues_, dirty_, extended_, heads_, next_, type_, requester_, argument_;
    std::uint32_t queues_bytes_ = 0, task_bytes_ = 0;
};

}  // namespace beamdump::beam
