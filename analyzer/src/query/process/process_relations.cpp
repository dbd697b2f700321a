#include "query/process/process_relations.h"

#include "query/node/dump_facts.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <string>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestId = 1000;

template <typename Item>
bool wanted(Excerpt<Item>& excerpt, std::uint64_t limit) {
    ++excerpt.total;
    return limit == 0 || excerpt.items.size() < limit;
}

std::string link_kind(records::LinkKind kind) {
    switch (kind) {
        case records::LINK_KIND_PROCESS:
            return "process";
        case records::LINK_KIND_PORT:
            return "port";
        case records::LINK_KIND_REMOTE:
            return "remote";
        default:
            return "unknown";
    }
}

std::string monitor_kind(records::MonitorKind kind) {
    switch (kind) {
        case records::MONITOR_KIND_PROCESS:
            return "process";
        case records::MONITOR_KIND_PORT:
            return "port";
        case records::MONITOR_KIND_TIME_OFFSET:
            return "time_offset";
        case records::MONITOR_KIND_REMOTE:
            return "remote";
        case records::MONITOR_KIND_RESOURCE:
            return "resource";
        case records::MONITOR_KIND_NODE:
            return "node";
        case records::MONITOR_KIND_NODES:
            return "nodes";
        case records::MONITOR_KIND_SUSPEND:
            return "suspend";
        case records::MONITOR_KIND_ALIAS:
            return "alias";
        default:
            return "unknown";
    }
}

/// The process or port of a link or monitor. For a remote one whose words the dump lacks, the
/// numbers are known.
template <typename Relation>
std::string other_text(Dump& dump, const Relation& relation, TermPrinter& printer) {
    if (relation.has_other_word() || !relation.has_remote_owner_id()) {
        return term_text(printer, relation.other_word(), kLongestId).text;
    }
    const auto node = dump.tables().node_at(relation.remote_node_address());
    const std::string channel =
        node ? std::to_string(node->is_self ? 0 : node->name_atom) : std::string("?");
    return pid_text(channel, relation.remote_owner_id());
}

/// The other side of a monitor. By name: on this node unless another is named.
std::string monitor_other(Dump& dump, const records::Monitor& monitor, TermPrinter& printer) {
    if (monitor.has_name_atom() && !monitor.is_target()) {
        const std::string name = atom_text(dump, monitor.name_atom());
        const std::uint32_t node =
            monitor.has_node_atom() ? monitor.node_atom() : dump.node().name_atom();
        return fmt::format("{{{},{}}}", name, atom_text(dump, node));
    }
    return other_text(dump, monitor, printer);
}

/// A local reference, numbers highest first, as Erlang prints it.
std::optional<std::string> reference_text(const records::Monitor& monitor) {
    if (monitor.reference_size() == 0) {
        return std::nullopt;
    }
    return fmt::format("#Ref<0.{}>",
                       fmt::join(std::ranges::reverse_view(monitor.reference()), "."));
}

/// A resource has no pid: process_info shows its magic reference.
MonitorLine resource_line(const records::Monitor& monitor) {
    return {monitor_kind(monitor.kind()), reference_text(monitor).value_or("unknown"),
            std::nullopt};
}

MonitorLine monitor_line(Dump& dump, const records::Monitor& monitor, TermPrinter& printer) {
    if (monitor.kind() == records::MONITOR_KIND_RESOURCE && monitor.is_target()) {
        return resource_line(monitor);
    }
    return {monitor_kind(monitor.kind()), monitor_other(dump, monitor, printer),
            reference_text(monitor)};
}

/// Calls `visit` with each item that a relation with a process of this node is.
template <typename Visit>
void each_local(ProcessDetails& details, Visit visit) {
    const auto look_at = [&](auto& items) {
        for (auto& item : items) {
            if (const auto owner = parse_pid(item.other)) {
                visit(*owner, item);
            }
        }
    };
    look_at(details.links.items);
    look_at(details.monitors.items);
    look_at(details.monitored_by.items);
}

Result<void> name_others(Dump& dump, ProcessDetails& details) {
    std::set<std::uint64_t> owners;
    each_local(details, [&](std::uint64_t owner, const auto&) { owners.insert(owner); });
    ASSIGN_OR_RETURN(const auto names, ProcessNames(dump).of(owners));
    each_local(details, [&](std::uint64_t owner, auto& item) {
        if (const auto name = names.find(owner); name != names.end()) {
            item.display_name = name->second;
        }
    });
    return {};
}

}  // namespace

Result<void> read_relations(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                            std::uint64_t limit, ProcessDetails& into) {
    if (!is_of_crash_dump(dump)) {
        into.suspending.emplace();
    }
    for (const Pack& pack : run.directory.relations) {
        auto relations = dump.reader().message_at<records::Relations>(
            pack.offset, format::RecordKind::kRelations);
        if (!relations) {
            return wrap("reading links and monitors", std::move(relations.error()));
        }
        for (const auto& link : relations->link()) {
            if (wanted(into.links, limit)) {
                into.links.items.push_back(
                    {link_kind(link.kind()), other_text(dump, link, printer), link.unlinking()});
            }
        }
        for (const auto& monitor : relations->monitor()) {
            auto& list = monitor.is_target() ? into.monitored_by : into.monitors;
            if (wanted(list, limit)) {
                list.items.push_back(monitor_line(dump, monitor, printer));
            }
            const bool suspends =
                monitor.kind() == records::MONITOR_KIND_SUSPEND && !monitor.is_target();
            if (suspends && into.suspending && wanted(*into.suspending, limit)) {
                into.suspending->items.push_back(
                    {term_text(printer, monitor.other_word(), kLongestId).text,
                     monitor.suspend_active() ? monitor.suspend_count() : 0,
                     monitor.suspend_active() ? 0 : monitor.suspend_count()});
            }
        }
    }
    return name_others(dump, into);
}

}  // namespace beamdump::query
