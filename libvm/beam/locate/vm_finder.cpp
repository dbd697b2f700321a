#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/layout.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/locate/emulator_tables.h>
#include <libvm/beam/locate/vm_finder.h>
#include <libvm/beam/search/memory_tables.h>
#include <libvm/beam/search/table_search.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

constexpr std::string_view kByShape = "shape";
constexpr std::string_view kByJitList = "JIT's list";
constexpr std::string_view kSchedulers = "erts_aligned_scheduler_data";
constexpr std::string_view kDirtyCpuSchedulers = "erts_aligned_dirty_cpu_scheduler_data";
constexpr std::string_view kDirtyIoSchedulers = "erts_aligned_dirty_io_scheduler_data";

/// Shared code that a stack may return to (beam_jit_main.cpp, OTP 25): each of these globals holds
/// the address of one piece.
constexpr std::array kCodePointNames = {
    "beam_normal_exit",     "beam_exit",         "beam_continue_exit",   "beam_run_process",
    "beam_return_to_trace", "beam_return_trace", "beam_exception_trace", "beam_return_time_trace",
    "beam_save_calls",      "beam_unloaded_fun", "beam_bif_export_trap", "beam_export_trampoline"};

/// literal_alloc has one instance, which names the mapper that it alone uses.
Result<Address> literal_mapper_of(Vm& vm, Address allocators) {
    LayoutNames names(vm.layout());
    const auto extra = names.field(runtime::ErtsAllocatorInfo::extra);
    const auto each = names.bytes(runtime::ErtsAllocatorInfo::kName);
    const auto literal = names.constant(runtime::constant::allocator_literal);
    const auto mapper = names.field(runtime::Allctr::mseg_mmapper);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(const auto instance,
                     vm.memory().word(allocators + literal * each + extra.offset));
    ASSIGN_OR_RETURN(const auto found, vm.memory().word(instance + mapper.offset));
    if (!vm.plausible(found, sizeof(Address))) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("literal_alloc: expected its memory mapper, found {:#x}", found));
    }
    return found;
}

std::unexpected<Error> unknown(std::string_view what) {
    return fail(ErrorCode::kAbsent, fmt::format("{} is not known", what));
}

}  // namespace

Result<void> VmFinder::find(const RuntimeVersion& version) {
    facts_.otp_release = version.otp_release;
    facts_.otp_version = version.otp_version;
    facts_.erts_version = version.erts_version;
    facts_.jit = version.jit;
    found_ = version.found;
    ASSIGN_OR_RETURN(auto non_value, vm_.layout().constant(runtime::constant::non_value));
    facts_.non_value = non_value;
    // In this order: modules are read through the active code index, literals through modules.
    for (const auto step :
         {&VmFinder::find_tables_by_name, &VmFinder::find_id_tables,
          &VmFinder::find_active_code_index, &VmFinder::find_this_node, &VmFinder::find_literals,
          &VmFinder::count_schedulers, &VmFinder::find_code_points}) {
        RETURN_IF_ERROR((this->*step)());
        vm_.know(facts_, tables_, found_);
    }
    find_memory_tables();
    find_other_tables();
    tables_.emulator = find_emulator_tables(vm_, symbols_, search_, found_);
    vm_.know(facts_, tables_, found_);
    return {};
}

Result<Address> VmFinder::global(std::string_view name, std::string_view how,
                                 const Search& search) {
    if (const auto symbol = symbols_.find(name)) {
        note(name, symbol->address, symbol->table);
        return symbol->address;
    }
    auto found = search();
    if (found) {
        note(name, *found, how);
    }
    return found;
}

void VmFinder::note(std::string_view name, Address address, std::string_view how) {
    found_.push_back({std::string(name), address, std::string(how)});
}

Result<std::uint64_t> VmFinder::word(std::string_view name, Address address) {
    auto value = vm_.memory().word(address);
    return value ? value : wrap(fmt::format("reading {}", name), value.error());
}

