#include "query/activity/history.h"

#include "query/activity/profile.h"
#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>
#include <libdump/profile/profile_text.h>

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <utility>

namespace beamdump::query {
namespace {

constexpr Column history_bytes(std::string_view name, std::string_view sentence) {
    return {.name = name, .title = name, .kind = ColumnKind::kBytes, .sentence = sentence};
}
constexpr Column history_count(std::string_view name, std::string_view sentence) {
    return {.name = name, .title = name, .kind = ColumnKind::kCount, .sentence = sentence};
}

constexpr Column kReadAt = {
    .name = "at_us", .kind = ColumnKind::kId, .sentence = "Microseconds since the Unix epoch"};

constexpr std::array kReadingFields = {
    field<&HistoryReading::at_us>(kReadAt),
    field<&HistoryReading::memory>(history_bytes(
        "memory", "What counts against the limit: of the cgroup, else of the whole machine")),
    field<&HistoryReading::limit>({.name = "limit",
                                   .kind = ColumnKind::kBytes,
                                   .sentence = "That limit, or the machine's memory"}),
    field<&HistoryReading::resident>(history_bytes("resident", "Resident memory of the process")),
    field<&HistoryReading::total>(history_bytes("total", "erlang:memory(total)")),
    field<&HistoryReading::processes_memory>(
        history_bytes("processes_memory", "erlang:memory(processes)")),
    field<&HistoryReading::system>(history_bytes("system", "erlang:memory(system)")),
    field<&HistoryReading::binary>(history_bytes("binary", "erlang:memory(binary)")),
    field<&HistoryReading::code>(history_bytes("code", "erlang:memory(code)")),
    field<&HistoryReading::ets>(history_bytes("ets", "erlang:memory(ets)")),
    field<&HistoryReading::processes>(history_count("processes", "Processes of the node")),
    field<&HistoryReading::ports>(history_count("ports", "Ports of the node")),
    field<&HistoryReading::atoms>(history_count("atoms", "Atoms of the node")),
    field<&HistoryReading::run_queue>(
        history_count("run_queue", "Processes in the run queues of all normal schedulers")),
    field<&HistoryReading::processor>(
        {.name = "processor",
         .title = "processor",
         .kind = ColumnKind::kTenths,
         .sentence =
             "Processor time of all threads since the reading before, with busy waiting, in "
             "tenths of a percent of one processor"}),
    field<&HistoryReading::pressure>(
        {.name = "pressure",
         .title = "pressure",
         .kind = ColumnKind::kTenths,
         .sentence = "Of the last 10 s, when something waited for memory, in tenths of a percent"}),
    field<&HistoryReading::limit_reached>(history_count(
        "limit_reached", "How often the cgroup was about to exceed its memory limit")),
    field<&HistoryReading::oom_kills>(history_count(
        "oom_kills", "Processes that the kernel has ended for memory in the cgroup"))};
constexpr auto kReadingColumns = columns_of(kReadingFields);

constexpr std::array kSeenFields = {
    field<&HistoryProcess::at_us>(kReadAt),
    field<&HistoryProcess::pid>({.name = "pid", .title = "PID", .kind = ColumnKind::kTextOfAll}),
    field<&HistoryProcess::name>(
        {.name = "name", .title = "NAME", .shrinks = true, .sentence = "Its registered name"}),
    field<&HistoryProcess::initial_call>({.name = "initial_call",
                                          .title = "INITIAL CALL",
                                          .shrinks = true,
                                          .sentence = "The translated one where there is one"}),
    field<&HistoryProcess::heap>(
        {.name = "heap",
         .title = "HEAP",
         .kind = ColumnKind::kBytes,
         .sentence = "Its heaps with the stack, and heap fragments, in bytes"}),
    field<&HistoryProcess::messages>({.name = "messages",
                                      .title = "MESSAGES",
                                      .kind = ColumnKind::kCount,
                                      .sentence = "Messages in its queues"})};
constexpr auto kSeenColumns = columns_of(kSeenFields);

constexpr std::array kFunctionFields = {
    field<&HistoryFunction::at_us>(
        {.name = "at_us",
         .kind = ColumnKind::kId,
         .sentence = "When the profile began: microseconds since the Unix epoch"}),
    field<&HistoryFunction::took_us>({.name = "took_us",
                                      .kind = ColumnKind::kSpan,
                                      .sentence = "How long the profile took, in microseconds"}),
    field<&HistoryFunction::rate>({.name = "rate",
                                   .kind = ColumnKind::kSpan,
                                   .sentence = "Samples a second of each thread's processor time"}),
    field<&HistoryFunction::function>({.name = "function", .title = "FUNCTION", .shrinks = true}),
    field<&HistoryFunction::self>(
        {.name = "self",
         .title = "SELF",
         .kind = ColumnKind::kCount,
         .sentence = "Samples in the function or in native code that it called"}),
    field<&HistoryFunction::total>({.name = "total",
                                    .title = "TOTAL",
                                    .kind = ColumnKind::kCount,
                                    .sentence = "Samples in it or in what it called"})};
constexpr auto kFunctionColumns = columns_of(kFunctionFields);

template <typename Value>
std::optional<std::uint64_t> number_if(bool has, Value value) {
    return has ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

HistoryReading reading_of(const records::HistoryReading& record) {
    HistoryReading reading;
    reading.at_us = static_cast<std::uint64_t>(record.at_us());
    reading.memory = number_if(record.has_used_bytes(), record.used_bytes());
    reading.limit = number_if(record.has_limit_bytes(), record.limit_bytes());
    reading.resident = number_if(record.has_resident_bytes(), record.resident_bytes());
    reading.total = number_if(record.has_total_bytes(), record.total_bytes());
    reading.processes_memory = number_if(record.has_processes_bytes(), record.processes_bytes());
    reading.system = number_if(record.has_system_bytes(), record.system_bytes());
    reading.binary = number_if(record.has_binary_bytes(), record.binary_bytes());
    reading.code = number_if(record.has_code_bytes(), record.code_bytes());
    reading.ets = number_if(record.has_ets_bytes(), record.ets_bytes());
    reading.processes = number_if(record.has_processes(), record.processes());
    reading.ports = number_if(record.has_ports(), record.ports());
    reading.atoms = number_if(record.has_atoms(), record.atoms());
    reading.run_queue = number_if(record.has_run_queue(), record.run_queue());
    reading.pressure = number_if(record.has_pressure_tenths(), record.pressure_tenths());
    reading.limit_reached = number_if(record.has_limit_reached(), record.limit_reached());
    reading.oom_kills = number_if(record.has_oom_kills(), record.oom_kills());
    return reading;
}

/// The processor time between two readings. A clock that was set back gives no difference.
std::optional<std::uint64_t> processor_between(const records::HistoryReading& before,
                                               const records::HistoryReading& now) {
    constexpr std::uint64_t kTenthsOfAWhole = 1000;
    constexpr std::uint64_t kMicroseconds = 1000;
    if (!before.has_processor_ms() || !now.has_processor_ms() ||
        now.processor_ms() < before.processor_ms() || now.at_us() <= before.at_us()) {
        return std::nullopt;
    }
    const auto passed =
        static_cast<std::uint64_t>(now.at_us()) - static_cast<std::uint64_t>(before.at_us());
    const auto used = now.processor_ms() - before.processor_ms();
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    return used < kMost ? std::optional(used * kMicroseconds * kTenthsOfAWhole / passed)
                        : std::nullopt;
}

/// The change from the first to the last of those that have a value.
std::optional<std::uint64_t> growth_of(const std::vector<HistoryProcess>& seen,
                                       std::optional<std::uint64_t> HistoryProcess::* member) {
    std::optional<std::uint64_t> first;
    std::optional<std::uint64_t> last;
    for (const auto& one : seen) {
        if (one.*member) {
            first = first ? first : one.*member;
            last = one.*member;
        }
    }
    return first && last && *last > *first ? std::optional(*last - *first) : std::nullopt;
}

/// A process that the kernel has ended takes up to this long to be gone; a reading in that time
/// counts its end already.
constexpr std::uint64_t kDyingUs = 1'000'000;

/// What the last reading counted that was not made in that time, else the first. One from after the
/// end (the clock was set back) is not of that time either.
std::optional<std::uint64_t> oom_kills_before(const std::vector<HistoryReading>& readings,
                                              std::uint64_t ended_us) {
    std::optional<std::uint64_t> counted;
    for (auto reading = readings.rbegin(); reading != readings.rend(); ++reading) {
        counted = reading->oom_kills ? reading->oom_kills : counted;
        const bool dying = reading->at_us <= ended_us && ended_us - reading->at_us < kDyingUs;
        if (counted && !dying) {
            break;
        }
    }
    return counted;
}

/// Puts pages together.
class HistoryCollector {
  public:
    HistoryCollector(Dump& dump, History& history) : dump_(dump), history_(history) {}

    Result<void> add(const records::History& page) {
        for (const auto& profile : page.profile()) {
            RETURN_IF_ERROR(add(profile));
        }
        for (const auto& record : page.reading()) {
            auto reading = reading_of(record);
            if (last_) {
                reading.processor = processor_between(*last_, record);
            }
            history_.readings.push_back(reading);
            if (record.has_scan()) {
                add(record.scan());
            }
            last_ = record;
            last_->clear_scan();
        }
        const auto end = [](bool has, std::int64_t time, std::optional<std::uint64_t>& into) {
            into = has ? static_cast<std::uint64_t>(time) : into;
        };
        end(page.has_node_ended_us(), page.node_ended_us(), history_.node_ended_us);
        end(page.has_watcher_ended_us(), page.watcher_ended_us(), history_.watcher_ended_us);
        if (history_.node_ended_us && page.has_oom_kills_at_end()) {
            const auto before = oom_kills_before(history_.readings, *history_.node_ended_us);
            if (before && page.oom_kills_at_end() >= *before) {
                history_.oom_kills_at_end = page.oom_kills_at_end() - *before;
            }
        }
        return {};
    }

  private:
    Result<void> add(const records::Samples& samples) {
        ASSIGN_OR_RETURN(const auto report, profile_of(dump_, samples));
        auto& profile = history_.profiles.emplace_back(HistoryProfile{
            .at_us = static_cast<std::uint64_t>(report.began_us),
            .took_us = static_cast<std::uint64_t>(std::max<std::int64_t>(report.took_ns, 0)) / 1000,
            .rate = report.rate,
            .samples = report.profile.samples(),
            .lost = report.lost,
            .left_out = samples.time().left_out()});
        for (const auto& [function, count] : sorted_functions(report.profile.functions())) {
            profile.functions.push_back({.at_us = profile.at_us,
                                         .took_us = profile.took_us,
                                         .rate = profile.rate,
                                         .function = function,
                                         .self = count.self,
                                         .total = count.total});
        }
        return {};
    }

    void add(const records::HistoryScan& scan) {
        const auto at = static_cast<std::uint64_t>(scan.began_us());
        history_.scans_us.push_back(at);
        for (const auto& record : scan.process()) {
            const auto [place, is_new] =
                places_.try_emplace(record.owner_id(), history_.processes.size());
            if (is_new) {
                history_.processes.push_back({.pid = pid_text(record.owner_id())});
            }
            auto& process = history_.processes[place->second];
            if (record.has_registered_name_atom()) {
                process.name = atom_text(dump_, record.registered_name_atom());
            }
            if (record.has_initial_call()) {
                process.initial_call = mfa_text(dump_, record.initial_call());
            }
            if (is_new && history_.scans_us.size() > 1) {
                add_before(record, process);
            }
            process.seen.push_back(
                {.at_us = at,
                 .pid = process.pid,
                 .name = process.name,
                 .initial_call = process.initial_call,
                 .heap = number_if(record.has_heap_bytes(), record.heap_bytes()),
                 .messages = number_if(record.has_messages(), record.messages())});
        }
    }

    /// What a process had in the reading before, in which it was not among the first.
    void add_before(const records::HistoryProcess& record, HistoryOfProcess& process) {
        const auto before = [](std::optional<std::uint64_t> now, bool has, std::int64_t growth) {
            return has && now ? std::optional(*now - static_cast<std::uint64_t>(growth))
                              : std::nullopt;
        };
        HistoryProcess seen{.at_us = history_.scans_us.end()[-2],
                            .pid = process.pid,
                            .name = process.name,
                            .initial_call = process.initial_call};
        seen.heap = before(number_if(record.has_heap_bytes(), record.heap_bytes()),
                           record.has_heap_bytes_growth(), record.heap_bytes_growth());
        seen.messages = before(number_if(record.has_messages(), record.messages()),
                               record.has_messages_growth(), record.messages_growth());
        if (seen.heap || seen.messages) {
            process.seen.push_back(std::move(seen));
        }
    }

    Dump& dump_;
    History& history_;
    std::optional<records::HistoryReading> last_;
    std::unordered_map<std::uint64_t, std::size_t> places_;  // in history_.processes, by owner
};

}  // namespace

std::optional<std::uint64_t> HistoryOfProcess::heap_growth() const {
    return growth_of(seen, &HistoryProcess::heap);
}

std::optional<std::uint64_t> HistoryOfProcess::messages_growth() const {
    return growth_of(seen, &HistoryProcess::messages);
}

std::span<const Field<HistoryReading>> history_fields() {
    return kReadingFields;
}

std::span<const Field<HistoryProcess>> history_process_fields() {
    return kSeenFields;
}

std::span<const Field<HistoryFunction>> history_function_fields() {
    return kFunctionFields;
}

std::span<const Column> history_columns() {
    return kReadingColumns;
}

std::span<const Column> history_process_columns() {
    return kSeenColumns;
}

std::span<const Column> history_function_columns() {
    return kFunctionColumns;
}

Result<History> read_history(Dump& dump, const std::string& file) {
    History history;
    history.dump = dump_facts(dump, file);
    history.recording = dump.capture().mode() == records::CAPTURE_MODE_RECORDING;
    history.os_pid = number_if(dump.capture().has_os_pid(), dump.capture().os_pid());
    HistoryCollector collector(dump, history);
    for (const auto offset : dump.trailer().history_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::History>(
                                              offset, format::RecordKind::kHistory));
        RETURN_IF_ERROR(collector.add(page));
    }
    if (history.readings.empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no readings: dumps of beamdump-watch have them, and its "
                    "recordings (*.recording)");
    }
    // How much time has passed there is not known.
    for (const auto& found : breaks_of(history)) {
        history.readings[found.reading].processor.reset();
    }
    return history;
}

