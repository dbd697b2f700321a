#include "query/findings/process_scan.h"

#include "query/process/process_line.h"
#include "query/processes/process_fields.h"
#include "query/waits/call_waits.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array kCalls = {std::string_view("gen:do_call/4"), std::string_view("erpc:call/5")};

/// Main loops, in which a process waits for whatever comes (gen_server.erl, gen_statem.erl,
/// gen_event.erl; OTP 25.2.3 to 29.1.1).
constexpr std::array kLoops = {
    std::string_view("gen_server:loop/4"),         std::string_view("gen_server:loop/5"),
    std::string_view("gen_server:loop/7"),         std::string_view("gen_statem:loop/3"),
    std::string_view("gen_statem:loop_receive/3"), std::string_view("gen_event:fetch_msg/6")};

/// Where a process hibernates, until a message wakes it (erl_process.c; gen_server.erl and
/// gen_statem.erl from OTP 28 on, where erlang:hibernate/0 keeps the stack; 25.2.3 to 29.1.1).
constexpr std::array kHibernations = {std::string_view("erlang:hibernate/3"),
                                      std::string_view("gen_server:loop_hibernate/4"),
                                      std::string_view("gen_statem:loop_hibernate/3")};

/// application_master.erl, mnesia_controller.erl (OTP 25.2.3 to 29.1.1).
constexpr std::array kApplicationCalls = {std::string_view("application_master:start_it/4")};
constexpr std::array kTableWaits = {std::string_view("mnesia_controller:do_wait_for_tables/2")};

/// OTP 25.2.3 to 29.1.1 (erts_literal_area_collector.erl).
constexpr std::array kLiteralCollector = {std::string_view("erts_literal_area_collector:start/0")};

using Function = std::array<std::uint64_t, 3>;

struct Kind {
    std::uint64_t processes = 0;
    std::uint64_t bytes = 0;
};

records::Mfa mfa_of(const Function& function) {
    records::Mfa mfa;
    mfa.set_module_atom(static_cast<std::uint32_t>(function[0]));
    mfa.set_function_atom(static_cast<std::uint32_t>(function[1]));
    mfa.set_arity(static_cast<std::uint32_t>(function[2]));
    return mfa;
}

using Ranking = FirstItems<ProcessScan::Ranked>;

Ranking ranking() {
    return {ProcessScan::kRanked, [](const auto& a, const auto& b) {
                return a.first != b.first ? a.first > b.first : a.second < b.second;
            }};
}

/// Whether functions are among some, by their names: each is looked up once.
class NamedFunctions {
  public:
    explicit NamedFunctions(std::span<const std::string_view> names) : names_(names) {}

    bool has(Dump& dump, const Function& function) {
        const auto [known, is_new] = known_.try_emplace(function, false);
        if (is_new) {
            const auto text = mfa_text(dump, mfa_of(function));
            known->second = text && std::ranges::find(names_, *text) != names_.end();
        }
        return known->second;
    }

  private:
    std::span<const std::string_view> names_;
    std::map<Function, bool> known_;
};

class Scan {
  public:
    Scan(Dump& dump, const std::set<std::uint64_t>& modules, std::uint64_t most_in_call)
        : dump_(dump), modules_(modules) {
        scan_.in_call.most = most_in_call;
        scan_.crowd.most = most_in_call;
        monitored_ = columns_.add(records::PROCESS_COLUMN_MONITORED);
        memory_ = columns_.add(records::PROCESS_COLUMN_MEMORY_BYTES);
        queue_ = columns_.add(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
        reductions_ = columns_.add(records::PROCESS_COLUMN_REDUCTIONS);
        status_ = columns_.add(records::PROCESS_COLUMN_STATUS);
        void_reason_ = columns_.add(records::PROCESS_COLUMN_VOID_REASON);
        translated_ = places(kTranslatedCall);
        initial_ = places({records::PROCESS_COLUMN_INITIAL_MODULE,
                           records::PROCESS_COLUMN_INITIAL_FUNCTION,
                           records::PROCESS_COLUMN_INITIAL_ARITY});
        current_ = places({records::PROCESS_COLUMN_CURRENT_MODULE,
                           records::PROCESS_COLUMN_CURRENT_FUNCTION,
                           records::PROCESS_COLUMN_CURRENT_ARITY});
    }

    Result<ProcessScan> run() {
        scan_.processes = dump_.processes().size();
        RETURN_IF_ERROR(dump_.processes().visit(
            columns_.columns(), [this](std::uint64_t row, ProcessIndex::Values values) {
                add(row, values);
                return true;
            }));
        scan_.largest = largest_.take();
        scan_.longest = longest_.take();
        const auto most = std::ranges::max_element(
            kinds_, {}, [](const auto& kind) { return kind.second.processes; });
        if (most != kinds_.end()) {
            scan_.kind = mfa_of(most->first);
            scan_.kind_processes = most->second.processes;
            scan_.kind_bytes = most->second.bytes;
        }
        return std::move(scan_);
    }

  private:
    using Places = std::array<std::size_t, 3>;

    Places places(const std::array<ColumnSet::Column, 3>& columns) {
        return {columns_.add(columns[0]), columns_.add(columns[1]), columns_.add(columns[2])};
    }

    static std::optional<Function> function(ProcessIndex::Values values, const Places& places) {
        Function found{};
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (!values[places[i]]) {
                return std::nullopt;
            }
            found[i] = *values[places[i]];
        }
        return found;
    }

    static void keep(ProcessScan::Rows& rows, std::uint64_t row) {
        ++rows.count;
        if (rows.rows.size() < rows.most) {
            rows.rows.push_back(row);
        }
    }

