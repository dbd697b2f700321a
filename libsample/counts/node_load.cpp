#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libsample/counts/node_load.h>
#include <libsample/events/threads.h>
#include <libvm/beam/allocators/memory_amounts.h>
#include <libvm/beam/vm/steady_read.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace beamdump::sampler {
namespace {

/// The text up to the next space or line end.
std::string_view next_word(std::string_view& text) {
    const auto end = std::min(text.find_first_of(" \n"), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

Result<void> read_threads(pid_t pid, const target::ProcDirectory& directory, NodeLoad& load) {
    ASSIGN_OR_RETURN(const auto threads, threads_of_node(pid));
    load.at_ns = target::clock_ns(CLOCK_MONOTONIC);
    for (const auto& thread : threads) {
        const auto text = directory.read(fmt::format("task/{}/schedstat", thread.id));
        const auto ran = text ? processor_ns(*text) : std::nullopt;
        if (ran) {
            load.threads.emplace(thread.id, std::pair(scheduler_of_thread(thread.name), *ran));
        }
    }
    return {};
}

Result<std::vector<records::AllocatorInstance>> read_allocators(beam::Vm& vm) {
    ASSIGN_OR_RETURN(auto reader, beam::AllocatorReader::open(vm));
    ASSIGN_OR_RETURN(const auto places, reader.places());
    std::vector<records::AllocatorInstance> records;
    for (const auto& place : places) {
        ASSIGN_OR_RETURN(auto state, reader.state(place));
        records.push_back(std::move(state.record));
    }
    return records;
}

}  // namespace

std::map<std::string, std::uint64_t> read_categories(beam::Vm& vm) {
    if (!vm.tables().memory.allocators) {
        return {};
    }
    const auto allocators =
        beam::read_steadily([] { return true; }, vm, [&] { return read_allocators(vm); });
    if (!allocators) {
        return {};
    }
    auto areas = beam::read_areas(vm, beam::AtomSpace(), 0, [](const std::string&) {});
    areas.erase("atom_space");
    areas.erase("atom_space_used");
    if (!vm.tables().memory.code_bytes) {
        areas.erase("loaded_code");
    }
    return beam::memory_categories(vm.layout(), *allocators, areas);
}

Result<std::map<ThreadGroup, std::uint64_t>> read_queue_lengths(beam::Vm& vm) {
    std::map<ThreadGroup, std::uint64_t> queues;
    if (auto reader = beam::SchedulerReader::open(vm)) {
        ASSIGN_OR_RETURN(const auto read, reader->read());
        for (const auto& queue : read.schedulers.run_queue()) {
            if (queue.has_length()) {
                queues[{queue.kind(), queue.number()}] = queue.length();
            }
        }
    }
    return queues;
}

std::optional<std::uint64_t> resident_bytes(std::string_view statm) {
    next_word(statm);
    const auto pages = decimal_number(next_word(statm));
    return pages ? std::optional(*pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)))
                 : std::nullopt;
}

std::optional<std::uint64_t> processor_ns(std::string_view schedstat) {
    const auto ran = decimal_number(next_word(schedstat));
    const auto waited = decimal_number(next_word(schedstat));
    return waited ? ran : std::nullopt;
}

std::optional<std::uint64_t> delayed_ns(std::string_view schedstat) {
    const auto ran = decimal_number(next_word(schedstat));
    const auto waited = decimal_number(next_word(schedstat));
    return ran ? waited : std::nullopt;
}

std::optional<std::uint64_t> processor_ticks(std::string_view stat) {
    // The name before may have spaces and brackets.
    const auto name_end = stat.rfind(") ");
    if (name_end == std::string_view::npos) {
        return std::nullopt;
    }
    stat.remove_prefix(name_end + 2);
    constexpr int kFieldsBefore = 11;  // state to cmajflt (proc(5))
    for (int field = 0; field < kFieldsBefore; ++field) {
        next_word(stat);
    }
    const auto user = decimal_number(next_word(stat));
    const auto system = decimal_number(next_word(stat));
    return user && system ? std::optional(*user + *system) : std::nullopt;
}

Result<NodeLoad> read_load(beam::Vm& vm) {
    vm.forget();
    const auto pid = vm.target().pid();
    NodeLoad load;
    ASSIGN_OR_RETURN(const auto directory, target::ProcDirectory::open(pid));
    RETURN_IF_ERROR(read_threads(pid, directory, load));
    if (const auto statm = directory.read("statm")) {
        load.resident_bytes = resident_bytes(*statm);
    }
    ASSIGN_OR_RETURN(load.queues, read_queue_lengths(vm));
    load.memory = read_categories(vm);
    return load;
}

std::map<ThreadGroup, double> utilisation(const NodeLoad& before, const NodeLoad& after) {
    std::map<ThreadGroup, double> used;
    const auto passed = static_cast<double>(after.at_ns - before.at_ns);
    for (const auto& [id, now] : after.threads) {
        const auto then = before.threads.find(id);
        if (passed <= 0 || then == before.threads.end() || then->second.first != now.first ||
            then->second.second > now.second) {
            continue;
        }
        const auto part = static_cast<double>(now.second - then->second.second) / passed;
        auto& sum = used[now.first];
        // Time is accounted for at the scheduler's ticks: a thread may seem to run a little more.
        sum = now.first.second == 0 ? sum + part : std::min(part, 1.0);
    }
    return used;
}

}  // namespace beamdump::sampler
