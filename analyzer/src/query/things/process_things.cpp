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

Result<void> visit_links(Dump& dump, OpenedProcess& process, ThingVisitor& visitor) {
    TermPrinter printer(process.context(), process.scheme);
    ProcessDetails details;
    RETURN_IF_ERROR(read_relations(dump, process.run, printer, 0, details));
    for (const auto& line : details.links.items) {
        RETURN_IF_ERROR(visitor.thing(link_kind(), {cell(process.line.pid), cell(line.kind),
                                                    cell(line.other), cell(line.unlinking)}));
    }
    return {};
}

Result<void> visit_monitors(Dump& dump, OpenedProcess& process, ThingVisitor& visitor) {
    TermPrinter printer(process.context(), process.scheme);
    ProcessDetails details;
    RETURN_IF_ERROR(read_relations(dump, process.run, printer, 0, details));
    for (const auto& line : details.monitors.items) {
        RETURN_IF_ERROR(visitor.thing(monitor_kind(), {cell(process.line.pid), cell(line.kind),
                                                       cell(line.other), cell(line.reference)}));
    }
    return {};
}

Result<void> visit_frames(Dump& dump, OpenedProcess& process, ThingVisitor& visitor) {
    FrameCursor frames(process.context(), process.scheme, process.stack());
    std::uint64_t given = 0;
    while (const auto frame = frames.next()) {
        if (frame->continued) {
            continue;
        }
        FrameLine line;
        name_frame(dump, *frame, line);
        const bool more = ++given == kMostFrames || frame->cut_short;
        const auto number = line.line ? std::optional<std::uint64_t>(*line.line) : std::nullopt;
        RETURN_IF_ERROR(visitor.thing(
            frame_kind(), {cell(process.line.pid), cell(frame->index), cell(line.function),
                           cell(line.file), cell(number), cell(more)}));
        if (given == kMostFrames) {
            break;
        }
    }
    return {};
}

Result<void> visit_shapes(Dump& dump, OpenedProcess& process, ThingVisitor& visitor) {
    if (process.line.message_queue_length.value_or(1) == 0) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto histogram, message_histogram(dump, process));
    for (const auto& line : histogram.shapes) {
        RETURN_IF_ERROR(visitor.thing(
            message_shape_kind(), {cell(process.line.pid), cell(line.shape), cell(line.count)}));
    }
    return histogram.other == 0
               ? Result<void>()
               : visitor.thing(message_shape_kind(),
                               {cell(process.line.pid), Cell(), cell(histogram.other)});
}

}  // namespace

Result<ProcessesRead> visit_process_things(Dump& dump, const ThingsOptions& options,
                                           const Chosen& chosen, ThingVisitor& visitor) {
    RETURN_IF_ERROR(visit_parents(dump, options, chosen, visitor));
    RETURN_IF_ERROR(visit_waits(dump, options, chosen, visitor));
    using Visit = Result<void> (*)(Dump&, OpenedProcess&, ThingVisitor&);
    constexpr std::pair<const ThingKind& (*)(), Visit> kPasses[] = {
        {link_kind, visit_links},
        {monitor_kind, visit_monitors},
        {frame_kind, visit_frames},
        {message_shape_kind, visit_shapes},
    };
    ProcessesRead counts;
    const EveryProcessOptions every{.sensitive = options.sensitive, .progress = options.progress};
    if (!visitor.one_kind_at_a_time()) {
        for (const auto& [kind, visit] : kPasses) {
            RETURN_IF_ERROR(visitor.begin(kind(), std::nullopt));
        }
        return visit_processes(dump, every, [&](OpenedProcess& process) -> Result<void> {
            if (is_chosen(chosen, process.line.pid)) {
                for (const auto& [kind, visit] : kPasses) {
                    RETURN_IF_ERROR(visit(dump, process, visitor));
                }
            }
            return {};
        });
    }
    for (const auto& [kind, visit] : kPasses) {
        RETURN_IF_ERROR(visitor.begin(kind(), std::nullopt));
        const auto look_at = [&, visit = visit](OpenedProcess& process) {
            return is_chosen(chosen, process.line.pid) ? visit(dump, process, visitor)
                                                       : Result<void>();
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
    return visit_processes(
        dump, {.sensitive = options.sensitive, .progress = options.progress},
        [&](OpenedProcess& process) { return visit_links(dump, process, visitor); });
}

}  // namespace beamdump::query
