#include "query/activity/schedulers.h"

#include "query/activity/registered_names.h"
#include "query/node/sections.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <array>
#include <map>

namespace beamdump::query {

namespace {

/// The columns' places in a row.
struct In {
    enum Place : std::uint8_t {
        kKind,
        kScheduler,
        kState,
        kOnline,
        kProcess,
        kName,
        kPort,
        kQueue,
        kMax,
        kHigh,
        kNormal,
        kLow,
        kPorts,
        kPlaces
    };
};

constexpr std::array<Column, In::kPlaces> kSchedulerColumns = {
    {{"kind", "KIND"},
     {"scheduler", "SCHEDULER", ColumnKind::kId},
     {"state", "STATE"},
     {"online", "", ColumnKind::kFlag},
     {"process", "PROCESS"},
     {"name", "NAME", ColumnKind::kText, true},
     {"port", "PORT"},
     {"queue", "QUEUE", ColumnKind::kCountIfAny},
     {"max", "MAX", ColumnKind::kCountIfAny},
     {"high", "HIGH", ColumnKind::kCountIfAny},
     {"normal", "NORMAL", ColumnKind::kCountIfAny},
     {"low", "LOW", ColumnKind::kCountIfAny},
     {"ports", "PORTS", ColumnKind::kCountIfAny}}};

/// erl_vm.h: at most 1,024 of each of the three kinds.
constexpr std::size_t kMost = 4096;

constexpr std::array<std::string_view, 4> kKinds = {"unknown", "normal", "dirty_cpu", "dirty_io"};

std::string_view kind_text(records::SchedulerKind kind) {
    const auto at = static_cast<std::size_t>(kind);
    return at < kKinds.size() ? kKinds.at(at) : kKinds.front();
}

/// A scheduler's state where all of it is known.
Cell state_of(std::optional<bool> busy, std::optional<bool> sleeping,
              std::optional<bool> suspended) {
    if (!busy || !sleeping || !suspended) {
        return {};
    }
    return std::string(*busy        ? "running"
                       : *suspended ? "suspended"
                       : *sleeping  ? "sleeping"
                                    : "awake");
}

/// Rows of a capture's records.
class Recorded {
  public:
    /// kCorrupt: more of them than a node can have.
    Result<void> take(const records::Schedulers& page) {
        if (schedulers_.size() + page.scheduler().size() > kMost ||
            queues_.size() + page.run_queue().size() > kMost) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("the dump has over {} schedulers or run queues", kMost));
        }
        for (const auto& scheduler : page.scheduler()) {
            schedulers_.push_back(scheduler);
            ++counts_[scheduler.kind()];
        }
        queues_.insert(queues_.end(), page.run_queue().begin(), page.run_queue().end());
        return {};
    }

    void rows(const std::function<void(Row)>& add) {
        std::map<std::uint32_t, const records::RunQueue*> own;
        for (const auto& queue : queues_) {
            if (queue.has_number()) {
                own.emplace(queue.number(), &queue);
            }
        }
        for (const auto& scheduler : schedulers_) {
            auto row = row_of(scheduler);
            if (scheduler.kind() == records::SCHEDULER_KIND_NORMAL) {
                if (const auto queue = own.find(scheduler.number()); queue != own.end()) {
                    put(*queue->second, row);
                }
            }
            add(std::move(row));
        }
        for (const auto& queue : queues_) {
            if (!queue.has_number()) {
                Row row(In::kPlaces);
                row[In::kKind] = fmt::format("{}_queue", kind_text(queue.kind()));
                put(queue, row);
                add(std::move(row));
            }
        }
    }

  private:
    Row row_of(const records::Scheduler& scheduler) {
        Row row(In::kPlaces);
        row[In::kKind] = std::string(kind_text(scheduler.kind()));
        if (scheduler.has_number()) {
            if (const auto before = numbers_before(scheduler.kind())) {
                row[In::kScheduler] = *before + scheduler.number();
            }
        }
        const auto known = [](bool has, bool value) {
            return has ? std::optional(value) : std::nullopt;
        };
        row[In::kState] = state_of(known(scheduler.has_busy(), scheduler.busy()),
                                   known(scheduler.has_sleeping(), scheduler.sleeping()),
                                   known(scheduler.has_suspended(), scheduler.suspended()));
        if (scheduler.has_suspended()) {
            row[In::kOnline] = !scheduler.suspended();
        }
        if (scheduler.has_current_owner_id()) {
            row[In::kProcess] = pid_text(scheduler.current_owner_id());
        }
        if (scheduler.has_current_port_number()) {
            row[In::kPort] = fmt::format("#Port<0.{}>", scheduler.current_port_number());
        }
        return row;
    }

    /// Schedulers of the kinds before, whose numbers come first; nothing if those are not known.
    std::optional<std::uint64_t> numbers_before(records::SchedulerKind kind) {
        std::uint64_t before = 0;
        for (const auto other : {records::SCHEDULER_KIND_NORMAL, records::SCHEDULER_KIND_DIRTY_CPU,
                                 records::SCHEDULER_KIND_DIRTY_IO}) {
            if (other == kind) {
                return before;
            }
            if (counts_[other] == 0) {
                return std::nullopt;
            }
            before += counts_[other];
        }
        return std::nullopt;
    }

