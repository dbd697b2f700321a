#include "query/things/things.h"

#include "query/activity/nodes.h"
#include "query/activity/ports.h"
#include "query/activity/schedulers.h"
#include "query/activity/sockets.h"
#include "query/activity/timers.h"
#include "query/findings/findings.h"
#include "query/findings/summary.h"
#include "query/holders/node_binaries.h"
#include "query/memory/memory.h"
#include "query/process/backtrace.h"
#include "query/process/messages.h"
#include "query/process/process_details.h"
#include "query/processes/process_groups.h"
#include "query/processes/process_tree.h"
#include "query/processes/processes.h"
#include "query/rows/cells.h"
#include "query/tables/atoms.h"
#include "query/tables/ets_tables.h"
#include "query/tables/modules.h"
#include "query/tables/persistent_terms.h"
#include "query/waits/waits.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/atom_text.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/term_printer.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace beamdump::query {

namespace {

/// Pids of the exported processes, as printed; nothing: all.
using Chosen = std::optional<std::unordered_set<std::string>>;

bool is_chosen(const Chosen& chosen, const std::string& pid) {
    return !chosen || chosen->contains(pid);
}

Result<void> visit_parents(Dump& dump, const ThingsOptions& options, const Chosen& chosen,
                           ThingVisitor& visitor) {
    TreeOptions tree;
    tree.sensitive = options.sensitive;
    tree.progress = options.progress;
    tree.limits = options.limits;
    ASSIGN_OR_RETURN(const auto parents, process_parents(dump, tree));
    RETURN_IF_ERROR(visitor.begin(parent_kind(), std::nullopt));
    for (const auto& [owner, parent] : parents.pairs) {
        std::string pid = pid_text(owner);
        if (is_chosen(chosen, pid)) {
            RETURN_IF_ERROR(
                visitor.thing(parent_kind(), {cell(std::move(pid)), cell(pid_text(parent))}));
        }
    }
    return {};
}

Result<void> visit_waits(Dump& dump, const ThingsOptions& options, const Chosen& chosen,
                         ThingVisitor& visitor) {
    WaitsOptions waits;
    waits.sensitive = options.sensitive;
    waits.progress = options.progress;
    waits.limits = options.limits;
    ASSIGN_OR_RETURN(const auto edges, waiters(dump, waits));
    RETURN_IF_ERROR(visitor.begin(wait_kind(), std::nullopt));
    for (const auto& edge : edges) {
        std::string pid = pid_text(edge.owner_id);
        if (is_chosen(chosen, pid)) {
            RETURN_IF_ERROR(
                visitor.thing(wait_kind(), {cell(std::move(pid)), cell(edge.waits_for)}));
        }
    }
    return {};
}

/// Texts of functions that stacks have: thousands of processes have the same. Memory: kMost texts.
class FunctionTexts {
  public:
    const std::string& of(Dump& dump, const FunctionName& function) {
        if (texts_.size() >= kMost) {
            texts_.clear();
        }
        const auto [known, is_new] = texts_.try_emplace(
            std::tuple(function.module_atom, function.function_atom, function.arity));
        if (is_new) {
            known->second = function_text(dump, function);
        }
        return known->second;
    }