std::vector<HistoryBreak> breaks_of(const History& history) {
    constexpr std::uint64_t kLeastGap = 10'000'000;
    constexpr std::uint64_t kTimesAsLong = 10;
    std::vector<HistoryBreak> steps;
    std::vector<std::uint64_t> forward;
    for (std::size_t at = 1; at < history.readings.size(); ++at) {
        const auto& step =
            steps.emplace_back(history.readings[at - 1].at_us, history.readings[at].at_us, at);
        if (!step.set_back()) {
            forward.push_back(step.at_us - step.after_us);
        }
    }
    auto gap = kLeastGap;
    if (!forward.empty()) {
        const auto middle = forward.begin() + static_cast<std::ptrdiff_t>(forward.size() / 2);
        std::ranges::nth_element(forward, middle);
        gap = std::max(gap, kTimesAsLong * *middle);
    }
    std::erase_if(steps, [gap](const HistoryBreak& step) {
        return !step.set_back() && step.at_us - step.after_us <= gap;
    });
    return steps;
}

std::vector<HistoryOfFunction> functions_of(const History& history, std::size_t last) {
    constexpr double kTenthsOfAWhole = 1000;
    constexpr double kMicroseconds = 1e6;
    struct Taken {
        double self = 0, last = 0, total = 0;  // microseconds of processor time
    };
    const auto tenths = [](double taken, double time) {
        constexpr double kMost = 1e15;
        return time > 0
                   ? static_cast<std::uint64_t>(std::min(kTenthsOfAWhole * taken / time, kMost))
                   : 0;
    };
    std::vector<HistoryOfFunction> functions;
    std::vector<Taken> taken;
    std::unordered_map<std::string, std::size_t> places;
    double time = 0;
    double last_time = 0;
    for (std::size_t at = 0; at < history.profiles.size(); ++at) {
        const auto& profile = history.profiles[at];
        const bool is_last = at + last >= history.profiles.size();
        time += static_cast<double>(profile.took_us);
        last_time += is_last ? static_cast<double>(profile.took_us) : 0;
        for (const auto& function : profile.functions) {
            const auto [place, is_new] = places.try_emplace(function.function, functions.size());
            if (is_new) {
                functions.push_back({.function = function.function});
                taken.emplace_back();
            }
            const auto of_a_sample = kMicroseconds / static_cast<double>(profile.rate);
            const auto self = static_cast<double>(function.self) * of_a_sample;
            auto& sum = taken[place->second];
            sum.self += self;
            sum.last += is_last ? self : 0;
            sum.total += static_cast<double>(function.total) * of_a_sample;
            functions[place->second].over_time.emplace_back(
                profile.at_us, tenths(self, static_cast<double>(profile.took_us)));
        }
    }
    for (std::size_t at = 0; at < functions.size(); ++at) {
        functions[at].self = tenths(taken[at].self, time);
        functions[at].last = tenths(taken[at].last, last_time);
        functions[at].total = tenths(taken[at].total, time);
    }
    std::ranges::stable_sort(functions, std::ranges::greater(), [](const auto& function) {
        return std::pair(std::max(function.self, function.last), function.total);
    });
    return functions;
}

