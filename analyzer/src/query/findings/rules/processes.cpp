#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/behaviour_state.h"
#include "query/process/process_details.h"
#include "query/processes/process_groups.h"
#include "query/term/term_view.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/redaction.h>
#include <libdump/term/term_scheme.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

// Rules about processes: restarts, work, memory.

namespace beamdump::query {

namespace {

/// A child that failed once or twice has been helped by that.
constexpr std::uint64_t kManyRestarts = 3;
/// How long after the period the last restart may be, for restarts that are still going on.
constexpr std::int64_t kRecentSeconds = 60;
/// erlang:monotonic_time(second) as a node starts (erl_time_sup.c, on 64-bit systems; asked of OTP
/// 25.2.3, 27.3.4 and 29.1.1).
constexpr std::int64_t kMonotonicBegin = -576'460'752;

struct Restarts {
    ProcessLine line;
    std::uint64_t count = 0;
    std::int64_t allowed = 0;
    std::int64_t period = 0;  ///< seconds
    std::int64_t last = 0;    ///< in monotonic seconds
};

/// The state of a supervisor: of supervisor.erl (OTP 25.2.3 to 29.1.1) a tuple `state` with name,
/// strategy, children, dynamics, intensity, period, and the times of the restarts within the last
/// period, the newest first; of Elixir's DynamicSupervisor (1.14) a struct with the last three as
/// max_restarts, max_seconds and restarts. nullopt: it is none, or not whole.
class SupervisorState {
  public:
    explicit SupervisorState(OpenedProcess& process)
        : context_(process.context()), scheme_(process.scheme), view_(context_, scheme_) {}

    std::optional<Restarts> read(std::uint64_t state) {
        constexpr std::uint64_t kIntensity = 6;
        constexpr std::uint64_t kPeriod = 7;
        constexpr std::uint64_t kRestarts = 8;
        if (view_.arity(state) > kRestarts) {
            return restarts(view_.element(state, kIntensity), view_.element(state, kPeriod),
                            view_.element(state, kRestarts));
        }
        const auto name = value_of(state, "__struct__");
        return name && names(*name, "Elixir.DynamicSupervisor")
                   ? restarts(value_of(state, "max_restarts"), value_of(state, "max_seconds"),
                              value_of(state, "restarts"))
                   : std::nullopt;
    }

