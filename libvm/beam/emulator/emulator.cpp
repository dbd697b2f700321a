#include <libdump/base/return_if_error.h>
#include <libvm/beam/emulator/emulator.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/vm/read_until_equal.h>
#include <libvm/target/unwind/native_frames.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace beamdump::beam {

namespace {

constexpr std::uint64_t kAllOnes = UINT64_MAX;  // ERTS_THR_PRGR_VAL_WAITING
constexpr std::uint64_t kMostWaiters = 1U << 20U;
constexpr std::uint64_t kShownWaiters = 1024;
constexpr std::uint64_t kMostTypes = 1U << 16U;
constexpr std::uint64_t kNoOwner = UINT64_MAX;

}  // namespace

EmulatorReader::EmulatorReader(Vm& vm, LayoutNames& names, PidWords pids, AtomWords atoms)
    : vm_(&vm), pids_(pids), atoms_(atoms) {
    stride_ = names.bytes(runtime::ErtsAlignedSchedulerData::kName);
    number_ = names.field(runtime::ErtsSchedulerData::no);
    progress_id_ = names.field(runtime::SchedulerProgress::id);
    blocking_ = names.field(runtime::SchedulerProgress::is_blocking);
    leader_ = names.field(runtime::SchedulerProgress::leader);
    active_ = names.field(runtime::SchedulerProgress::active);
    confirmed_ = names.field(runtime::SchedulerProgress::confirmed);
    noted_ = names.field(runtime::SchedulerProgress::leader_state_current);
    stopped_at_ = names.field(runtime::SchedulerProgress::leader_state_chk_next_ix);
    unmanaged_ = names.field(runtime::SchedulerProgress::leader_state_waiting);
    scheduler_end_ = end_of({number_, progress_id_, unmanaged_});
    process_id_ = names.field(runtime::Process::common_id);
    item_process_ = names.field(runtime::CodePermissionItem::p);
    item_next_ = names.field(runtime::CodePermissionItem::next);
    item_bytes_ = names.bytes(runtime::CodePermissionItem::kName);
    term_item_process_ = names.field(runtime::PersistentTermUpdateItem::p);
    term_item_next_ = names.field(runtime::PersistentTermUpdateItem::next);
    term_item_bytes_ = names.bytes(runtime::PersistentTermUpdateItem::kName);
    owner_ = names.field_if_any(runtime::CodePermission::owner);
    seized_ = names.field_if_any(runtime::CodePermission::seized);
    queue_ = names.field_if_any(runtime::CodePermission::queue);
    if (queue_) {
        permission_bytes_ = names.bytes(runtime::CodePermission::kName);
    }
    type_next_ = names.field(runtime::ErtsResourceType::next);
    type_prev_ = names.field(runtime::ErtsResourceType::prev);
    type_owner_ = names.field(runtime::ErtsResourceType::owner);
    type_destructor_ = names.field_if_any(runtime::ErtsResourceType::destructor);
    type_count_ = names.field(runtime::ErtsResourceType::refc);
    type_module_ = names.field(runtime::ErtsResourceType::module);
    type_name_ = names.field(runtime::ErtsResourceType::name);
    type_bytes_ = names.bytes(runtime::ErtsResourceType::kName);
}

