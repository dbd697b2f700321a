#include "query/waits/wait_graph.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <algorithm>
#include <utility>

namespace beamdump::query {

WaitPlace process_place(std::uint64_t owner) {
    return {owner, pid_text(owner), WaitPlaceKind::kProcess};
}

WaitPlace progress_place() {
    return {.owner = {}, .name = "thread progress", .kind = WaitPlaceKind::kThreadProgress};
}

std::string_view wait_place_kind_name(WaitPlaceKind kind) {
    switch (kind) {
        case WaitPlaceKind::kProcess:
            return "process";
        case WaitPlaceKind::kOther:
            return "other";
        case WaitPlaceKind::kPermission:
            return "permission";
        case WaitPlaceKind::kThreadProgress:
            return "thread_progress";
        case WaitPlaceKind::kScheduler:
            return "scheduler";
        case WaitPlaceKind::kConnection:
            return "connection";
        case WaitPlaceKind::kLock:
            return "global_lock";
        case WaitPlaceKind::kEnded:
            return "ended";
        case WaitPlaceKind::kEndless:
            return "endless";
    }
    std::unreachable();
}

std::string_view wait_kind_name(WaitKind kind) {
    switch (kind) {
        case WaitKind::kReply:
            return "reply";
        case WaitKind::kStart:
            return "start";
        case WaitKind::kPermission:
            return "permission";
        case WaitKind::kLock:
            return "global_lock";
        case WaitKind::kHolder:
            return "holder";
        case WaitKind::kProgress:
            return "thread_progress";
        case WaitKind::kHeldUp:
            return "held_up_by";
        case WaitKind::kRuns:
            return "runs";
        case WaitKind::kFrees:
            return "frees";
        case WaitKind::kRunQueue:
            return "run_queue";
        case WaitKind::kTask:
            return "system_task";
        case WaitKind::kSuspender:
            return "suspended_by";
        case WaitKind::kConnection:
            return "busy_connection";
        case WaitKind::kPort:
            return "busy_port";
    }
    std::unreachable();
}

Result<void> WaitGraph::add(const WaitPlace& from, WaitEdge edge) {
    budget_.use_memory(kPlaceMemory);
    edges_[from].push_back(std::move(edge));
    return budget_.check_memory();
}

const std::vector<WaitEdge>& WaitGraph::edges_of(const WaitPlace& place) const {
    static const std::vector<WaitEdge> kNone;
    const auto known = edges_.find(place);
    return known == edges_.end() ? kNone : known->second;
}

const WaitEdge* WaitGraph::followed(const WaitPlace& place) const {
    const auto& edges = edges_of(place);
    const auto certain = std::ranges::find(edges, true, &WaitEdge::certain);
    if (certain != edges.end()) {
        return &*certain;
    }
    return edges.size() == 1 ? &edges.front() : nullptr;
}

std::vector<std::vector<WaitPlace>> cycles_of(const WaitGraph& graph) {
    std::vector<std::vector<WaitPlace>> cycles;
    std::map<WaitPlace, const WaitPlace*> pass;  // in which a place was first met: its start
    for (const auto& [start, edges] : graph.edges()) {
        std::vector<WaitPlace> way;
        const WaitPlace* at = &start;
        const WaitEdge* edge = nullptr;
        while (pass.emplace(*at, &start).second) {
            way.push_back(*at);
            edge = graph.followed(*at);
            if (edge == nullptr) {
                break;
            }
            at = &edge->to;
        }
        if (edge == nullptr || pass[*at] != &start) {
            continue;
        }
        const auto first = std::ranges::find(way, *at);
        std::vector<WaitPlace> cycle(first, way.end());
        const auto lowest = std::ranges::min_element(cycle, {}, [](const WaitPlace& place) {
            return std::pair(!place.owner.has_value(), place);
        });
        std::ranges::rotate(cycle, lowest);
        cycles.push_back(std::move(cycle));
    }
    return cycles;
}

WaitCounts::WaitCounts(const WaitGraph& graph, const std::vector<std::vector<WaitPlace>>& cycles) {
    std::map<WaitPlace, std::uint64_t> open;  // edges to a place that were not counted yet
    for (const auto& [from, edges] : graph.edges()) {
        if (const auto* const edge = graph.followed(from)) {
            direct_[edge->to] += from.owner ? 1 : 0;
            ++open[edge->to];
        }
    }
    for (const auto& cycle : cycles) {
        for (const auto& place : cycle) {
            in_cycle_.insert(place);
        }
    }
    // Leaves first: each adds itself and those behind it to the one that it waits for.
    std::vector<const WaitPlace*> ready;
    for (const auto& [from, edges] : graph.edges()) {
        if (!open.contains(from)) {
            ready.push_back(&from);
        }
    }
    while (!ready.empty()) {
        const WaitPlace& from = *ready.back();
        ready.pop_back();
        const auto* const edge = graph.followed(from);
        if (edge == nullptr) {
            continue;
        }
        const auto waiting = behind(from) + (from.owner ? 1 : 0);
        behind_[edge->to] += waiting;
        // A chain begins with a process.
        const auto length = before_[from].length + 1;
        if (auto& before = before_[edge->to]; waiting != 0 && length > before.length) {
            before = {length, from};
        }
        if (--open[edge->to] == 0 && graph.edges().contains(edge->to)) {
            ready.push_back(&edge->to);
        }
    }
    for (const auto& cycle : cycles) {
        std::uint64_t all = 0;
        for (const auto& place : cycle) {
            all += behind(place) + (place.owner ? 1 : 0);
        }
        for (const auto& place : cycle) {
            behind_[place] = all - (place.owner ? 1 : 0);
        }
    }
}

std::uint64_t WaitCounts::behind(const WaitPlace& place) const {
    const auto known = behind_.find(place);
    return known == behind_.end() ? 0 : known->second;
}

std::uint64_t WaitCounts::behind_cycle(const std::vector<WaitPlace>& cycle) const {
    const auto processes = static_cast<std::uint64_t>(std::ranges::count_if(
        cycle, [](const WaitPlace& place) { return place.owner.has_value(); }));
    const auto& first = cycle.front();
    return behind(first) + (first.owner ? 1 : 0) - processes;
}

WaitCounts::Chain WaitCounts::longest_to(const WaitPlace& place, std::size_t most) const {
    Chain chain;
    std::optional<WaitPlace> at = place;
    while (at && chain.places.size() < most) {
        chain.places.push_back(*at);
        const auto known = before_.find(*at);
        at = known == before_.end() ? std::nullopt : known->second.place;
    }
    std::ranges::reverse(chain.places);
    if (at) {
        chain.left_out = before_.at(*at).length + 1;
    }
    return chain;
}

}  // namespace beamdump::query
