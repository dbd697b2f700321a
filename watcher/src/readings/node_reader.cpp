#include "readings/node_reader.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/atom_limit.h>
#include <libdump/format/owner_id.h>
#include <libsample/counts/node_load.h>
#include <libvm/beam/checks/vm_check.h>
#include <libvm/beam/ets/ets_reader.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/node_tables.h>
#include <libvm/fit/layout_check.h>
#include <libvm/nodes/running_nodes.h>
#include <libvm/target/live_target.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/proc_lines.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>

namespace beamdump::watch {
namespace {

constexpr auto kMachineMemory = "/proc/meminfo";

/// Quantities that erlang:memory/0 has, by its names.
constexpr std::array<std::pair<std::string_view, Quantity>, 6> kCategories{
    {{"total", Quantity::kTotal},
     {"processes", Quantity::kProcessesMemory},
     {"system", Quantity::kSystem},
     {"binary", Quantity::kBinary},
     {"code", Quantity::kCode},
     {"ets", Quantity::kEts}}};

}  // namespace

NodeReader::NodeReader(pid_t pid, std::unique_ptr<beam::Vm> vm, sampler::CountsReader counts,
                       ProcessScan scan)
    : id_{.name = {}, .pid = pid, .container = container_of(pid)},
      files_(std::make_shared<target::KeptFiles>()),
      resident_file_(fmt::format("/proc/{}/statm", pid)),
      processor_file_(fmt::format("/proc/{}/stat", pid)),
      vm_(std::move(vm)),
      counts_(std::move(counts)),
      scan_(std::move(scan)) {}

Result<NodeReader> NodeReader::open(pid_t pid, const beam::LocateOptions& how,
                                    const std::atomic<bool>& cancelled) {
    const auto open_target = [pid] { return target::LiveTarget::open(pid); };
    ASSIGN_OR_RETURN(auto checked,
                     fit::locate_checked(open_target, how, beam::kCheckTries, cancelled));
    ASSIGN_OR_RETURN(auto counts, sampler::CountsReader::open(*checked.vm));
    ASSIGN_OR_RETURN(auto scanned, sampler::CountsReader::open(*checked.vm));
    std::optional<beam::InferredLayout> inferred;
    if (checked.inferred) {
        inferred = {checked.vm->layout(), std::move(*checked.inferred)};
    }
    NodeReader reader(pid, std::move(checked.vm), std::move(counts),
                      ProcessScan(std::move(scanned)));
    reader.inferred_ = std::move(inferred);
    // Held open before the node's name is read: its number may be another process's one day.
    if (!reader.files_->read(reader.resident_file_)) {
        return reader.has_ended();
    }
    ASSIGN_OR_RETURN(reader.id_.name, nodes::node_name(*reader.vm_));
    ASSIGN_OR_RETURN(const auto facts, target::process_facts(pid));
    reader.start_ticks_ = facts.start_ticks;
    reader.machine_bytes_ = static_cast<double>(
        target::listed_bytes(reader.files_->read(kMachineMemory).value_or(""), "MemTotal")
            .value_or(0));
    if (const auto arguments = reader.vm_->target().arguments()) {
        reader.atom_limit_ = atom_limit_of(*arguments).limit;
    }
    return reader;
}

std::unexpected<Error> NodeReader::has_ended() const {
    return fail(ErrorCode::kTargetDied, fmt::format("process {} has ended", id_.pid));
}

void NodeReader::read_limits(const std::set<Quantity>& wanted, Measurements& into) {
    if (!room_ || !room_->holds()) {
        auto found = target::HeadRoom::kept(id_.pid, files_);
        room_ = found ? std::optional(std::move(*found)) : std::nullopt;
    }
    if (wanted.contains(Quantity::kLimitReached)) {
        if (const auto times = room_ ? room_->limit_reached() : std::nullopt) {
            into[Quantity::kLimitReached] = {.value = static_cast<double>(*times)};
        }
    }
    if (wanted.contains(Quantity::kPressure)) {
        if (const auto percent = room_ ? room_->memory_pressure() : std::nullopt) {
            into[Quantity::kPressure] = {.value = *percent};
        }
    }
    if (wanted.contains(Quantity::kMemory)) {
        read_memory(into);
    }
}

void NodeReader::read_memory(Measurements& into) {
    if (const auto limited = room_ ? room_->limited_memory() : std::nullopt) {
        const auto cache = limited->inactive_file_bytes.value_or(0);
        into[Quantity::kMemory] = {
            .value =
                static_cast<double>(*limited->used_bytes - std::min(*limited->used_bytes, cache)),
            .whole = static_cast<double>(*limited->limit_bytes),
            .whole_name = fmt::format("the limit of cgroup {}", limited->name)};
        return;
    }
    const auto text = files_->read(kMachineMemory).value_or("");
    if (const auto available = target::listed_bytes(text, "MemAvailable");
        machine_bytes_ > 0 && available) {
        into[Quantity::kMemory] = {.value = machine_bytes_ - static_cast<double>(*available),
                                   .whole = machine_bytes_,
                                   .whole_name = "the machine's memory"};
    }
}

void NodeReader::read_counts(const std::set<Quantity>& wanted, Measurements& into) {
    const auto count = [&](Quantity quantity, std::uint64_t number,
                           std::optional<std::uint64_t> limit) {
        into[quantity] = {.value = static_cast<double>(number)};
        if (limit) {
            into[quantity].whole = static_cast<double>(*limit);
        }
    };
    if (wanted.contains(Quantity::kProcesses)) {
        if (const auto table = beam::IdTable::processes(*vm_)) {
            count(Quantity::kProcesses, table->count(), table->slots());
        }
    }
    if (wanted.contains(Quantity::kPorts)) {
        if (const auto table = beam::IdTable::ports(*vm_)) {
            count(Quantity::kPorts, table->count(), table->slots());
        }
    }
    if (wanted.contains(Quantity::kAtoms)) {
        if (const auto atoms = beam::AtomReader::open(*vm_)) {
            count(Quantity::kAtoms, atoms->count(), atom_limit_);
        }
    }
    if (wanted.contains(Quantity::kEtsTables)) {
        if (const auto tables = beam::count_ets_tables(*vm_)) {
            count(Quantity::kEtsTables, *tables, std::nullopt);
        }
    }
}

Result<void> NodeReader::read_schedulers(const std::set<Quantity>& wanted, Measurements& into) {
    if (wanted.contains(Quantity::kSchedulerTime)) {
        schedulers_.read_time(id_.pid, *files_, into);
    }
    if (wanted.contains(Quantity::kStalled) || wanted.contains(Quantity::kHeld)) {
        const auto seen = watch::read_schedulers(*vm_);
        if (seen) {
            schedulers_.follow(
                std::chrono::milliseconds(target::clock_ns(CLOCK_MONOTONIC) / 1'000'000), *seen,
                into);
        } else if (seen.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(seen.error());
        }
    }
    return {};
}

Result<Measurements> NodeReader::read(const std::set<Quantity>& wanted) {
    Measurements read;
    RETURN_IF_ERROR(vm_->reread());
    const auto machine = machine_bytes_ > 0 ? std::optional(machine_bytes_) : std::nullopt;
    // Always: a process that has none has ended.
    const auto resident = sampler::resident_bytes(files_->read(resident_file_).value_or(""));
    if (!resident || *resident == 0) {
        return has_ended();
    }
    read[Quantity::kResident] = {.value = static_cast<double>(*resident), .whole = machine};
    const bool categories = std::ranges::any_of(
        kCategories, [&](const auto& named) { return wanted.contains(named.second); });
    if (categories) {
        const auto memory = sampler::read_categories(*vm_);
        for (const auto& [name, quantity] : kCategories) {
            if (const auto found = memory.find(std::string(name)); found != memory.end()) {
                read[quantity] = {.value = static_cast<double>(found->second), .whole = machine};
            }
        }
    }
    if (wanted.contains(Quantity::kRunQueue)) {
        ASSIGN_OR_RETURN(const auto queues, sampler::read_queue_lengths(*vm_));
        std::optional<double> waiting;
        for (const auto& [group, length] : queues) {
            if (group.first == records::SCHEDULER_KIND_NORMAL) {
                waiting = waiting.value_or(0) + static_cast<double>(length);
            }
        }
        if (waiting) {
            read[Quantity::kRunQueue] = {.value = *waiting};
        }
    }
    if (wanted.contains(Quantity::kMemory) || wanted.contains(Quantity::kPressure) ||
        wanted.contains(Quantity::kLimitReached)) {
        read_limits(wanted, read);
    }
    read_counts(wanted, read);
    RETURN_IF_ERROR(read_schedulers(wanted, read));
    return read;
}

Result<Measurements> NodeReader::scan(const std::atomic<bool>& cancelled) {
    vm_->forget();
    ASSIGN_OR_RETURN(const auto processes, counts_.read(cancelled));
    const sampler::ProcessCounts* longest = nullptr;
    double all = 0;
    for (const auto& process : processes.processes) {
        if (!process.messages) {
            continue;
        }
        all += static_cast<double>(*process.messages);
        if (longest == nullptr || *process.messages > *longest->messages) {
            longest = &process;
        }
    }
    Measurements read;
    if (longest != nullptr) {
        read[Quantity::kMailbox] = {.value = static_cast<double>(*longest->messages),
                                    .owner = pid_text(longest->owner_id)};
        read[Quantity::kMailboxes] = {.value = all};
    }
    return read;
}

Result<void> NodeReader::describe(records::Capture& capture, records::Node& node) {
    const auto& facts = vm_->facts();
    capture.set_tool_version(BEAMDUMP_VERSION);
    capture.set_mode(records::CAPTURE_MODE_RECORDING);
    capture.set_started_us(target::clock_ns(CLOCK_REALTIME) / 1000);
    capture.set_os_pid(id_.pid);
    // Redaction hides them, and puts in their place what it says of itself.
    capture.set_executable(vm_->target().executable());
    if (utsname system{}; ::uname(&system) == 0) {
        capture.set_host_name(system.nodename);
    }
    capture.set_layout_name(vm_->layout().name());
    capture.set_layout_release(vm_->layout().release());
    node.set_otp_release(facts.otp_release);
    node.set_erts_version(facts.erts_version);
    node.set_jit(facts.jit);
    node.set_schedulers(facts.schedulers);
    node.set_dirty_cpu_schedulers(facts.dirty_cpu_schedulers);
    node.set_dirty_io_schedulers(facts.dirty_io_schedulers);
    ASSIGN_OR_RETURN(const auto name, beam::read_node_name(*vm_));
    node.set_name_atom(name.atom);
    ASSIGN_OR_RETURN(const auto scheme,
                     vm_->layout().constant(beam::runtime::constant::term_scheme));
    node.set_term_scheme(static_cast<std::uint32_t>(scheme));
    if (const auto boot = vm_->target().boot_us()) {
        node.set_boot_us(*boot);
    }
    return {};
}

std::optional<std::string> NodeReader::atom(std::uint32_t index) {
    auto atoms = beam::AtomReader::open(*vm_);
    auto text = atoms ? atoms->text(index) : std::unexpected(atoms.error());
    return text ? std::optional(std::move(*text)) : std::nullopt;
}

Result<std::optional<records::HistoryScan>> NodeReader::scan_on(
    double part, const std::atomic<bool>& cancelled) {
    vm_->forget();
    const auto slots =
        static_cast<std::uint32_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(scan_.slots()));
    auto scan = scan_.go_on(*vm_, std::max(slots, 1U), cancelled);
    if (!scan && scan.error().code != ErrorCode::kTargetDied) {
        return std::nullopt;
    }
    return scan;
}

std::optional<std::uint64_t> NodeReader::processor_ms() {
    static const auto kTicksASecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const auto ticks = sampler::processor_ticks(files_->read(processor_file_).value_or(""));
    return ticks ? std::optional(*ticks * 1000 / kTicksASecond) : std::nullopt;
}

std::optional<std::uint64_t> NodeReader::oom_kills() const {
    return room_ ? room_->oom_kills() : std::nullopt;
}

}  // namespace beamdump::watch
