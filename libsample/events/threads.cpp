#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libsample/events/threads.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/proc_lines.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/stop/settle.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sys/stat.h>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kMostSchedulers = 1024;  // erl_vm.h: ERTS_MAX_NO_OF_SCHEDULERS

}  // namespace

Result<std::vector<NodeThread>> threads_of_node(pid_t pid) {
    ASSIGN_OR_RETURN(const auto ids, target::threads_of(pid));
    ASSIGN_OR_RETURN(const auto directory, target::ProcDirectory::open(pid));
    std::vector<NodeThread> threads;
    for (const auto id : ids) {
        // One that has ended meanwhile has no name any more.
        if (auto name = directory.read(fmt::format("task/{}/comm", id))) {
            while (name->ends_with('\n')) {
                name->pop_back();
            }
            threads.push_back({id, std::move(*name)});
        }
    }
    return threads;
}

Result<std::uint64_t> thread_count(pid_t pid) {
    struct stat of_tasks{};
    if (::stat(fmt::format("/proc/{}/task", pid).c_str(), &of_tasks) != 0) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has ended", pid));
    }
    // One link for each thread, and two for the directory (fs/proc/base.c, proc_task_getattr()).
    return of_tasks.st_nlink - 2;
}

std::optional<std::uint32_t> scheduler_number(std::string_view name) {
    if (!target::is_scheduler_name(name)) {
        return std::nullopt;
    }
    const auto first = name.find_first_of("0123456789");
    const auto last = name.find_last_of("0123456789");
    const auto number = decimal_number(name.substr(first, last - first + 1));
    return number && *number <= kMostSchedulers ? std::optional(static_cast<std::uint32_t>(*number))
                                                : std::nullopt;
}

std::pair<records::SchedulerKind, std::uint32_t> scheduler_of_thread(std::string_view name) {
    struct Form {
        records::SchedulerKind kind;
        std::string_view before, after;
    };
    // The kernel keeps 15 characters of a name: long numbers leave less of what is behind them.
    static constexpr std::array kForms = {
        Form{records::SCHEDULER_KIND_DIRTY_CPU, "erts_dcpus_", ""},
        Form{records::SCHEDULER_KIND_DIRTY_IO, "erts_dios_", ""},
        Form{records::SCHEDULER_KIND_DIRTY_CPU, "", "_dirty_cpu_"},
        Form{records::SCHEDULER_KIND_DIRTY_IO, "", "_dirty_io_"}};
    if (const auto number = scheduler_number(name)) {
        return {records::SCHEDULER_KIND_NORMAL, *number};
    }
    for (const auto& form : kForms) {
        if (!name.starts_with(form.before)) {
            continue;
        }
        const auto rest = name.substr(form.before.size());
        const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
        const auto number = decimal_number(rest.substr(0, digits));
        const auto behind = rest.substr(digits);
        const bool fits = form.after.empty() ? behind.empty() : behind.starts_with(form.after);
        if (number && fits && *number >= 1 && *number <= kMostSchedulers) {
            return {form.kind, static_cast<std::uint32_t>(*number)};
        }
    }
    return {records::SCHEDULER_KIND_NORMAL, 0};
}

Result<std::map<std::pair<records::SchedulerKind, std::uint32_t>, pid_t>> threads_of_schedulers(
    pid_t pid) {
    ASSIGN_OR_RETURN(auto all, threads_of_node(pid));
    std::ranges::sort(all, {}, &NodeThread::id);
    std::map<std::pair<records::SchedulerKind, std::uint32_t>, pid_t> threads;
    for (const auto& thread : all) {
        if (const auto key = scheduler_of_thread(thread.name); key.second != 0) {
            threads.emplace(key, thread.id);
        }
    }
    return threads;
}

Result<ThreadRest> parse_thread_rest(std::string_view status) {
    const auto state = target::listed_text(status, "State");
    const auto voluntary = target::listed_number(status, "voluntary_ctxt_switches");
    const auto forced = target::listed_number(status, "nonvoluntary_ctxt_switches");
    if (!state || state->empty() || !voluntary || !forced) {
        return fail(ErrorCode::kImplausible,
                    "a thread's status in /proc has no state or no counts of context switches");
    }
    const char letter = state->front();
    return ThreadRest{letter == 'S' || letter == 'D', *voluntary + *forced, letter};
}

Result<ThreadRest> thread_rest(pid_t pid, pid_t thread) {
    ASSIGN_OR_RETURN(const auto directory, target::ProcDirectory::open(pid));
    ASSIGN_OR_RETURN(const auto status, directory.read(fmt::format("task/{}/status", thread)));
    return parse_thread_rest(status);
}

}  // namespace beamdump::sampler