Result<EmulatorReader> EmulatorReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
    LayoutNames names(vm.layout());
    EmulatorReader reader(vm, names, pids, atoms);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<records::ProgressReading> EmulatorReader::progress(std::int64_t monotonic_ns,
                                                          std::vector<std::string>& untold) {
    records::ProgressReading reading;
    reading.set_monotonic_ns(monotonic_ns);
    auto& memory = vm_->bulk();
    const auto& tables = vm_->tables();
    if (tables.emulator.thread_progress) {
        if (const auto current = memory.word(*tables.emulator.thread_progress)) {
            reading.set_current(*current);
        } else if (current.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(current.error());
        }
    }
    if (tables.schedulers == 0) {
        untold.emplace_back("thread progress: the schedulers were not found");
        return reading;
    }
    bool told = false;
    const auto pass_over = [&](std::uint32_t number, const std::string& why) {
        if (!std::exchange(told, true)) {
            untold.push_back(fmt::format("thread progress of scheduler {}: {}", number, why));
        }
    };
    for (std::uint32_t number = 1; number <= vm_->facts().schedulers; ++number) {
        const auto address = tables.schedulers + (number - 1) * std::uint64_t{stride_};
        const auto read = OwnedStruct::read(memory, address, scheduler_end_);
        if (!read && read.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(read.error());
        }
        if (!read) {
            pass_over(number, read.error().message);
            continue;
        }
        const auto view = read->view();
        // Thread 0 is an auxiliary one; scheduler n is n (erl_thr_progress.c).
        if (view.get(number_) != number || view.get(progress_id_) != number) {
            pass_over(number, fmt::format("expected number {} of both, found {} and {}", number,
                                          view.get(number_), view.get(progress_id_)));
            continue;
        }
        auto& thread = *reading.add_thread();
        thread.set_scheduler(number);
        if (const auto confirmed = view.get(confirmed_); confirmed != kAllOnes) {
            thread.set_confirmed(confirmed);
        }
        // All ones: it has never been the leader.
        if (!tables.emulator.thread_progress && view.get(noted_) != kAllOnes) {
            reading.set_current(std::max(reading.current(), view.get(noted_)));
        }
        thread.set_active(view.get(active_) != 0);
        thread.set_blocking(view.get(blocking_) != 0);
        thread.set_leader(view.get(leader_) != 0);
        if (thread.leader()) {
            thread.set_stopped_at(static_cast<std::int32_t>(view.u32(stopped_at_)));
            thread.set_waits_for_unmanaged(static_cast<std::int32_t>(view.u32(unmanaged_)) >= 0);
        }
    }
    return reading;
}

Result<std::uint64_t> EmulatorReader::owner_of(Address process) {
    ASSIGN_OR_RETURN(const auto id, vm_->bulk().word(process + process_id_.offset));
    const auto owner = pids_.owner_id(id);
    if (!owner) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("process at {:#x}: expected a pid, found {:#x}", process, id));
    }
    return *owner;
}

/// Follows the queue from held.first on.
Result<EmulatorReader::Held> EmulatorReader::queued(Held held, Field process, Field next,
                                                    std::uint32_t bytes) {
    for (auto at = held.first; at != 0;) {
        if (held.waiting.size() >= kMostWaiters) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("its queue does not end after {}", held.waiting.size()));
        }
        ASSIGN_OR_RETURN(const auto item, OwnedStruct::read(vm_->bulk(), at, bytes));
        held.waiting.push_back(item.view().get(process));
        at = item.view().get(next);
    }
    held.holder_id = kNoOwner;
    if (held.holder != 0) {
        ASSIGN_OR_RETURN(held.holder_id, owner_of(held.holder));
    }
    for (const auto waiting : held.waiting) {
        if (waiting != 0) {
            ASSIGN_OR_RETURN(const auto id, owner_of(waiting));
            held.ids.push_back(id);
        }
    }
    return held;
}

/// Up to OTP 26. Its holder is in a variable that nothing reads (code_writing_process, code_ix.c):
/// compilers leave it out.
Result<EmulatorReader::Held> EmulatorReader::code_write() {
    const auto& tables = vm_->tables().emulator;
    Held held;
    ASSIGN_OR_RETURN(const auto seized,
                     vm_->bulk().value<std::uint32_t>(*tables.code_write_seized));
    ASSIGN_OR_RETURN(held.first, vm_->bulk().word(*tables.code_write_queue));
    if (seized > 1 || (seized == 0 && held.first != 0)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected 0 or 1 for whether it is held, found {}, with a queue at "
                                "{:#x}",
                                seized, held.first));
    }
    held.held = seized == 1;
    return queued(std::move(held), item_process_, item_next_, item_bytes_);
}