    static void put(const records::RunQueue& queue, Row& row) {
        const auto number = [&](In::Place place, bool has, std::uint32_t value) {
            if (has) {
                row[place] = std::uint64_t{value};
            }
        };
        number(In::kQueue, queue.has_length(), queue.length());
        number(In::kMax, queue.has_max_length(), queue.max_length());
        number(In::kHigh, queue.has_high_length(), queue.high_length());
        number(In::kNormal, queue.has_normal_length(), queue.normal_length());
        number(In::kLow, queue.has_low_length(), queue.low_length());
        number(In::kPorts, queue.has_port_length(), queue.port_length());
    }

    std::vector<records::Scheduler> schedulers_;
    std::vector<records::RunQueue> queues_;
    std::map<records::SchedulerKind, std::uint64_t> counts_;
};

/// A scheduler's or run queue's section (erts_print_scheduler_info(), erl_process.c, OTP 25 to 29).
class Section {
  public:
    void begin(std::string_view tag, std::string_view argument) {
        *this = Section();
        if (tag.ends_with("_run_queue")) {
            row_[In::kKind] = std::string(tag.substr(0, tag.size() - 9)) + "queue";
            return;
        }
        const auto kind = tag.substr(0, tag.find("scheduler"));
        row_[In::kKind] = kind.empty() ? "normal" : std::string(kind.substr(0, kind.size() - 1));
        if (const auto number = decimal_number(argument)) {
            row_[In::kScheduler] = *number;
        }
    }

    void line(const SectionLine& line) {
        if (!line.name) {
            return;
        }
        constexpr std::array<std::pair<std::string_view, In::Place>, 5> kLengths = {
            {{"Run Queue Max Length", In::kMax},
             {"Run Queue High Length", In::kHigh},
             {"Run Queue Normal Length", In::kNormal},
             {"Run Queue Low Length", In::kLow},
             {"Run Queue Port Length", In::kPorts}}};
        if (*line.name == "Scheduler Sleep Info Flags") {
            const auto has = [&](std::string_view flag) {
                return line.value.find(flag) != std::string_view::npos;
            };
            sleeping_ = has("SLEEPING") || has("WAITING");
            suspended_ = has("SUSPENDED");
            row_[In::kOnline] = !*suspended_;
        } else if (*line.name == "Current Port") {
            busy_ = busy_ || !line.value.empty();
            text(In::kPort, line.value);
        } else if (*line.name == "Current Process") {
            has_process_line_ = true;
            busy_ = busy_ || !line.value.empty();
            text(In::kProcess, line.value);
        } else {
            for (const auto& [name, place] : kLengths) {
                if (*line.name == name) {
                    length(place, line.value);
                }
            }
        }
    }

    Row end() {
        row_[In::kState] = state_of(has_process_line_ ? std::optional(busy_) : std::nullopt,
                                    sleeping_, suspended_);
        if (lengths_ == 5) {
            row_[In::kQueue] = sum_;
        }
        return std::move(row_);
    }

  private:
    void text(In::Place place, std::string_view value) {
        if (!value.empty()) {
            row_[place] = std::string(value);
        }
    }
    void length(In::Place place, std::string_view value) {
        const auto number = decimal_number(value);
        if (number && *number <= UINT32_MAX &&
            std::holds_alternative<std::monostate>(row_[place])) {
            row_[place] = *number;
            sum_ += *number;
            ++lengths_;
        }
    }

    Row row_ = Row(In::kPlaces);
    std::optional<bool> sleeping_, suspended_;
    bool busy_ = false;
    bool has_process_line_ = false;
    int lengths_ = 0;
    std::uint64_t sum_ = 0;
};

Result<void> schedulers_of_crash_dump(Dump& dump, const std::string& file,
                                      const std::function<void(Row)>& add) {
    static constexpr std::array<std::string_view, 5> kTags = {
        "scheduler", "dirty_cpu_scheduler", "dirty_io_scheduler", "dirty_cpu_run_queue",
        "dirty_io_run_queue"};
    ASSIGN_OR_RETURN(auto sections, SectionListing::open(dump, file, {}));
    Section section;
    return sections->show_kinds(
        kTags,
        {[&](std::string_view tag, std::string_view argument) { section.begin(tag, argument); },
         [&](const SectionLine& line) { section.line(line); }, [&] { add(section.end()); }});
}

}  // namespace

std::span<const Column> scheduler_columns() {
    return kSchedulerColumns;
}

Result<RowList> list_schedulers(Dump& dump, const std::string& file, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kSchedulerColumns, query));
    ASSIGN_OR_RETURN(const auto names, registered_names(dump));
    const auto add = [&](Row row) {
        if (const auto name = names.find(cell_text(row[In::kProcess])); name != names.end()) {
            row[In::kName] = name->second;
        }
        list.add(std::move(row));
    };
    if (is_of_crash_dump(dump)) {
        RETURN_IF_ERROR(schedulers_of_crash_dump(dump, file, add));
        return list;
    }
    if (dump.trailer().schedulers_offset().empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no schedulers: it was captured by an older version, or they "
                    "could not be read (the warnings of summary tell)");
    }
    Recorded recorded;
    for (const auto offset : dump.trailer().schedulers_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Schedulers>(
                                              offset, format::RecordKind::kScheduler));
        RETURN_IF_ERROR(recorded.take(page));
    }
    recorded.rows(add);
    return list;
}

}  // namespace beamdump::query
