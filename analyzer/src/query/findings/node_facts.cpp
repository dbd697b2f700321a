#include "query/findings/node_facts.h"

#include "query/activity/schedulers.h"
#include "query/process/process_names.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

/// Processes that others wait for, of which one that waits itself is no finding.
constexpr std::uint64_t kMostWaitedFor = 64;

/// A word that a shell takes as it is.
std::string shell_word(std::string_view word) {
    constexpr std::string_view kPlain = "_-+=:,./@%";
    const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               kPlain.contains(c);
    });
    if (plain) {
        return std::string(word);
    }
    std::string quoted = "'";
    for (const char c : word) {
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + '\'';
}

}  // namespace

Result<const ProcessScan*> NodeFacts::processes() {
    if (!processes_) {
        static const std::set<std::uint64_t> kNone;
        const std::set<std::uint64_t>* modules = &kNone;
        // Without the code's index the rest can still be told.
        if (auto old = old_modules()) {
            modules = *old;
        }
        ASSIGN_OR_RETURN(processes_, scan_processes(dump_, *modules, options_.most_callers));
    }
    return &*processes_;
}

Result<const std::vector<EtsTableLine>*> NodeFacts::tables() {
    if (!tables_) {
        ASSIGN_OR_RETURN(tables_, ets_tables(dump_));
    }
    return &*tables_;
}

Result<const NodeMemory*> NodeFacts::memory() {
    if (!memory_) {
        ASSIGN_OR_RETURN(memory_, node_memory(dump_));
    }
    return &*memory_;
}

Result<std::uint64_t> NodeFacts::node_bytes() {
    ASSIGN_OR_RETURN(const auto* memory, this->memory());
    const auto total = std::ranges::find(memory->categories, "total",
                                         &std::pair<std::string, std::uint64_t>::first);
    if (total != memory->categories.end()) {
        return total->second;
    }
    if (dump_.node().has_resident_bytes()) {
        return dump_.node().resident_bytes();
    }
    return fail(ErrorCode::kNotFound, "the dump does not tell how much memory the node has");
}

Result<const std::set<std::uint64_t>*> NodeFacts::old_modules() {
    if (!form_of(dump_).code_instances) {
        return fail(ErrorCode::kNotFound, "a crash dump does not tell old code");
    }
    if (!old_modules_) {
        ASSIGN_OR_RETURN(const auto* instances, dump_.code().instances());
        std::set<std::uint64_t> old;
        for (const auto& instance : *instances) {
            if (instance.instance == records::MODULE_INSTANCE_OLD) {
                old.insert(instance.name_atom);
            }
        }
        old_modules_ = std::move(old);
    }
    return &*old_modules_;
}

Result<WaitsOptions> NodeFacts::waits_options() {
    ASSIGN_OR_RETURN(const auto* scan, processes());
    WaitsOptions query;
    query.limit = kMostWaitedFor;
    query.sensitive = options_.sensitive;
    query.progress = options_.progress;
    query.limits = options_.limits;
    if (!full()) {
        std::set<std::uint64_t> rows;
        for (const auto* some :
             {&scan->in_call, &scan->crowd, &scan->starting, &scan->applications, &scan->locking}) {
            rows.insert(some->rows.begin(), some->rows.end());
        }
        query.rows.emplace(rows.begin(), rows.end());
    }
    return query;
}

Result<const Waits*> NodeFacts::waits() {
    if (!waits_) {
        ASSIGN_OR_RETURN(const auto query, waits_options());
        ASSIGN_OR_RETURN(waits_, find_waits(dump_, file_, query));
        tell_read(waits_->read);
    }
    return &*waits_;
}

Result<const Hang*> NodeFacts::hang() {
    if (!hang_) {
        ASSIGN_OR_RETURN(const auto query, waits_options());
        ASSIGN_OR_RETURN(hang_, find_hang(dump_, file_, std::nullopt, query));
        tell_read(hang_->read);
    }
    return &*hang_;
}

Result<HangEnd> NodeFacts::hang_of(const std::string& process) {
    ASSIGN_OR_RETURN(const auto query, waits_options());
    ASSIGN_OR_RETURN(auto hang, find_hang(dump_, file_, process, query));
    tell_read(hang.read);
    return hang.asked ? std::move(*hang.asked)
                      : Result<HangEnd>(fail(ErrorCode::kNotFound, "the process has no chain"));
}

