#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <optional>
#include <vector>

namespace beamdump::beam {

/// Reads who traces a process: one tracer up to OTP 26 (erl_trace.h), one in each trace session
/// from 27 on (ErtsTracerRef, erl_ptab.h).
class TraceReader {
  public:
    /// kNotFound: the layout lacks these structures.
    static Result<TraceReader> open(Vm& vm);

    /// Sets it for a process whose facts say that it is traced, from its structure. Read until two
    /// reads in a row are equal, else it is said that it could not be read. No reads for other
    /// processes, otherwise two or more of each tracer. Only kTargetDied is an error.
    Result<void> read(StructView process, records::Process& into);

    /// The trace sessions that follow the first one of the list, which is the default one. Where
    /// two reads in a row are not equal, nothing is set.
    Result<void> sessions(Address first, records::Emulator& into);

  private:
    TraceReader(LayoutNames& names, Vm& vm, PidWords pids, AtomWords atoms, TagScheme ports);
    struct Target {
        std::optional<std::uint32_t> module;
        std::optional<std::uint64_t> owner_id, port_number;
        bool operator==(const Target&) const = default;
    };
    struct Trace {
        Target target;
        std::uint64_t flags = 0;
        Address session = 0;
        std::optional<std::uint32_t> name;
        bool operator==(const Trace&) const = default;
    };
    struct Session {
        Address address = 0;
        Target target;
        std::optional<std::uint32_t> name;
        bool operator==(const Session&) const = default;
    };
    Result<Target> target_of(std::uint64_t tracer);
    void put_target(std::uint64_t word, Target& into) const;
    static void put(const Target& target, records::Tracer& into);
    Result<std::vector<Trace>> traces(Address first);
    Result<std::vector<Session>> read_sessions(Address first);

    Vm* vm_;
    PidWords pids_;
    AtomWords atoms_;
    TagScheme ports_;
    std::uint64_t port_tag_ = 0, sensitive_ = 0;
    std::optional<Field> tracer_, first_;  ///< of a process: up to OTP 26, and from 27 on
    Field ref_next_, ref_session_, ref_tracer_, ref_flags_;
    Field session_next_, session_tracer_, session_name_;
    std::uint32_t ref_bytes_ = 0, session_bytes_ = 0;
};

}  // namespace beamdump::beam
