#include "query/things/process_things.h"

#include "query/groups/process_tree.h"
#include "query/groups/waits.h"
#include "query/process/backtrace.h"
#include "query/process/messages.h"
#include "query/process/process_relations.h"
#include "query/rows/cells.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/term_printer.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

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
    ASSIGN_OR_RETURN(const auto edges, wait_edges(dump, waits));
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

}  // namespace

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

Result<ProcessesRead> visit_process_edges(Dump& dump, const ThingsOptions& options,
                                          ThingVisitor& visitor) {
    RETURN_IF_ERROR(visit_parents(dump, options, std::nullopt, visitor));
    RETURN_IF_ERROR(visit_waits(dump, options, std::nullopt, visitor));
    RETURN_IF_ERROR(visitor.begin(link_kind(), std::nullopt));
    Passing passing{dump, visitor};
    return visit_processes(dump, {.sensitive = options.sensitive, .progress = options.progress},
                           [&](OpenedProcess& process) { return visit_links(passing, process); });
}

}  // namespace beamdump::query