Result<void> VmFinder::find_tables_by_name() {
    const auto hash = [&](std::string_view what, std::string_view name) {
        return global(what, kByName, [&] { return find_hash(vm_, search_, what, name); });
    };
    const auto staged = [&](std::string_view what, std::initializer_list<std::string_view> names) {
        return global(what, kByName, [&] { return find_staged_tables(vm_, search_, what, names); });
    };
    auto atoms = global("erts_atom_table", kByName, [&] {
        return find_index_table(vm_, search_, "erts_atom_table", "atom_tab");
    });
    auto nodes = hash("erts_node_table", "node_table");
    auto registered = hash("process_reg", "process_reg");
    auto modules = staged("module_tables", {"module_code"});
    auto exports = staged("export_tables", {"export_list", "export_staged_index"});
    // One hash table up to OTP 28; from 29 on, whose layout has entries of another kind, staged.
    const bool staged_funs = vm_.layout().has(runtime::FunTableEntry::kName);
    auto funs = staged_funs ? staged("fun_tables", {"fun_staged_index"})
                            : hash("erts_fun_table", "fun_table");
    auto catches = global("bccix", kByShape, [&] { return find_catch_pools(vm_, search_); });
    for (const auto* result : {&atoms, &nodes, &registered, &modules, &exports, &funs, &catches}) {
        if (!*result) {
            return std::unexpected(result->error());
        }
    }
    tables_.atoms = *atoms;
    tables_.nodes = *nodes;
    tables_.registered = *registered;
    tables_.modules = *modules;
    tables_.exports = *exports;
    tables_.funs = *funs;
    tables_.catches = *catches;
    return {};
}

Result<void> VmFinder::find_id_tables() {
    std::optional<Result<IdTables>> both;
    const auto search = [&](Address IdTables::* which) -> Result<Address> {
        if (!both) {
            both = beam::find_id_tables(vm_, search_);
        }
        return *both ? Result<Address>(**both.*which) : std::unexpected(both->error());
    };
    ASSIGN_OR_RETURN(auto processes,
                     global("erts_proc", kByShape, [&] { return search(&IdTables::processes); }));
    ASSIGN_OR_RETURN(auto ports,
                     global("erts_port", kByShape, [&] { return search(&IdTables::ports); }));
    tables_.processes = processes;
    tables_.ports = ports;
    return {};
}

Result<void> VmFinder::find_active_code_index() {
    auto address = global("the_active_code_index", kByShape, [&]() -> Result<Address> {
        auto known = jit();
        return known ? beam::find_active_code_index(vm_, search_, **known)
                     : std::unexpected(known.error());
    });
    if (!address) {
        return std::unexpected(address.error());
    }
    tables_.active_code_index = *address;
    auto active = vm_.memory().value<std::uint32_t>(*address);
    if (!active) {
        return wrap("reading the_active_code_index", active.error());
    }
    if (*active >= kCodeIndexes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the_active_code_index at {:#x}: expected 0 to 2, found {}",
                                *address, *active));
    }
    facts_.active_code_index = *active;
    return {};
}

Result<void> VmFinder::find_this_node() {
    auto address =
        global("erts_this_node", kByShape, [&] { return beam::find_this_node(vm_, search_); });
    ASSIGN_OR_RETURN(auto node, address ? word("erts_this_node", *address) : address);
    facts_.this_node = node;
    return {};
}

Result<void> VmFinder::find_literals() {
    const auto start = symbols_.find("erts_literals_start");
    const auto bytes = symbols_.find("erts_literals_size");
    if (!start || !bytes) {
        ASSIGN_OR_RETURN(auto range, beam::find_literals(vm_, search_));
        note("erts_literals_start", range.start_at, kByShape);
        note("erts_literals_size", range.bytes_at, kByShape);
        facts_.literals_start = range.start;
        facts_.literals_bytes = range.bytes;
        return {};
    }
    note("erts_literals_start", start->address, start->table);
    note("erts_literals_size", bytes->address, bytes->table);
    ASSIGN_OR_RETURN(auto start_word, word("erts_literals_start", start->address));
    ASSIGN_OR_RETURN(auto bytes_word, word("erts_literals_size", bytes->address));
    facts_.literals_start = start_word;
    facts_.literals_bytes = bytes_word;
    return {};
}