std::optional<History> history_from(History history, std::uint64_t at_us) {
    const auto is_before = [at_us](const auto& one) { return one.at_us < at_us; };
    std::erase_if(history.readings, is_before);
    std::erase_if(history.profiles, is_before);
    std::erase_if(history.scans_us, [at_us](std::uint64_t scan) { return scan < at_us; });
    for (auto& process : history.processes) {
        std::erase_if(process.seen, is_before);
    }
    std::erase_if(history.processes, [](const auto& process) { return process.seen.empty(); });
    return history.readings.size() > 1 ? std::optional(std::move(history)) : std::nullopt;
}

Result<RowList> list_history(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kReadingColumns, query));
    ASSIGN_OR_RETURN(const auto history, read_history(dump, {}));
    for (const auto& reading : history.readings) {
        list.add(row_of(kReadingFields, reading));
    }
    return list;
}

Result<RowList> list_history_processes(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kSeenColumns, query));
    ASSIGN_OR_RETURN(const auto history, read_history(dump, {}));
    for (const auto& process : history.processes) {
        for (const auto& seen : process.seen) {
            list.add(row_of(kSeenFields, seen));
        }
    }
    return list;
}

Result<RowList> list_history_functions(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kFunctionColumns, query));
    ASSIGN_OR_RETURN(const auto history, read_history(dump, {}));
    for (const auto& profile : history.profiles) {
        for (const auto& function : profile.functions) {
            list.add(row_of(kFunctionFields, function));
        }
    }
    return list;
}

}  // namespace beamdump::query