  private:
    static constexpr std::size_t kMost = 65536;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::string> texts_;
};

/// Where the things of processes go.
struct Passing {
    Dump& dump;
    ThingVisitor& visitor;
    FunctionTexts functions = {};
};

Result<void> give_links(const ProcessDetails& details, OpenedProcess& process,
                        ThingVisitor& visitor) {
    for (const auto& line : details.links.items) {
        RETURN_IF_ERROR(visitor.thing(link_kind(), {cell(process.line.pid), cell(line.kind),
                                                    cell(line.other), cell(line.unlinking)}));
    }
    return {};
}

Result<void> give_monitors(const ProcessDetails& details, OpenedProcess& process,
                           ThingVisitor& visitor) {
    for (const auto& line : details.monitors.items) {
        RETURN_IF_ERROR(visitor.thing(monitor_kind(), {cell(process.line.pid), cell(line.kind),
                                                       cell(line.other), cell(line.reference)}));
    }
    return {};
}

Result<ProcessDetails> relations_of(Passing& passing, OpenedProcess& process) {
    TermPrinter printer(process.context(), process.scheme);
    ProcessDetails details;
    RETURN_IF_ERROR(read_relations(passing.dump, process.run, printer, 0, details));
    return details;
}

Result<void> visit_links(Passing& passing, OpenedProcess& process) {
    ASSIGN_OR_RETURN(const auto details, relations_of(passing, process));
    return give_links(details, process, passing.visitor);
}

Result<void> visit_monitors(Passing& passing, OpenedProcess& process) {
    ASSIGN_OR_RETURN(const auto details, relations_of(passing, process));
    return give_monitors(details, process, passing.visitor);
}

Result<void> visit_frames(Passing& passing, OpenedProcess& process) {
    FrameCursor frames(process.context(), process.scheme, process.stack());
    std::uint64_t given = 0;
    while (const auto frame = frames.next()) {
        if (frame->continued) {
            continue;
        }
        const bool more = ++given == kMostFrames || frame->cut_short;
        Row row = {cell(process.line.pid), cell(frame->index), {}, {}, {}, cell(more)};
        if (const auto& location = frame->location) {
            row[2] = location->function
                         ? cell(passing.functions.of(passing.dump, *location->function))
                         : cell(location->code_point);
            row[3] = cell(location->file);
            row[4] = cell(location->line);
        }
        RETURN_IF_ERROR(passing.visitor.thing(frame_kind(), row));
        if (given == kMostFrames) {
            break;
        }
    }
    return {};
}

Result<void> visit_shapes(Passing& passing, OpenedProcess& process) {
    if (process.line.message_queue_length.value_or(1) == 0) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto histogram, message_histogram(passing.dump, process));
    for (const auto& line : histogram.shapes) {
        RETURN_IF_ERROR(passing.visitor.thing(
            message_shape_kind(), {cell(process.line.pid), cell(line.shape), cell(line.count)}));
    }
    return histogram.other == 0
               ? Result<void>()
               : passing.visitor.thing(message_shape_kind(),
                                       {cell(process.line.pid), Cell(), cell(histogram.other)});
}

/// Kinds that are read of each process: parents, waits, links, monitors, frames, message shapes.
/// Things of the same kind come together. Those of processes that are not chosen are left out.
Result<ProcessesRead> visit_process_things(Dump& dump, const ThingsOptions& options,
                                           const Chosen& chosen, ThingVisitor& visitor) {
    RETURN_IF_ERROR(visit_parents(dump, options, chosen, visitor));
    RETURN_IF_ERROR(visit_waits(dump, options, chosen, visitor));
    Passing passing{dump, visitor};
    const EveryProcessOptions every{.sensitive = options.sensitive, .progress = options.progress};
    if (!visitor.one_kind_at_a_time()) {
        for (const ThingKind* kind :
             {&link_kind(), &monitor_kind(), &frame_kind(), &message_shape_kind()}) {
            RETURN_IF_ERROR(visitor.begin(*kind, std::nullopt));
        }
        return visit_processes(dump, every, [&](OpenedProcess& process) -> Result<void> {
            if (!is_chosen(chosen, process.line.pid)) {
                return {};
            }
            ASSIGN_OR_RETURN(const auto details, relations_of(passing, process));
            RETURN_IF_ERROR(give_links(details, process, visitor));
            RETURN_IF_ERROR(give_monitors(details, process, visitor));
            RETURN_IF_ERROR(visit_frames(passing, process));
            return visit_shapes(passing, process);
        });
    }
    using Visit = Result<void> (*)(Passing&, OpenedProcess&);
    constexpr std::pair<const ThingKind& (*)(), Visit> kPasses[] = {
        {link_kind, visit_links},
        {monitor_kind, visit_monitors},
        {frame_kind, visit_frames},
        {message_shape_kind, visit_shapes},
    };
    ProcessesRead counts;
    for (const auto& [kind, visit] : kPasses) {
        RETURN_IF_ERROR(visitor.begin(kind(), std::nullopt));
        const auto look_at = [&, visit = visit](OpenedProcess& process) {
            return is_chosen(chosen, process.line.pid) ? visit(passing, process) : Result<void>();
        };
        ASSIGN_OR_RETURN(counts, visit_processes(dump, every, look_at));
    }
    return counts;
}