  private:
    [[nodiscard]] std::optional<Restarts> restarts(std::optional<std::uint64_t> allowed,
                                                   std::optional<std::uint64_t> seconds,
                                                   std::optional<std::uint64_t> list) const {
        const auto intensity = number(allowed);
        const auto period = number(seconds);
        if (!intensity || !period || !list) {
            return std::nullopt;
        }
        Restarts found{.line = {}, .allowed = *intensity, .period = *period};
        for (const auto most = view_.most_cells(); word_kind(scheme_, *list) != WordKind::kNil;
             ++found.count) {
            const auto cell = view_.cell(*list);
            const auto time = cell ? number(cell->first) : std::nullopt;
            if (!time || found.count == most) {
                return std::nullopt;
            }
            found.last = found.count == 0 ? *time : found.last;
            list = cell->second;
        }
        return found;
    }
    /// The value of an atom in a map of at most 32 keys, which a struct is.
    [[nodiscard]] std::optional<std::uint64_t> value_of(std::uint64_t map,
                                                        std::string_view key) const {
        if (word_kind(scheme_, map) != WordKind::kBoxed) {
            return std::nullopt;
        }
        const auto word = [&](std::uint64_t at) {
            return context_.word(pointer_of(map) + at * kWordBytes);
        };
        const auto header = word(0);
        const auto keys = header && boxed_kind(scheme_, *header) == BoxedKind::kFlatMap
                              ? word(otp25::kFlatMapKeys)
                              : Result<std::uint64_t>(fail(ErrorCode::kAbsent, ""));
        const auto count = keys ? view_.arity(*keys) : 0;
        for (std::uint64_t at = 0; at < count && at < otp25::kMaxFlatMapSize; ++at) {
            const auto name = view_.element(*keys, at + 1);
            if (name && names(*name, key)) {
                const auto value = word(otp25::kFlatMapValues + at);
                return value ? std::optional(*value) : std::nullopt;
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] bool names(std::uint64_t word, std::string_view name) const {
        const auto atom = view_.atom(word);
        return atom && context_.atom(*atom) == name;
    }
    [[nodiscard]] std::optional<std::int64_t> number(std::optional<std::uint64_t> word) const {
        return word && word_kind(scheme_, *word) == WordKind::kSmall
                   ? std::optional(small_value(*word))
                   : std::nullopt;
    }

    TermContext& context_;
    const TagScheme& scheme_;
    TermView view_;
};

/// The state of a gen_server that hibernates where its stack is dropped: erlang:hibernate/3 has
/// proc_lib, wake_up and [gen_server, wake_hib, [Parent, Name, State | _]] in x(0) to x(2)
/// (gen_server.erl, proc_lib.erl, erl_process.c; OTP 25.2.3 and 27.3.4).
Result<std::optional<std::uint64_t>> hibernated_state(OpenedProcess& process) {
    constexpr std::size_t kArguments = 3;
    constexpr std::size_t kThird = 2;
    if (!process.run.process.hibernated()) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto words, process.arguments());
    const TermView view(process.context(), process.scheme);
    const auto item = [&view](std::uint64_t list, std::size_t place) {
        auto cell = view.cell(list);
        for (; cell && place > 0; --place) {
            cell = view.cell(cell->second);
        }
        return cell ? std::optional(cell->first) : std::nullopt;
    };
    if (words.size() != kArguments) {
        return std::nullopt;
    }
    const auto module = item(words.back(), 0);
    const auto atom = module ? view.atom(*module) : std::nullopt;
    const auto wake_arguments = item(words.back(), kThird);
    return atom && process.context().atom(*atom) == "gen_server" && wake_arguments
               ? item(*wake_arguments, kThird)
               : std::nullopt;
}

Finding finding_of(NodeFacts& facts, const Restarts& restarts, std::int64_t ago) {
    Finding finding;
    finding.sentence = fmt::format(
        "{} restarted its children {} times within {} s, the last time {} s before the dump: their "
        "work fails again and again. After more than {} it gives up.",
        process_with_name(restarts.line), count_text(restarts.count), restarts.period,
        std::max<std::int64_t>(ago, 0), restarts.allowed);
    finding.command = facts.command("term", {pid_word(restarts.line), "state"});
    finding.figures = {{"restarts", restarts.count},
                       {"allowed", static_cast<std::uint64_t>(restarts.allowed)},
                       {"period_s", static_cast<std::uint64_t>(restarts.period)},
                       {"process", restarts.line.pid}};
    return finding;
}

}  // namespace

/// Supervisors whose children fail now.
Result<RuleAnswer> restart_loop_rule(NodeFacts& facts) {
    if (!form_of(facts.dump()).behaviours) {
        return fail(ErrorCode::kNotFound,
                    "a crash dump does not tell which processes are supervisors");
    }
    ASSIGN_OR_RETURN(const auto redaction, redaction_of(facts.dump().reader()));
    if (redaction) {
        return fail(ErrorCode::kNotFound,
                    "the dump is redacted: the states of supervisors may be hidden");
    }
    const auto& node = facts.dump().node();
    const auto& capture = facts.dump().capture();
    if (!node.has_boot_us() || !capture.has_started_us()) {
        return fail(ErrorCode::kNotFound, "the dump does not tell how long the node has run");
    }
    constexpr std::int64_t kMicroseconds = 1'000'000;
    const auto now = kMonotonicBegin + (capture.started_us() - node.boot_us()) / kMicroseconds;
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    std::vector<Restarts> looping;
    std::uint64_t known = 0;
    ASSIGN_OR_RETURN(
        const auto read,
        visit_processes(
            facts.dump(), {.sensitive = true, .rows = scan->supervisors.rows},
            [&](OpenedProcess& process) -> Result<void> {
                ASSIGN_OR_RETURN(const auto state, behaviour_state(facts.dump(), process));
                ASSIGN_OR_RETURN(const auto asleep, hibernated_state(process));
                const auto word = state ? std::optional(state->word) : asleep;
                auto restarts = word ? SupervisorState(process).read(*word) : std::nullopt;
                known += restarts ? 1 : 0;
                if (restarts && restarts->count >= kManyRestarts &&
                    now - restarts->last <= restarts->period + kRecentSeconds) {
                    restarts->line = process.line;
                    looping.push_back(std::move(*restarts));
                }
                return {};
            }));
    facts.tell_read(read);
    RuleAnswer answer;
    if (!scan->supervisors.all() || known != read.read) {
        answer.left_out = fmt::format("the restarts of {} of {} supervisors were looked at",
                                      count_text(known), count_text(scan->supervisors.count));
    }
    if (const auto unknown = read.read - known; unknown != 0) {
        *answer.left_out += fmt::format("; the {} of {} not known, as of one that starts a child",
                                        unknown == 1 ? "state" : "states",
                                        unknown == 1 ? "1 is" : count_text(unknown) + " are");
    }
    std::ranges::stable_sort(looping, std::greater(), &Restarts::count);
    looping.resize(std::min<std::size_t>(looping.size(), kMostOfARule));
    for (const auto& restarts : looping) {
        answer.findings.push_back(finding_of(facts, restarts, now - restarts.last));
    }
    return answer;
}

namespace {

/// A share of the reductions of all processes. Servers under load share their work between many.
constexpr std::uint64_t kMostOfTheWork = 60;
/// A processor's work of half a minute to some minutes: what starts a node has done less.
constexpr std::uint64_t kMuchWork = 10'000'000'000;

}  // namespace

Result<RuleAnswer> hot_process_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (!scan->busiest) {
        return answer;
    }
    const auto& [reductions, row] = *scan->busiest;
    const std::uint64_t share = percent_of(reductions, scan->reductions);
    if (reductions < kMuchWork || share < kMostOfTheWork) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto line, facts.line(row));
    // What it did once is no problem of now.
    if (line.status != "running" && line.status != "runnable") {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format(
        "{}% of the reductions of all processes ({} of {}) are those of one process, {}, which is "
        "{}.",
        share, count_text(reductions), count_text(scan->reductions), process_with_name(line),
        *line.status);
    finding.command = facts.command("backtrace", {pid_word(line)});
    finding.figures = {{"reductions", reductions},
                       {"all_reductions", scan->reductions},
                       {"share_percent", share},
                       {"process", line.pid}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// As much as all others together.
constexpr std::uint64_t kMostOfTheMemory = 50;

Result<RuleAnswer> process_memory_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (scan->largest.empty()) {
        return answer;
    }
    const auto& [bytes, row] = scan->largest.front();
    const std::uint64_t share = percent_of(bytes, scan->memory_bytes);
    if (bytes < kLargeBytes || share < kMostOfTheMemory) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto line, facts.line(row));
    Finding finding;
    finding.sentence =
        fmt::format("{}% of the memory of processes ({} of {}) is that of one process, {}.", share,
                    bytes_text(bytes), bytes_text(scan->memory_bytes), process_with_name(line));
    // The dump has of a void process only what its structure says.
    if (line.void_reason) {
        finding.sentence += " The dump does not have its memory.";
    }
    finding.command = facts.command(line.void_reason ? "process" : "heap", {pid_word(line)});
    finding.figures = {{"memory_bytes", bytes},
                       {"all_memory_bytes", scan->memory_bytes},
                       {"share_percent", share},
                       {"process", line.pid}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

namespace {

/// More than a server with all of its applications has of any kind while it is idle: RabbitMQ and
/// ejabberd have 400 processes.
constexpr std::uint64_t kManyOfAKind = 1000;
constexpr std::uint64_t kMostOfThem = 50;
/// What all processes have that were spawned with a fun, or by proc_lib, of which a crash dump does
/// not tell what it started: it tells nothing of what they are for.
constexpr std::array<std::string_view, 3> kOfAnyPurpose = {"erlang:apply/2", "proc_lib:init_p/3",
                                                           "proc_lib:init_p/5"};

/// The function that most processes with that initial call are in.
Result<std::optional<GroupLine>> most_are_in(NodeFacts& facts, const std::string& initial_call) {
    GroupsOptions options;
    options.by = GroupBy::kCurrentFunction;
    options.sort = GroupSort::kCount;
    options.limit = 1;
    ASSIGN_OR_RETURN(auto filter, parse_filter("initial_call=" + initial_call));
    options.filters = {std::move(filter)};
    ASSIGN_OR_RETURN(auto groups, process_groups(facts.dump(), facts.file(), options));
    return groups.groups.empty() ? std::nullopt : std::optional(std::move(groups.groups.front()));
}

}  // namespace

Result<RuleAnswer> process_kind_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    const std::uint64_t share = percent_of(scan->kind_processes, scan->processes);
    if (!scan->kind || scan->kind_processes < kManyOfAKind || share < kMostOfThem) {
        return answer;
    }
    const auto name = mfa_text(facts.dump(), *scan->kind).value_or("?");
    const bool tells_nothing = std::ranges::find(kOfAnyPurpose, name) != kOfAnyPurpose.end();
    ASSIGN_OR_RETURN(const auto place, tells_nothing ? most_are_in(facts, name) : std::nullopt);
    Finding finding;
    finding.sentence = fmt::format(
        "{} of {} processes ({}%) are of one kind, {}{}, with {}.",
        count_text(scan->kind_processes), count_text(scan->processes), share, name,
        place
            ? fmt::format(", {} of them in {}", count_text(place->count), place->name.value_or("?"))
            : std::string(),
        bytes_text(scan->kind_bytes));
    finding.command = place ? facts.command("processes", {"--group-by", "current_function",
                                                          "--filter", "initial_call=" + name})
                            : facts.command("processes", {"--group-by", "initial_call"});
    finding.figures = {{"processes", scan->kind_processes},
                       {"all_processes", scan->processes},
                       {"share_percent", share},
                       {"memory_bytes", scan->kind_bytes},
                       {"initial_call", name}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

namespace {

/// Dictionaries hold a handful of an application's settings; what has thousands grows.
constexpr std::uint64_t kManyEntries = 10'000;
/// Words of an entry at least: a slot, and a tuple of key and value.
constexpr std::uint64_t kLeastBytes = kManyEntries * 4 * 8;

using Sized = std::pair<std::uint64_t, ProcessLine>;

void add_if_large(const records::Process& process, ProcessLine line, std::vector<Sized>& found) {
    if (process.dictionary_entries() >= kManyEntries) {
        found.emplace_back(process.dictionary_entries(), std::move(line));
    }
}

/// Looks at the dictionaries of the largest processes.
Result<std::vector<Sized>> look_at_largest(NodeFacts& facts, const ProcessScan& scan,
                                           std::optional<std::string>& left_out) {
    std::vector<Sized> found;
    for (const auto& [bytes, number] : scan.largest) {
        if (bytes < kLeastBytes) {
            return found;
        }
        ASSIGN_OR_RETURN(const auto rows, facts.dump().processes().rows({&number, 1}));
        if (rows[0].void_reason() != records::VOID_REASON_NONE) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto process,
                         facts.dump().reader().message_at<records::Process>(
                             rows[0].begin_offset(), format::RecordKind::kProcess));
        add_if_large(process, process_line(facts.dump(), rows[0]), found);
    }
    if (scan.largest.size() == ProcessScan::kRanked) {
        left_out = fmt::format("looked at the {} largest processes only", scan.largest.size());
    }
    return found;
}

Result<std::vector<Sized>> look_at_all(NodeFacts& facts) {
    std::vector<Sized> found;
    // How many entries there are is no content of them.
    ASSIGN_OR_RETURN(
        const auto read,
        visit_processes(facts.dump(), {.sensitive = true, .progress = facts.options().progress},
                        [&found](OpenedProcess& process) -> Result<void> {
                            add_if_large(process.run.process, process.line, found);
                            return {};
                        }));
    facts.tell_read(read);
    return found;
}

}  // namespace

Result<RuleAnswer> large_dictionary_rule(NodeFacts& facts) {
    if (!form_of(facts.dump()).dictionary_sizes) {
        return fail(ErrorCode::kNotFound,
                    "a crash dump does not count the entries of dictionaries");
    }
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    ASSIGN_OR_RETURN(auto found, facts.full() ? look_at_all(facts)
                                              : look_at_largest(facts, *scan, answer.left_out));
    answer.left_to_full = answer.left_out.has_value();
    std::ranges::stable_sort(found, std::greater(), &Sized::first);
    found.resize(std::min<std::size_t>(found.size(), kMostOfARule));
    for (const auto& [entries, line] : found) {
        Finding finding;
        finding.sentence = fmt::format("A process dictionary of {} entries in {}.",
                                       count_text(entries), process_with_name(line));
        finding.command = facts.command("dictionary", {pid_word(line)});
        finding.figures = {{"entries", entries}, {"process", line.pid}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
