#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::beam {

/// Reads the emulator's own state: thread progress (erl_thr_progress.c), permissions (code_ix.c,
/// erl_bif_persistent.c), code indexes, types of NIF resources (erl_nif.c). Only kTargetDied is an
/// error of its functions; what else could not be read is a sentence.
class EmulatorReader {
  public:
    /// kNotFound: the layout lacks these structures.
    static Result<EmulatorReader> open(Vm& vm);

    /// What each normal scheduler says now, one read each. Those that could not be read are left
    /// out. A sentence for the first of these.
    Result<records::ProgressReading> progress(std::int64_t monotonic_ns,
                                              std::vector<std::string>& untold);

    /// Permissions, code indexes and the literal area that is being collected. A permission is read
    /// until two reads in a row are equal. Reads: one for each scheduler, two for each permission
    /// and two for each of the processes that wait for it.
    Result<void> state(records::Emulator& into);

    /// Types in the order of the VM's list, `page` for each `most` of them. The list is read until
    /// two reads of its pointers are equal. `named`: the functions of libraries that free resources
    /// are named, by symbols of their files, which are opened for it.
    Result<void> resource_types(std::size_t most, bool named,
                                const std::function<Result<void>(records::ResourceTypes&)>& page,
                                std::vector<std::string>& untold);

  private:
    EmulatorReader(Vm& vm, LayoutNames& names, PidWords pids, AtomWords atoms);

    /// A permission's variables, as one read found them.
    struct Held {
        bool held = false;
        bool stored = false;           ///< the holder is
        Address holder = 0;            ///< a Process
        Address first = 0;             ///< of its queue
        std::vector<Address> waiting;  ///< Processes, 0 for jobs, the last come first
        std::uint64_t holder_id = 0;   ///< owner ids; UINT64_MAX: none
        std::vector<std::uint64_t> ids;
        bool operator==(const Held&) const = default;
    };
    Result<Held> queued(Held held, Field process, Field next, std::uint32_t bytes);
    Result<Held> code_write();
    Result<Held> code(Address permission);
    Result<Held> persistent_terms();
    Result<void> permission(records::PermissionKind kind, std::string_view name,
                            std::optional<Address> address,
                            const std::function<Result<Held>()>& read, records::Emulator& into);
    Result<std::uint64_t> owner_of(Address process);
    struct Types {
        std::vector<Address> addresses;
        std::vector<records::ResourceType> types;
    };
    Result<Types> read_types(Address list);
    void put_destructor(Address code, records::ResourceType& into) const;
    void name_destructors(Types& types) const;

    Vm* vm_;
    PidWords pids_;
    AtomWords atoms_;
    std::uint32_t stride_ = 0, scheduler_end_ = 0;
    Field number_, progress_id_, blocking_, leader_, active_, confirmed_, noted_, stopped_at_,
        unmanaged_;
    Field process_id_;
    Field item_process_, item_next_;
    std::uint32_t item_bytes_ = 0;
    Field term_item_process_, term_item_next_;
    std::uint32_t term_item_bytes_ = 0;
    std::optional<Field> owner_, seized_, queue_;
    std::uint32_t permission_bytes_ = 0;
    Field type_next_, type_prev_, type_owner_, type_count_, type_module_, type_name_;
    std::optional<Field> type_destructor_;
    std::uint32_t type_bytes_ = 0;
};

}  // namespace beamdump::beam