/// Parents, waits and links alone, of all processes.
Result<ProcessesRead> visit_process_edges(Dump& dump, const ThingsOptions& options,
                                          ThingVisitor& visitor) {
    RETURN_IF_ERROR(visit_parents(dump, options, std::nullopt, visitor));
    RETURN_IF_ERROR(visit_waits(dump, options, std::nullopt, visitor));
    RETURN_IF_ERROR(visitor.begin(link_kind(), std::nullopt));
    Passing passing{dump, visitor};
    return visit_processes(dump, {.sensitive = options.sensitive, .progress = options.progress},
                           [&](OpenedProcess& process) { return visit_links(passing, process); });
}

/// Skips kinds that the dump has no record of.
template <typename Value>
Result<std::optional<Value>> if_there(Result<Value> found) {
    if (found) {
        return std::optional<Value>(std::move(*found));
    }
    if (found.error().code == ErrorCode::kNotFound) {
        return std::optional<Value>();
    }
    return std::unexpected(std::move(found.error()));
}

/// A crash dump has no layout.
Cell inferred(const Summary& summary) {
    return summary.crash ? Cell() : cell(summary.dump.layout && summary.dump.layout->inferred);
}

/// Values that no check could verify, as in every answer's "layout", by spaces.
Cell unverified(const DumpFacts& facts) {
    return facts.layout && !facts.layout->unverified.empty()
               ? cell(fmt::format("{}", fmt::join(facts.layout->unverified, " ")))
               : Cell();
}

/// Visits a dump's things, kind by kind.
class Things {
  public:
    Things(Dump& dump, const std::string& file, const ThingsOptions& options, ThingVisitor& visitor)
        : dump_(dump), file_(file), options_(options), visitor_(visitor) {}

    Result<std::optional<ProcessesRead>> visit() {
        RETURN_IF_ERROR(facts());
        RETURN_IF_ERROR(findings());
        RETURN_IF_ERROR(listed(allocator_kind(), list_allocators, kAllocatorSort));
        RETURN_IF_ERROR(groups());
        RETURN_IF_ERROR(atom_groups());
        RETURN_IF_ERROR(listed(module_kind(), list_all_modules, kModuleSort));
        RETURN_IF_ERROR(listed(port_kind(), list_ports, "queue"));
        RETURN_IF_ERROR(listed(socket_kind(), list_sockets, "receive_queue"));
        RETURN_IF_ERROR(listed(timer_kind(), list_timers, "left_ms"));
        RETURN_IF_ERROR(listed(scheduler_kind(), list_schedulers, "queue"));
        RETURN_IF_ERROR(listed(node_kind(), list_nodes, "queue"));
        RETURN_IF_ERROR(persistent_terms());
        RETURN_IF_ERROR(listed(ets_table_kind(), list_ets_tables, kEtsSort));
        if (options_.detail != Detail::kFacts) {
            RETURN_IF_ERROR(processes());
        }
        std::optional<ProcessesRead> read;
        if (options_.detail == Detail::kStacks) {
            RETURN_IF_ERROR(binaries());
            ASSIGN_OR_RETURN(read, visit_process_things(dump_, options_, chosen_, visitor_));
            RETURN_IF_ERROR(atoms());
        }
        RETURN_IF_ERROR(begin(end_kind()));
        const auto number = [&read](std::uint64_t ProcessesRead::* member) {
            return read ? cell((*read).*member) : Cell();
        };
        RETURN_IF_ERROR(visitor_.thing(
            end_kind(),
            {cell(std::string(detail_text(options_.detail))),
             options_.limit == 0 ? Cell() : cell(options_.limit), number(&ProcessesRead::read),
             number(&ProcessesRead::inconsistent), number(&ProcessesRead::sensitive)}));
        return read;
    }

