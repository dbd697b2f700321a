#include <libdump/base/return_if_error.h>
#include <libvm/beam/emulator/breakpoints.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/node_tables.h>
#include <libvm/beam/vm/read_until_equal.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace beamdump::beam {

namespace {

constexpr std::uint32_t kFunctionsAtATime = 4096;
constexpr std::uint64_t kFlagBits = 0x3ff;  // ERTS_BPF_ALL (beam_bp.c of OTP 27)
constexpr std::size_t kMostTraces = 4096;

/// Reads the breakpoints of functions into a record: the first `most` with what they do.
class BreakpointReader {
  public:
    static Result<BreakpointReader> open(Vm& vm, std::size_t most, records::Emulator& into) {
        ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
        ASSIGN_OR_RETURN(const auto functions, ModuleReader::open(vm));
        LayoutNames names(vm.layout());
        BreakpointReader reader(vm, most, into, names, atoms, functions);
        RETURN_IF_ERROR(names.outcome());
        return reader;
    }

    /// Functions of a module.
    Result<void> module(const ModuleCode& code) {
        for (std::uint32_t first = 0;; first += kFunctionsAtATime) {
            ASSIGN_OR_RETURN(const auto page, functions_.functions(code, first, kFunctionsAtATime));
            for (int index = 0; index < page.start_address_size(); ++index) {
                RETURN_IF_ERROR(
                    function(page.start_address(index),
                             {code.name_atom, page.name_atom(index), page.arity(index)}));
            }
            if (std::cmp_less(page.start_address_size(), kFunctionsAtATime)) {
                return {};
            }
        }
    }

    /// Exports, whose breakpoints trace calls from other modules alone.
    Result<void> exports() {
        ASSIGN_OR_RETURN(auto exports, ExportReader::open(*vm_));
        for (std::uint32_t first = 0; first < exports.count(); first += kFunctionsAtATime) {
            ASSIGN_OR_RETURN(const auto page, exports.page(first, kFunctionsAtATime));
            for (int index = 0; index < page.address_size(); ++index) {
                RETURN_IF_ERROR(function(
                    page.address(index) + export_mfa_.offset - info_mfa_.offset,
                    {page.module_atom(index), page.function_atom(index), page.arity(index)}));
            }
        }
        return {};
    }

  private:
    struct Trace {
        std::uint64_t flags = 0;
        Address session = 0;
        std::optional<std::uint32_t> name;
        bool operator==(const Trace&) const = default;
    };

    BreakpointReader(Vm& vm, std::size_t most, records::Emulator& into, LayoutNames& names,
                     AtomWords atoms, ModuleReader functions)
        : vm_(&vm),
          most_(most),
          into_(&into),
          atoms_(atoms),
          functions_(functions),
          export_mfa_(names.field(runtime::Export::info_mfa)),
          info_mfa_(names.field(runtime::ErtsCodeInfo::mfa)),
          first_(names.field(runtime::ErtsCodeInfo::gen_bp)),
          data_(names.field(runtime::GenericBp::data)),
          flags_(names.field(runtime::GenericBpData::flags)),
          session_(names.field_if_any(runtime::GenericBp::session)),
          next_(names.field_if_any(runtime::GenericBp::next)),
          bytes_(names.bytes(runtime::GenericBp::kName)),
          data_bytes_(names.bytes(runtime::GenericBpData::kName)) {
        if (session_) {
            session_name_ = names.field(runtime::ErtsTraceSession::name_atom);
        }
    }

    /// The function whose ErtsCodeInfo is at `info`.
    Result<void> function(Address info, CodeMfa mfa) {
        ASSIGN_OR_RETURN(const auto first, vm_->memory().word(info + first_.offset));
        if (first == 0) {
            return {};
        }
        const auto found = read_until_equal([&] { return traces(info); });
        if (!found && found.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(found.error());
        }
        if (found && found->empty()) {
            return {};
        }
        const auto [place, is_new] =
            seen_.try_emplace({mfa.module_atom, mfa.function_atom, mfa.arity},
                              static_cast<std::size_t>(into_->traced_function_size()));
        if (is_new) {
            into_->set_traced_functions(into_->traced_functions() + 1);
        }
        if (is_new && place->second < most_) {
            auto& function = *into_->add_traced_function()->mutable_function();
            function.set_module_atom(mfa.module_atom);
            function.set_function_atom(mfa.function_atom);
            function.set_arity(mfa.arity);
        }
        if (found && place->second < most_) {
            put(*found, *into_->mutable_traced_function(static_cast<int>(place->second)));
        }
        return {};
    }