Result<EmulatorReader::Held> EmulatorReader::code(Address permission) {
    ASSIGN_OR_RETURN(const auto read,
                     OwnedStruct::read(vm_->bulk(), permission, permission_bytes_));
    const auto view = read.view();
    const auto seized = view.get(*seized_);
    Held held;
    held.stored = true;
    held.holder = view.get(*owner_);
    held.first = view.get(*queue_);
    if (seized > 1 || (seized == 0 && (held.first != 0 || held.holder != 0))) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected 0 or 1 for whether it is held, found {}, with a holder "
                                "at {:#x} and a queue at {:#x}",
                                seized, held.holder, held.first));
    }
    held.held = seized == 1;
    return queued(std::move(held), item_process_, item_next_, item_bytes_);
}

Result<EmulatorReader::Held> EmulatorReader::persistent_terms() {
    const auto& tables = vm_->tables().emulator;
    Held held;
    held.stored = true;
    ASSIGN_OR_RETURN(held.holder, vm_->bulk().word(*tables.persistent_term_updater));
    ASSIGN_OR_RETURN(held.first, vm_->bulk().word(*tables.persistent_term_queue));
    held.held = held.holder != 0;
    if (!held.held && held.first != 0) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("nobody holds it, and its queue is at {:#x}", held.first));
    }
    return queued(std::move(held), term_item_process_, term_item_next_, term_item_bytes_);
}

Result<void> EmulatorReader::permission(records::PermissionKind kind, std::string_view name,
                                        std::optional<Address> address,
                                        const std::function<Result<Held>()>& read,
                                        records::Emulator& into) {
    if (!address) {
        into.add_untold(fmt::format("{}: where it lies is not known", name));
        return {};
    }
    const auto held = read_until_equal(read);
    if (!held) {
        if (held.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(held.error());
        }
        into.add_untold(fmt::format("{}: {}", name, held.error().message));
        return {};
    }
    auto& permission = *into.add_permission();
    permission.set_kind(kind);
    permission.set_struct_address(*address);
    permission.set_held(held->held);
    permission.set_holder_stored(held->stored);
    if (held->holder_id != kNoOwner) {
        permission.set_holder_owner_id(held->holder_id);
    }
    permission.set_waiters(held->waiting.size());
    permission.set_waiting_jobs(held->waiting.size() - held->ids.size());
    // The queue has the last come first.
    for (auto id = held->ids.rbegin();
         id != held->ids.rend() &&
         static_cast<std::uint64_t>(permission.waiter_owner_id_size()) < kShownWaiters;
         ++id) {
        permission.add_waiter_owner_id(*id);
    }
    return {};
}

Result<void> EmulatorReader::state(records::Emulator& into) {
    const auto& tables = vm_->tables().emulator;
    if (queue_) {
        for (const auto& [kind, name, address] :
             {std::tuple{records::PERMISSION_KIND_CODE_STAGING, "code staging permission",
                         tables.code_staging},
              std::tuple{records::PERMISSION_KIND_CODE_MODIFICATION, "code modification permission",
                         tables.code_modification}}) {
            RETURN_IF_ERROR(permission(
                kind, name, address, [&, place = address] { return code(place.value_or(0)); },
                into));
        }
    } else {
        const bool found = tables.code_write_queue && tables.code_write_seized;
        const bool one = vm_->facts().otp_release < "26";
        RETURN_IF_ERROR(permission(
            records::PERMISSION_KIND_CODE_WRITE,
            one ? "code write permission" : "code staging and modification permissions",
            found ? tables.code_write_queue : std::nullopt, [this] { return code_write(); }, into));
    }
    const bool found = tables.persistent_term_updater && tables.persistent_term_queue;
    RETURN_IF_ERROR(permission(
        records::PERMISSION_KIND_PERSISTENT_TERM_UPDATE, "permission to update persistent terms",
        found ? tables.persistent_term_updater : std::nullopt,
        [this] { return persistent_terms(); }, into));
    auto& memory = vm_->bulk();
    if (tables.staging_code_index) {
        const auto active = memory.value<std::uint32_t>(vm_->tables().active_code_index);
        const auto staging = memory.value<std::uint32_t>(*tables.staging_code_index);
        if (active && staging && *active < kCodeIndexes && *staging < kCodeIndexes) {
            into.set_active_code_index(*active);
            into.set_staging_code_index(*staging);
        }
    }
    if (tables.literal_area) {
        if (const auto area = memory.word(*tables.literal_area)) {
            into.set_literal_area_address(*area);
        }
    } else {
        into.add_untold("literal area that is being collected: where it lies is not known");
    }
    return {};
}