    Result<ProcessesRead> graph() {
        RETURN_IF_ERROR(processes());
        return visit_process_edges(dump_, options_, visitor_);
    }

  private:
    Result<void> begin(const ThingKind& kind, std::optional<std::uint64_t> total = std::nullopt) {
        return visitor_.begin(kind, total);
    }

    /// How many there are of what a list has; nothing where a text breaks off before it.
    [[nodiscard]] std::optional<std::uint64_t> known(std::uint64_t found) {
        return known_total(dump_facts(dump_, file_), found);
    }

    Result<void> facts() {
        const Summary summary = recorded_summary(dump_, file_);
        ASSIGN_OR_RETURN(const auto memory, query::memory(dump_, file_, {.limit = 1}));
        const auto& facts = summary.dump;
        const auto& node = summary.node;
        const auto& sizes = summary.memory;
        RETURN_IF_ERROR(begin(dump_kind()));
        RETURN_IF_ERROR(
            visitor_.thing(dump_kind(), {cell(facts.file),
                                         cell(facts.file_bytes),
                                         cell(!facts.damage.has_value()),
                                         cell(facts.damage),
                                         cell(node.otp_release),
                                         cell(node.erts_version),
                                         cell(node.jit),
                                         cell(node.boot_us),
                                         cell(node.uptime_us),
                                         cell(node.host_name),
                                         cell(node.os_release),
                                         cell(node.os_pid),
                                         cell(node.schedulers),
                                         cell(node.process_limit),
                                         cell(summary.capture.mode),
                                         cell(summary.capture.tool_version),
                                         cell(summary.capture.layout),
                                         inferred(summary),
                                         unverified(facts),
                                         summary.crash ? cell(summary.crash->slogan) : Cell(),
                                         summary.crash ? cell(summary.crash->date) : Cell(),
                                         cell(summary.processes),
                                         cell(summary.processes_void),
                                         cell(summary.messages),
                                         cell(summary.reductions),
                                         cell(sizes.binary_count),
                                         cell(sizes.atom_count),
                                         cell(sizes.module_count),
                                         cell(sizes.processes),
                                         cell(sizes.process_heaps),
                                         cell(sizes.binaries),
                                         cell(sizes.code),
                                         cell(sizes.atoms),
                                         cell(sizes.literals),
                                         cell(memory.resident_bytes),
                                         cell(memory.unexplained_bytes)}));
        RETURN_IF_ERROR(begin(memory_kind()));
        for (const auto& [category, bytes] : memory.categories) {
            RETURN_IF_ERROR(visitor_.thing(memory_kind(), {cell(category), cell(bytes)}));
        }
        RETURN_IF_ERROR(begin(resident_kind()));
        for (const auto& part : memory.resident) {
            RETURN_IF_ERROR(visitor_.thing(resident_kind(),
                                           {cell(part.name), cell(part.bytes), cell(part.blocks)}));
        }
        return {};
    }

    Result<void> groups() {
        RETURN_IF_ERROR(begin(group_kind()));
        for (const GroupBy by : {GroupBy::kInitialCall, GroupBy::kCurrentFunction, GroupBy::kStatus,
                                 GroupBy::kSupervisor, GroupBy::kApplication}) {
            if (reads_processes(by) && options_.detail != Detail::kStacks) {
                continue;
            }
            GroupsOptions groups;
            groups.by = by;
            groups.limit = options_.limit;
            groups.sensitive = options_.sensitive;
            groups.progress = options_.progress;
            ASSIGN_OR_RETURN(const auto answer, process_groups(dump_, file_, groups));
            for (const auto& line : answer.groups) {
                RETURN_IF_ERROR(visitor_.thing(
                    group_kind(), {cell(std::string(group_by_text(by))), cell(line.name),
                                   cell(line.count), cell(line.memory_bytes), cell(line.reductions),
                                   cell(line.messages), cell(line.largest.pid)}));
            }
        }
        return {};
    }