    /// Adds traces, those of a session that has some to these.
    static void put(const std::vector<Trace>& traces, records::TracedFunction& into) {
        for (const auto& trace : traces) {
            const auto known = std::ranges::find(*into.mutable_trace(), trace.session,
                                                 &records::FunctionTrace::session_address);
            auto& record = known == into.mutable_trace()->end() ? *into.add_trace() : *known;
            record.set_flags(record.flags() | static_cast<std::uint32_t>(trace.flags));
            if (trace.session != 0) {
                record.set_session_address(trace.session);
            }
            if (trace.name) {
                record.set_session_name_atom(*trace.name);
            }
        }
    }

    /// Those of all sessions that do something. A change is prepared in one of a breakpoint's two
    /// sets of data while the other one is in use, and then copied (beam_bp.c,
    /// consolidate_bp_data()): sets that differ are an error.
    Result<std::vector<Trace>> traces(Address info) {
        ASSIGN_OR_RETURN(auto at, vm_->bulk().word(info + first_.offset));
        std::vector<Trace> found;
        for (std::size_t count = 0; at != 0; ++count) {
            if (count >= kMostTraces || !vm_->plausible(at, bytes_)) {
                return fail(ErrorCode::kImplausible,
                            fmt::format("there is no breakpoint at {:#x}", at));
            }
            ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), at, bytes_));
            const auto view = read.view();
            const Field other{data_.offset + data_bytes_ + flags_.offset, flags_.bytes};
            Trace trace{.flags = view.get({data_.offset + flags_.offset, flags_.bytes}),
                        .session = session_ ? view.get(*session_) : 0,
                        .name = {}};
            if (trace.flags != view.get(other) || (trace.flags & ~kFlagBits) != 0) {
                return fail(ErrorCode::kImplausible,
                            fmt::format("breakpoint at {:#x}: expected flags twice, found {:#x} "
                                        "and {:#x}",
                                        at, trace.flags, view.get(other)));
            }
            if (trace.session != 0) {
                ASSIGN_OR_RETURN(const auto name,
                                 vm_->bulk().word(trace.session + session_name_.offset));
                trace.name = atoms_.index(name);
            }
            if (trace.flags != 0) {
                found.push_back(trace);
            }
            at = next_ ? view.get(*next_) : 0;
        }
        return found;
    }

    Vm* vm_;
    std::size_t most_;
    records::Emulator* into_;
    AtomWords atoms_;
    ModuleReader functions_;
    Field export_mfa_, info_mfa_, first_, data_, flags_;
    std::optional<Field> session_, next_;
    Field session_name_;
    std::uint32_t bytes_ = 0, data_bytes_ = 0;
    /// Where a function is listed, if there was room: it may have breakpoints in its code and in
    /// its export. By atoms and arity.
    std::map<std::array<std::uint32_t, 3>, std::size_t> seen_;
};

Result<void> read_functions(Vm& vm, std::span<const ModuleCode> modules, std::size_t most,
                            records::Emulator& into) {
    const auto exported = [](const ModuleCode& code) {
        return code.traced_exports.value_or(0) != 0;
    };
    into.set_traced_functions(0);
    std::optional<BreakpointReader> reader;
    for (const auto& code : modules) {
        if (!code.breakpoints || !code.traced_exports) {
            return fail(ErrorCode::kNotFound, "the layout does not have them");
        }
        if (*code.breakpoints == 0 && !exported(code)) {
            continue;
        }
        if (!reader) {
            ASSIGN_OR_RETURN(reader, BreakpointReader::open(vm, most, into));
        }
        if (*code.breakpoints != 0) {
            RETURN_IF_ERROR(reader->module(code));
        }
    }
    return std::ranges::any_of(modules, exported) ? reader->exports() : Result<void>();
}

}  // namespace

Result<void> read_traced_functions(Vm& vm, std::span<const ModuleCode> modules, std::size_t most,
                                   records::Emulator& into) {
    const auto read = read_functions(vm, modules, most, into);
    if (read || read.error().code == ErrorCode::kTargetDied) {
        return read;
    }
    into.clear_traced_function();
    into.clear_traced_functions();
    into.add_untold("functions whose calls are traced: " + read.error().message);
    return {};
}

}  // namespace beamdump::beam