Result<void> VmFinder::count_schedulers() {
    struct Count {
        std::string_view name;
        std::uint32_t* into;
    };
    const std::array counts = {Count{"erts_no_schedulers", &facts_.schedulers},
                               Count{"erts_no_dirty_cpu_schedulers", &facts_.dirty_cpu_schedulers},
                               Count{"erts_no_dirty_io_schedulers", &facts_.dirty_io_schedulers}};
    bool all_named = true;
    for (const auto& count : counts) {
        const auto symbol = symbols_.find(count.name);
        all_named = all_named && symbol;
        if (symbol) {
            ASSIGN_OR_RETURN(auto value, word(count.name, symbol->address));
            if (value > kMaxSchedulers || (value == 0 && count.into == &facts_.schedulers)) {
                return fail(ErrorCode::kImplausible,
                            fmt::format("{} at {:#x}: expected at most {} schedulers, found {}",
                                        count.name, symbol->address, kMaxSchedulers, value));
            }
            *count.into = static_cast<std::uint32_t>(value);
            note(count.name, symbol->address, symbol->table);
        }
    }
    if (all_named) {
        struct Array {
            std::string_view name;
            SchedulerKind kind;
            Address* into;
            std::uint32_t count;
        };
        const std::array named = {
            Array{kSchedulers, SchedulerKind::kNormal, &tables_.schedulers, facts_.schedulers},
            Array{kDirtyCpuSchedulers, SchedulerKind::kDirtyCpu, &tables_.dirty_cpu_schedulers,
                  facts_.dirty_cpu_schedulers},
            Array{kDirtyIoSchedulers, SchedulerKind::kDirtyIo, &tables_.dirty_io_schedulers,
                  facts_.dirty_io_schedulers}};
        for (const auto& array : named) {
            if (const auto pointer = symbols_.find(array.name)) {
                ASSIGN_OR_RETURN(*array.into, word(array.name, pointer->address));
                RETURN_IF_ERROR(
                    check_scheduler_array(vm_, array.name, {*array.into, array.count}, array.kind));
                note(array.name, *array.into, pointer->table);
            }
        }
        return {};
    }
    ASSIGN_OR_RETURN(const auto arrays, find_scheduler_arrays(vm_, search_));
    tables_.schedulers = arrays.normal.address;
    tables_.dirty_cpu_schedulers = arrays.dirty_cpu.address;
    tables_.dirty_io_schedulers = arrays.dirty_io.address;
    facts_.schedulers = arrays.normal.count;
    facts_.dirty_cpu_schedulers = arrays.dirty_cpu.count;
    facts_.dirty_io_schedulers = arrays.dirty_io.count;
    note(kSchedulers, arrays.normal.address, kByShape);
    note(kDirtyCpuSchedulers, arrays.dirty_cpu.address, kByShape);
    note(kDirtyIoSchedulers, arrays.dirty_io.address, kByShape);
    return {};
}

Result<void> VmFinder::find_code_points() {
    // The first of them always exists; without a symbol for it the others have none either.
    const bool named = symbols_.find(kCodePointNames.front()).has_value();
    ASSIGN_OR_RETURN(auto known, named ? Result<const JitSelf*>(nullptr) : jit());
    for (const auto* name : kCodePointNames) {
        const auto symbol = symbols_.find(name);
        std::optional<Address> code;
        if (symbol) {
            ASSIGN_OR_RETURN(auto value, word(name, symbol->address));
            code = value == 0 ? std::nullopt : std::optional(value);
        } else if (known != nullptr) {
            code = code_point(*known, name);
        }
        if (code) {
            const auto how = symbol ? symbol->table : kByJitList;
            note(name, *code, how);
            tables_.code_points.push_back({name, *code, std::string(how)});
        }
    }
    return {};
}