    Result<void> atom_groups() {
        RowQuery query;
        query.limit = options_.limit;
        ASSIGN_OR_RETURN(auto answer, list_atoms(dump_, file_, AtomRows::kGroups, query));
        RETURN_IF_ERROR(begin(atom_group_kind(), answer.counts.absent_because
                                                     ? std::nullopt
                                                     : std::optional(answer.list.matching())));
        for (auto& group : answer.list.take()) {
            if (!answer.counts.in_order) {
                group[std::to_underlying(AtomGroupPlace::kNewestIndex)] = Cell();
            }
            RETURN_IF_ERROR(visitor_.thing(atom_group_kind(),
                                           exported_cells(atom_columns(AtomRows::kGroups), group)));
        }
        return {};
    }

    /// Absent for a crash dump, whose atoms stand in the order in which they were read.
    [[nodiscard]] Cell atom_number(std::uint32_t index) const {
        return !form_of(dump_).atom_indices ? Cell() : cell(std::uint64_t{index});
    }

    static Row exported_cells(std::span<const Column> columns, const Row& row) {
        Row cells;
        cells.reserve(columns.size());
        for (std::size_t column = 0; column < row.size(); ++column) {
            if (is_exported(columns[column])) {
                cells.push_back(exported_cell(columns[column], row[column]));
            }
        }
        return cells;
    }

    /// A thing, by its cells in all of its columns.
    Result<void> tell(const ThingKind& kind, std::span<const Column> columns, const Row& row) {
        return visitor_.thing(kind, exported_cells(columns, row));
    }

    using List = Result<RowList> (*)(Dump& dump, const RowQuery& query);

    Result<void> listed(const ThingKind& kind, List list, std::string_view sort) {
        const RowQuery query{
            .sort = std::string(sort), .filters = {}, .limit = options_.limit, .derived = false};
        ASSIGN_OR_RETURN(auto answer, if_there(list(dump_, query)));
        if (!answer) {
            return {};
        }
        RETURN_IF_ERROR(begin(kind, known(answer->total())));
        for (const Row& row : answer->take()) {
            RETURN_IF_ERROR(tell(kind, answer->columns(), row));
        }
        return {};
    }

