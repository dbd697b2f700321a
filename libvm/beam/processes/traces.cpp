#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/processes/traces.h>
#include <libvm/beam/vm/read_until_equal.h>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace beamdump::beam {

namespace {

constexpr std::size_t kMostSessions = 4096;

}  // namespace

TraceReader::TraceReader(LayoutNames& names, Vm& vm, PidWords pids, AtomWords atoms,
                         TagScheme ports)
    : vm_(&vm), pids_(pids), atoms_(atoms), ports_(ports) {
    port_tag_ = names.constant(runtime::constant::port_tag);
    sensitive_ = names.constant(runtime::constant::trace_flag_sensitive);
    first_ = names.field_if_any(runtime::TracedProcess::first_ref);
    if (!first_) {
        tracer_ = names.field(runtime::TracedProcess::tracer);
        return;
    }
    ref_next_ = names.field(runtime::ErtsTracerRef::next);
    ref_session_ = names.field(runtime::ErtsTracerRef::session);
    ref_tracer_ = names.field(runtime::ErtsTracerRef::tracer);
    ref_flags_ = names.field(runtime::ErtsTracerRef::flags);
    ref_bytes_ = end_of({ref_next_, ref_session_, ref_tracer_, ref_flags_});
    session_next_ = names.field(runtime::ErtsTraceSession::next);
    session_tracer_ = names.field(runtime::ErtsTraceSession::tracer);
    session_name_ = names.field(runtime::ErtsTraceSession::name_atom);
    session_bytes_ = end_of({session_next_, session_tracer_, session_name_});
}

Result<TraceReader> TraceReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(const auto ports, port_scheme(vm));
    LayoutNames names(vm.layout());
    TraceReader reader(names, vm, pids, atoms, ports);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

void TraceReader::put_target(std::uint64_t word, Target& into) const {
    into.owner_id = pids_.owner_id(word);
    if (!into.owner_id && (word & kImmediateTagMask) == (port_tag_ & kImmediateTagMask)) {
        into.port_number = port_number(ports_, word);
    }
}

/// A tracer's word: a pid (from OTP 28 on), or a cell of a module and what it is called with, which
/// for erl_tracer is a process or a port.
Result<TraceReader::Target> TraceReader::target_of(std::uint64_t tracer) {
    Target target;
    if ((tracer & kPrimaryMask) != kPrimaryList) {
        put_target(tracer, target);
        return target;
    }
    std::array<std::uint64_t, 2> cell{};
    RETURN_IF_ERROR(
        vm_->bulk().read(boxed_address(tracer), std::as_writable_bytes(std::span(cell))));
    target.module = atoms_.index(cell[0]);
    put_target(cell[1], target);
    return target;
}

void TraceReader::put(const Target& target, records::Tracer& into) {
    if (target.module) {
        into.set_module_atom(*target.module);
    }
    if (target.owner_id) {
        into.set_owner_id(*target.owner_id);
    }
    if (target.port_number) {
        into.set_port_number(*target.port_number);
    }
}

Result<std::vector<TraceReader::Trace>> TraceReader::traces(Address first) {
    std::vector<Trace> traces;
    for (auto at = first; at != 0;) {
        if (traces.size() >= kMostSessions) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("tracers do not end after {}", kMostSessions));
        }
        ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), at, ref_bytes_));
        const auto view = read.view();
        Trace trace;
        trace.flags = view.get(ref_flags_);
        trace.session = view.get(ref_session_);
        ASSIGN_OR_RETURN(trace.target, target_of(view.get(ref_tracer_)));
        ASSIGN_OR_RETURN(const auto name, vm_->bulk().word(trace.session + session_name_.offset));
        trace.name = atoms_.index(name);
        traces.push_back(trace);
        at = view.get(ref_next_);
    }
    return traces;
}

Result<void> TraceReader::read(StructView process, records::Process& into) {
    if ((into.trace_flags() & ~sensitive_) == 0) {
        return {};
    }
    const auto found = read_until_equal([&]() -> Result<std::vector<Trace>> {
        if (first_) {
            return traces(process.get(*first_));
        }
        ASSIGN_OR_RETURN(const auto target, target_of(process.get(*tracer_)));
        return std::vector{Trace{
            .target = target, .flags = into.trace_flags(), .session = 0, .name = std::nullopt}};
    });
    if (!found) {
        if (found.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(found.error());
        }
        into.set_tracing_unread(true);
        return {};
    }
    for (const Trace& trace : *found) {
        if ((trace.flags & ~sensitive_) == 0) {
            continue;
        }
        auto& record = *into.add_tracing();
        put(trace.target, *record.mutable_tracer());
        record.set_flags(static_cast<std::uint32_t>(trace.flags));
        if (trace.session != 0) {
            record.set_session_address(trace.session);
        }
        if (trace.name) {
            record.set_session_name_atom(*trace.name);
        }
    }
    return {};
}

Result<std::vector<TraceReader::Session>> TraceReader::read_sessions(Address first) {
    std::vector<Session> sessions;
    ASSIGN_OR_RETURN(auto at, vm_->bulk().word(first + session_next_.offset));
    while (at != 0) {
        if (sessions.size() >= kMostSessions || !vm_->plausible(at, session_bytes_)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("there is no trace session at {:#x}", at));
        }
        ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), at, session_bytes_));
        const auto view = read.view();
        Session session{.address = at, .target = {}, .name = atoms_.index(view.get(session_name_))};
        ASSIGN_OR_RETURN(session.target, target_of(view.get(session_tracer_)));
        sessions.push_back(session);
        at = view.get(session_next_);
    }
    return sessions;
}

Result<void> TraceReader::sessions(Address first, records::Emulator& into) {
    if (!first_) {
        return {};
    }
    const auto found = read_until_equal([&] { return read_sessions(first); });
    if (!found) {
        return found.error().code == ErrorCode::kTargetDied
                   ? Result<void>(std::unexpected(found.error()))
                   : Result<void>();
    }
    into.set_trace_sessions_listed(true);
    for (const Session& session : *found) {
        auto& record = *into.add_trace_session();
        record.set_struct_address(session.address);
        if (session.name) {
            record.set_name_atom(*session.name);
        }
        put(session.target, *record.mutable_tracer());
    }
    return {};
}

}  // namespace beamdump::beam