void EmulatorReader::put_destructor(Address code, records::ResourceType& into) const {
    into.set_destructor_address(code);
    const auto& mappings = vm_->target().mappings();
    const auto* mapping = mappings.find(code);
    if (mapping == nullptr || !mapping->path.starts_with('/')) {
        return;
    }
    into.set_destructor_file(std::filesystem::path(mapping->path).filename().native());
    into.set_destructor_offset(code - mappings.first_of(mapping->path)->range.begin);
}

void EmulatorReader::name_destructors(Types& types) const {
    const auto own = std::filesystem::path(vm_->target().executable()).filename();
    const auto is_of_library = [&own](const records::ResourceType& type) {
        return type.has_destructor_file() && type.destructor_file() != own;
    };
    if (std::ranges::none_of(types.types, is_of_library)) {
        return;
    }
    auto frames = target::NativeFrames::open(vm_->target());
    if (!frames) {
        return;
    }
    for (auto& type : types.types) {
        if (!is_of_library(type)) {
            continue;
        }
        if (auto place = frames->place_at(type.destructor_address()); !place.symbol.empty()) {
            type.set_destructor_symbol(std::move(place.symbol));
        }
    }
}

Result<EmulatorReader::Types> EmulatorReader::read_types(Address list) {
    Types types;
    auto before = list;
    ASSIGN_OR_RETURN(auto at, vm_->bulk().word(list + type_next_.offset));
    while (at != list) {
        if (types.addresses.size() >= kMostTypes || !vm_->plausible(at, type_bytes_)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the list does not close: one would be at {:#x}", at));
        }
        ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), at, type_bytes_));
        const auto view = read.view();
        const auto module = atoms_.index(view.get(type_module_));
        const auto name = atoms_.index(view.get(type_name_));
        const bool loaded = view.get(type_owner_) != 0;
        const auto count = view.get(type_count_);
        if (view.get(type_prev_) != before || !module || !name || count < (loaded ? 1U : 0U)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("there is no resource type at {:#x}", at));
        }
        auto& type = types.types.emplace_back();
        type.set_struct_address(at);
        type.set_module_atom(*module);
        type.set_name_atom(*name);
        type.set_loaded(loaded);
        type.set_living(count - (loaded ? 1 : 0));
        if (type_destructor_) {
            put_destructor(view.get(*type_destructor_), type);
        }
        types.addresses.push_back(at);
        before = std::exchange(at, view.get(type_next_));
    }
    return types;
}

Result<void> EmulatorReader::resource_types(
    std::size_t most, bool named, const std::function<Result<void>(records::ResourceTypes&)>& page,
    std::vector<std::string>& untold) {
    const auto list = vm_->tables().emulator.resource_types;
    if (!list) {
        untold.emplace_back("types of NIF resources: where their list lies is not known");
        return {};
    }
    Types types;
    const auto addresses = read_until_equal([&]() -> Result<std::vector<Address>> {
        ASSIGN_OR_RETURN(types, read_types(*list));
        return types.addresses;
    });
    if (!addresses) {
        if (addresses.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(addresses.error());
        }
        untold.push_back("types of NIF resources: " + addresses.error().message);
        return {};
    }
    if (named) {
        name_destructors(types);
    }
    records::ResourceTypes current;
    for (auto& type : types.types) {
        *current.add_type() = std::move(type);
        if (static_cast<std::size_t>(current.type_size()) == most) {
            RETURN_IF_ERROR(page(current));
            current.Clear();
        }
    }
    // One page also where there is none: they were looked for.
    return types.types.empty() || current.type_size() != 0 ? page(current) : Result<void>();
}

}  // namespace beamdump::beam