    /// Keys, as far as they are shown by default, and sizes.
    Result<void> persistent_terms() {
        constexpr std::size_t kKeyBytes = 200;
        const RowQuery query{.sort = "words", .filters = {}, .limit = options_.limit};
        ASSIGN_OR_RETURN(auto answer, if_there(list_persistent_terms(dump_, query, kKeyBytes)));
        if (!answer) {
            return {};
        }
        RETURN_IF_ERROR(begin(persistent_term_kind(), known(answer->list.total())));
        const auto value = column_place(persistent_term_columns(), "value");
        for (const Row& row : answer->list.take()) {
            auto cells = exported_cells(persistent_term_columns(), row);
            cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(value));
            RETURN_IF_ERROR(visitor_.thing(persistent_term_kind(), cells));
        }
        return {};
    }

    Result<void> findings() {
        NodeFacts node(
            dump_, file_,
            {.sensitive = options_.sensitive, .limits = options_.limits, .terms = options_.terms});
        const auto answer = find_findings(node);
        RETURN_IF_ERROR(begin(finding_kind()));
        for (const auto& finding : answer.found) {
            RETURN_IF_ERROR(visitor_.thing(
                finding_kind(),
                {cell(std::string(finding.id)), cell(finding.sentence), cell(finding.command)}));
        }
        RETURN_IF_ERROR(begin(finding_left_out_kind()));
        for (const auto& rule : answer.left_out) {
            RETURN_IF_ERROR(visitor_.thing(finding_left_out_kind(),
                                           {cell(std::string(rule.id)), cell(rule.reason)}));
        }
        return {};
    }

    Result<void> processes() {
        if (options_.limit != 0) {
            chosen_.emplace();
        }
        RETURN_IF_ERROR(begin(process_kind(), known(dump_.processes().size())));
        RETURN_IF_ERROR(processes_by(ProcessColumn::kMemory));
        // Limited: also those with the longest queues.
        return chosen_ ? processes_by(ProcessColumn::kQueue) : Result<void>();
    }

    Result<void> processes_by(ProcessColumn sort) {
        ProcessQuery query;
        query.sort = {{.by = sort}};
        query.limit = options_.limit;
        query.names = true;
        ASSIGN_OR_RETURN(auto listing, ProcessListing::select(dump_, query));
        for (;;) {
            ASSIGN_OR_RETURN(const auto lines, listing.next());
            if (lines.empty()) {
                return {};
            }
            for (const ProcessLine& line : lines) {
                const bool idle = line.message_queue_length.value_or(0) == 0;
                if ((sort == ProcessColumn::kQueue && idle) ||
                    (chosen_ && !chosen_->insert(line.pid).second)) {
                    continue;
                }
                auto cells = exported_cells(process_columns(), process_cells(line));
                cells.push_back(cell(shown_name(line)));
                RETURN_IF_ERROR(visitor_.thing(process_kind(), cells));
            }
        }
    }

    Result<void> binaries() {
        const RowQuery query{
            .sort = std::string(kNodeBinarySort), .filters = {}, .limit = options_.limit};
        ASSIGN_OR_RETURN(auto answer,
                         if_there(node_binaries(dump_, query, options_.limits, options_.progress)));
        if (!answer) {
            return {};
        }
        const auto total = answer->list.total();
        RETURN_IF_ERROR(begin(binary_kind(), answer->may_lack_some && total == 0
                                                 ? std::nullopt
                                                 : std::optional(total)));
        for (const Row& row : answer->list.take()) {
            RETURN_IF_ERROR(tell(binary_kind(), answer->list.columns(), row));
        }
        return {};
    }

    /// Each by itself, where all are wanted.
    Result<void> atoms() {
        if (options_.limit != 0) {
            return {};
        }
        RETURN_IF_ERROR(begin(atom_kind()));
        Result<void> done;
        const auto visit = [&](std::uint32_t index, const std::string& text) {
            if (done) {
                done = visitor_.thing(atom_kind(), {atom_number(index), cell(quoted_atom(text)),
                                                    cell(std::uint64_t{text.size()})});
            }
        };
        RETURN_IF_ERROR(dump_.atoms().visit_newest_first(visit));
        return done;
    }

    Dump& dump_;
    const std::string& file_;
    const ThingsOptions& options_;
    ThingVisitor& visitor_;
    Chosen chosen_;
};

}  // namespace

Result<Detail> parse_detail(std::string_view name) {
    for (const Detail detail : {Detail::kFacts, Detail::kProcesses, Detail::kStacks}) {
        if (detail_text(detail) == name) {
            return detail;
        }
    }
    return fail(ErrorCode::kUsage,
                fmt::format("--detail {}: it is facts, processes or stacks", name));
}

std::string_view detail_text(Detail detail) {
    switch (detail) {
        case Detail::kFacts:
            return "facts";
        case Detail::kProcesses:
            return "processes";
        default:
            return "stacks";
    }
}

Result<std::optional<ProcessesRead>> visit_things(Dump& dump, const std::string& file,
                                                  const ThingsOptions& options,
                                                  ThingVisitor& visitor) {
    return Things(dump, file, options, visitor).visit();
}

Result<ProcessesRead> visit_graph(Dump& dump, const std::string& file, const ThingsOptions& options,
                                  ThingVisitor& visitor) {
    ThingsOptions all = options;
    all.limit = 0;
    return Things(dump, file, all, visitor).graph();
}

}  // namespace beamdump::query