Result<const EmulatorReport*> NodeFacts::emulator() {
    if (!emulator_) {
        ASSIGN_OR_RETURN(emulator_, known_of_emulator(dump_, file_));
    }
    return &*emulator_;
}

std::optional<std::string> NodeFacts::callers_left_out() {
    const auto scan = processes();
    if (!scan) {
        return std::nullopt;
    }
    const auto& [callers, crowd] = std::tie((*scan)->in_call, (*scan)->crowd);
    if (!options_.terms && callers.count + crowd.count != 0) {
        return fmt::format("the stacks of {} are not read of a large crash dump",
                           callers.count != 0
                               ? counted(callers.count, "process in a call", "processes in a call")
                               : counted(crowd.count, "process that may be in a call",
                                         "processes that may be in a call"));
    }
    if (full()) {
        return std::nullopt;
    }
    if (!callers.all()) {
        return fmt::format("{} of {} processes in a call were read",
                           count_text(callers.rows.size()), count_text(callers.count));
    }
    return crowd.all()
               ? std::nullopt
               : std::optional(fmt::format("{} of {} processes that may be in a call were read",
                                           count_text(crowd.rows.size()), count_text(crowd.count)));
}

Result<const ProcessLine*> NodeFacts::calling_process() {
    if (!calling_process_) {
        calling_process_.emplace();
        constexpr std::string_view kScheduler = "scheduler:";
        const std::string_view thread = dump_.capture().calling_thread();
        if (thread.starts_with(kScheduler)) {
            const auto number = decimal_number(thread.substr(kScheduler.size()));
            auto lines = scheduler_lines(dump_);
            if (!lines && lines.error().code != ErrorCode::kNotFound) {
                return std::unexpected(std::move(lines.error()));
            }
            for (const auto& line : lines ? *lines : std::vector<SchedulerLine>()) {
                const bool ran = number && line.scheduler == number && line.process;
                const auto row = ran ? dump_.find_process(*line.process)
                                     : fail(ErrorCode::kNotFound, std::string());
                if (row) {
                    *calling_process_ = named_line(dump_, *row);
                }
            }
        }
    }
    return *calling_process_ ? &**calling_process_ : nullptr;
}

std::optional<std::string> NodeFacts::text_cut_off() const {
    return dump_.capture().has_cut_off()
               ? std::optional<std::string>("the text is truncated, and the rest is not known")
               : std::nullopt;
}

Result<ProcessLine> NodeFacts::line(std::uint64_t row) {
    ASSIGN_OR_RETURN(const auto rows, dump_.processes().rows(std::array<std::uint64_t, 1>{row}));
    return named_line(dump_, rows[0]);
}

std::string NodeFacts::command(std::string_view name,
                               std::initializer_list<std::string_view> words) const {
    std::string text = fmt::format("beamdump-analyze {} {}", name, shell_word(file_));
    for (const std::string_view word : words) {
        text += ' ' + shell_word(word);
    }
    return text;
}

void NodeFacts::tell_read(const ProcessesRead& read) {
    if (!full()) {
        return;
    }
    if (!read_) {
        read_.emplace();
    }
    read_->read = std::max(read_->read, read.read);
    read_->inconsistent = std::max(read_->inconsistent, read.inconsistent);
    read_->sensitive = std::max(read_->sensitive, read.sensitive);
}

std::string NodeFacts::named(const std::string& process) {
    const auto row = dump_.find_process(process);
    return row ? process_with_name(named_line(dump_, *row)) : process;
}

std::string process_with_name(const ProcessLine& line) {
    const auto name = shown_name(line);
    if (!name) {
        return line.pid;
    }
    return line.registered_name ? fmt::format("{} ({})", *name, line.pid)
                                : fmt::format("{} ({})", line.pid, *name);
}

std::string place_of(const ProcessLine& line) {
    return line.current_function
               ? fmt::format(", which is {}in {}", line.status ? *line.status + " " : std::string(),
                             *line.current_function)
               : std::string();
}

std::string pid_word(const ProcessLine& line) {
    return line.pid.size() > 2 ? line.pid.substr(1, line.pid.size() - 2) : line.pid;
}

}  // namespace beamdump::query
