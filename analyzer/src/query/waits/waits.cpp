#include "query/waits/waits.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>

#include <tuple>
#include <utility>

namespace beamdump::query {

Result<Waits> find_waits(Dump& dump, const std::string& file, const WaitsOptions& options) {
    Waits answer;
    answer.dump = dump_facts(dump, file);
    ASSIGN_OR_RETURN(const auto rows, ProcessRows::read(dump, options.limits));
    WaitGraph graph(options.limits);
    ASSIGN_OR_RETURN(answer.read, add_call_waits(dump, options, rows, graph));
    answer.waiting = graph.edges().size();
    const auto cycles = cycles_of(graph);
    answer.cycle_count = cycles.size();
    const WaitCounts counts(graph, cycles);
    using Ranked = std::tuple<std::uint64_t, std::uint64_t, WaitPlace>;
    FirstItems<Ranked> first(options.limit, [](const Ranked& a, const Ranked& b) {
        return std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(a)) <
               std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(b));
    });
    for (const auto& [target, direct] : counts.direct()) {
        ++answer.targets;
        first.add({counts.behind(target), direct, target});
    }
    for (const auto& [count, direct, target] : first.take()) {
        WaitedFor line;
        line.name = target.name;
        line.direct = direct;
        line.behind = count;
        line.in_cycle = counts.in_cycle(target);
        if (target.owner) {
            ASSIGN_OR_RETURN(line.process, rows.line(dump, *target.owner));
            if (const auto* const edge = graph.followed(target)) {
                line.waits_for = edge->to.name;
            }
        }
        answer.waited_for.push_back(std::move(line));
    }
    for (const auto& cycle : cycles) {
        if (options.limit != 0 && answer.cycles.size() == options.limit) {
            break;
        }
        auto& told = answer.cycles.emplace_back();
        told.behind = counts.behind_cycle(cycle);
        for (const auto& place : cycle) {
            ASSIGN_OR_RETURN(auto line, rows.line(dump, place.owner.value_or(0)));
            told.processes.push_back(std::move(line));
        }
    }
    return answer;
}

Result<std::vector<Waiter>> waiters(Dump& dump, const WaitsOptions& options) {
    ASSIGN_OR_RETURN(const auto rows, ProcessRows::read(dump, options.limits));
    WaitGraph graph(options.limits);
    RETURN_IF_ERROR(add_call_waits(dump, options, rows, graph));
    std::vector<Waiter> all;
    for (const auto& [place, edges] : graph.edges()) {
        all.push_back({place.owner.value_or(0), edges.front().to.name});
    }
    return all;
}

}  // namespace beamdump::query