    void add(std::uint64_t row, ProcessIndex::Values values) {
        if (values[memory_]) {
            scan_.memory_bytes += *values[memory_];
            largest_.add({*values[memory_], row});
        }
        if (values[queue_].value_or(0) != 0) {
            longest_.add({*values[queue_], row});
        }
        if (const auto reductions = values[reductions_]) {
            scan_.reductions += *reductions;
            if (!scan_.busiest || *reductions > scan_.busiest->first) {
                scan_.busiest = {*reductions, row};
            }
        }
        if (values[status_]) {
            ++scan_.statuses[status_name(static_cast<records::ProcessStatus>(*values[status_]))];
        }
        if (values[void_reason_] == records::VOID_REASON_RUNNING ||
            values[status_] == records::PROCESS_STATUS_RUNNING) {
            keep(scan_.running, row);
        }
        if (values[reductions_] && *values[reductions_] < ProcessScan::kStartReductions &&
            is_ready(values[status_])) {
            keep(scan_.fresh, row);
        }
        const auto initial = function(values, initial_);
        if (initial && (*initial)[2] == 0 && literal_collectors_.has(dump_, *initial)) {
            scan_.literal_collector = row;
        }
        if (initial && applications_.has(dump_, *initial)) {
            keep(scan_.applications, row);
        }
        auto kind = function(values, translated_);
        if (kind && is_supervisor(*kind)) {
            keep(scan_.supervisors, row);
        }
        if (!kind) {
            kind = initial;
        }
        if (kind) {
            Kind& of = kinds_[*kind];
            ++of.processes;
            of.bytes += values[memory_].value_or(0);
        }
        if (const auto current = function(values, current_)) {
            if (modules_.contains((*current)[0])) {
                keep(scan_.in_old_code, row);
            }
            const auto arity = (*current)[2];
            if ((arity == 4 || arity == 5) && calls_.has(dump_, *current)) {
                keep(scan_.in_call, row);
            } else if (values[status_] == records::PROCESS_STATUS_WAITING &&
                       values[monitored_].value_or(0) != 0 && !loops_.has(dump_, *current)) {
                add_to_crowd(*current, row);
            }
            if (values[status_] == records::PROCESS_STATUS_WAITING) {
                for (const auto& [names, rows] :
                     {std::pair(&starts_, &scan_.starting), std::pair(&locks_, &scan_.locking),
                      std::pair(&table_waits_, &scan_.loading)}) {
                    if (names->has(dump_, *current)) {
                        keep(*rows, row);
                    }
                }
            }
            if (values[queue_].value_or(0) != 0 &&
                values[status_] == records::PROCESS_STATUS_WAITING &&
                hibernations_.has(dump_, *current)) {
                keep(scan_.asleep, row);
            }
        }
    }

    void add_to_crowd(const Function& function, std::uint64_t row) {
        auto& waiting = waiting_[function];
        if (waiting.size() == ProcessScan::kCrowd) {
            keep(scan_.crowd, row);
            return;
        }
        waiting.push_back(row);
        if (waiting.size() == ProcessScan::kCrowd) {
            for (const auto one : waiting) {
                keep(scan_.crowd, one);
            }
        }
    }

    static bool is_ready(std::optional<std::uint64_t> status) {
        return status == records::PROCESS_STATUS_RUNNABLE ||
               status == records::PROCESS_STATUS_RUNNING ||
               status == records::PROCESS_STATUS_GARBAGE_COLLECTING ||
               status == records::PROCESS_STATUS_EXITING;
    }

    /// What proc_lib started: supervisor:Module/1 (supervisor.erl, init/1).
    bool is_supervisor(const Function& function) {
        if (function[2] != 1) {
            return false;
        }
        const auto [known, is_new] = supervisors_.try_emplace(function, false);
        if (is_new) {
            const auto text = mfa_text(dump_, mfa_of(function));
            known->second = text && text->starts_with("supervisor:");
        }
        return known->second;
    }

    Dump& dump_;
    const std::set<std::uint64_t>& modules_;
    ColumnSet columns_;
    std::size_t memory_ = 0;
    std::size_t queue_ = 0;
    std::size_t reductions_ = 0;
    std::size_t status_ = 0;
    std::size_t void_reason_ = 0;
    std::size_t monitored_ = 0;
    Places translated_{};
    Places initial_{};
    Places current_{};
    ProcessScan scan_;
    Ranking largest_ = ranking();
    Ranking longest_ = ranking();
    std::map<Function, Kind> kinds_;
    /// The first of those that wait with a monitor, kCrowd at most.
    std::map<Function, std::vector<std::uint64_t>> waiting_;
    NamedFunctions calls_{kCalls};
    NamedFunctions loops_{kLoops};
    NamedFunctions hibernations_{kHibernations};
    NamedFunctions applications_{kApplicationCalls};
    NamedFunctions starts_{kStartFunctions};
    NamedFunctions locks_{kLockFunctions};
    NamedFunctions table_waits_{kTableWaits};
    NamedFunctions literal_collectors_{kLiteralCollector};
    std::map<Function, bool> supervisors_;
};

}  // namespace

bool is_in_call(const ProcessLine& line) {
    return line.current_function &&
           std::ranges::find(kCalls, *line.current_function) != kCalls.end();
}

bool is_in_loop(const ProcessLine& line) {
    return line.current_function &&
           (std::ranges::find(kLoops, *line.current_function) != kLoops.end() ||
            std::ranges::find(kHibernations, *line.current_function) != kHibernations.end());
}

Result<ProcessScan> scan_processes(Dump& dump, const std::set<std::uint64_t>& modules,
                                   std::uint64_t most_in_call) {
    auto scan = Scan(dump, modules, most_in_call).run();
    return scan ? std::move(scan) : wrap("reading the index of processes", std::move(scan.error()));
}

}  // namespace beamdump::query