/// What says where the memory is. A node without one of these is captured without what it says.
void VmFinder::find_memory_tables() {
    auto& memory = tables_.memory;
    memory.thread_allocators = global_if_any(
        "erts_allctr_thr_spec", [&] { return find_thread_allocators(vm_, search_); },
        memory.not_found);
    memory.allocators = global_if_any(
        "erts_allctrs_info",
        [&]() -> Result<Address> {
            return memory.thread_allocators
                       ? find_allocators(vm_, search_, *memory.thread_allocators)
                       : unknown("erts_allctr_thr_spec");
        },
        memory.not_found);
    // The name is that of a pointer to the array.
    if (const auto symbol = symbols_.find("aligned_mseg_allctr")) {
        if (const auto array = vm_.memory().word(symbol->address)) {
            memory.segment_allocators = *array;
            note("aligned_mseg_allctr", symbol->address, symbol->table);
        }
    } else {
        memory.segment_allocators = global_if_any(
            "aligned_mseg_allctr", [&] { return find_segment_allocators(vm_, search_); },
            memory.not_found);
    }
    memory.literal_mapper = global_if_any(
        "erts_literal_mmapper",
        [&]() -> Result<Address> {
            return memory.allocators ? literal_mapper_of(vm_, *memory.allocators)
                                     : unknown("erts_allctrs_info");
        },
        memory.not_found);
    memory.default_mapper = global_if_any(
        "erts_dflt_mmapper",
        [&]() -> Result<Address> {
            return memory.literal_mapper ? find_default_mapper(vm_, search_, *memory.literal_mapper)
                                         : unknown("erts_literal_mmapper");
        },
        memory.not_found);
    memory.code_ranges =
        global_if_any("r", [&] { return find_code_ranges(vm_, search_); }, memory.not_found);
    // These have no shape: one is the sum of the modules' code, the other is not known without.
    const auto named = [&](std::string_view name) -> std::optional<Address> {
        const auto symbol = symbols_.find(name);
        if (!symbol) {
            return std::nullopt;
        }
        note(name, symbol->address, symbol->table);
        return symbol->address;
    };
    memory.code_bytes = named("erts_total_code_size");
    memory.ets_bytes = named("erts_ets_misc_mem_size");
}

void VmFinder::find_other_tables() {
    auto& other = tables_.other;
    other.persistent_terms = global_if_any(
        "the_hash_table", [&] { return find_persistent_terms(vm_, search_); }, other.not_found);
    other.distribution = global_if_any(
        "erts_dist_table", [&] { return find_hash(vm_, search_, "erts_dist_table", "dist_table"); },
        other.not_found, kByName);
}

std::optional<Address> VmFinder::global_if_any(std::string_view name, const Search& search,
                                               std::vector<std::string>& not_found,
                                               std::string_view how) {
    const auto found = global(name, how, search);
    if (!found) {
        not_found.push_back(fmt::format("{} was not found: {}", name, found.error().message));
        return std::nullopt;
    }
    return *found;
}

Result<const JitSelf*> VmFinder::jit() {
    if (!jit_) {
        if (!facts_.jit) {
            return fail(ErrorCode::kUnsupported,
                        "the node runs the interpreter without symbols, and only a runtime with "
                        "the JIT's code list can be searched: use an executable that is not "
                        "stripped, or the runtime's debug file");
        }
        ASSIGN_OR_RETURN(auto self, find_jit_self(vm_, search_));
        if (self.normal_exit == 0) {
            return fail(ErrorCode::kUnsupported,
                        "an emulator of OTP 24 without symbols does not say where the first "
                        "function of a process returns to: use an executable with symbols");
        }
        jit_ = std::move(self);
        note("__jit_debug_descriptor", jit_->descriptor, kByShape);
    }
    return &*jit_;
}

}  // namespace beamdump::beam
