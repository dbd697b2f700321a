#include "query/waits/hang.h"

#include "query/waits/emulator_waits.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

/// A chain of more places is shown without its first ones.
constexpr std::size_t kMostSteps = 64;

class Hangs {
  public:
    Hangs(Dump& dump, const ProcessRows& rows, const WaitGraph& graph)
        : dump_(dump),
          rows_(rows),
          graph_(graph),
          cycles_(cycles_of(graph)),
          counts_(graph, cycles_) {}

    Result<void> ends(std::uint64_t limit, Hang& into) const {
        using Ranked = std::tuple<std::uint64_t, std::uint64_t, WaitPlace>;
        FirstItems<Ranked> first(limit, [](const Ranked& a, const Ranked& b) {
            return std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(a)) <
                   std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(b));
        });
        for (const auto& [place, direct] : counts_.direct()) {
            if (graph_.followed(place) == nullptr && counts_.behind(place) != 0) {
                ++into.end_count;
                first.add({counts_.behind(place), direct, place});
            }
        }
        for (const auto& [behind, direct, place] : first.take()) {
            auto longest = counts_.longest_to(place, kMostSteps);
            ASSIGN_OR_RETURN(auto chain, chain_of(longest.places));
            chain.left_out = longest.left_out;
            ASSIGN_OR_RETURN(auto end, end_of(std::move(chain)));
            into.ends.push_back(std::move(end));
        }
        for (const auto& edge : graph_.edges_of(progress_place())) {
            into.held_up.emplace_back(edge.to.name, counts_.behind(edge.to));
        }
        for (const auto& [place, edges] : graph_.edges()) {
            const auto direct = counts_.direct().find(place);
            if (place.kind == WaitPlaceKind::kLock && direct != counts_.direct().end()) {
                into.locks.push_back(
                    {.lock = place, .holder = edges.front().to, .waiting = direct->second});
            }
        }
        into.cycle_count = cycles_.size();
        for (const auto& cycle : cycles_) {
            if (limit != 0 && into.cycles.size() == limit) {
                break;
            }
            ASSIGN_OR_RETURN(auto chain, chain_of(cycle));
            chain.cycle = true;
            into.cycles.push_back({std::move(chain), counts_.behind_cycle(cycle)});
        }
        return {};
    }

    Result<void> of_process(std::uint64_t owner, Hang& into) const {
        std::vector<WaitPlace> places = {process_place(owner)};
        const WaitEdge* edge = graph_.followed(places.back());
        bool cycle = false;
        std::set<WaitPlace> seen = {places.back()};
        while (edge != nullptr && !cycle) {
            cycle = !seen.insert(edge->to).second;
            if (!cycle) {
                places.push_back(edge->to);
                edge = graph_.followed(places.back());
            }
        }
        std::uint64_t left_out = 0;
        if (places.size() > kMostSteps) {
            left_out = places.size() - kMostSteps;
            places.erase(places.begin() + 1,
                         places.begin() + 1 + static_cast<std::ptrdiff_t>(left_out));
        }
        ASSIGN_OR_RETURN(auto chain, chain_of(places));
        chain.cycle = cycle;
        chain.left_out = left_out;
        into.asked_behind = counts_.behind(places.front());
        ASSIGN_OR_RETURN(into.asked, end_of(std::move(chain)));
        return {};
    }

  private:
    Result<HangChain> chain_of(const std::vector<WaitPlace>& places) const {
        HangChain chain;
        for (const auto& place : places) {
            auto& step = chain.steps.emplace_back();
            step.place = place;
            step.edges = graph_.edges_of(place);
            if (const auto* const followed = graph_.followed(place)) {
                std::swap(
                    step.edges.front(),
                    step.edges[static_cast<std::size_t>(followed - graph_.edges_of(place).data())]);
            }
            if (place.owner) {
                ASSIGN_OR_RETURN(step.process, rows_.line(dump_, *place.owner));
            }
        }
        return chain;
    }

    Result<HangEnd> end_of(HangChain chain) const {
        const auto& last = chain.steps.back();
        HangEnd end;
        end.place = last.place;
        const auto direct = counts_.direct().find(last.place);
        end.direct = direct == counts_.direct().end() ? 0 : direct->second;
        end.behind = counts_.behind(last.place);
        end.why = chain.cycle ? "it waits in a cycle" : why(last);
        end.chain = std::move(chain);
        return end;
    }

    static std::string why(const HangStep& step) {
        if (!step.edges.empty()) {
            return "one of several may be what it waits for";
        }
        switch (step.place.kind) {
            case WaitPlaceKind::kProcess:
                return step.process ? why_of(*step.process) : "the dump does not have it";
            case WaitPlaceKind::kOther:
                return "it is a port, or a process that is not in the dump";
            case WaitPlaceKind::kPermission:
                return "who holds it is not known: a job of the VM, or what the release does not "
                       "store";
            case WaitPlaceKind::kThreadProgress:
                return "no scheduler was seen to hold it up";
            case WaitPlaceKind::kScheduler:
                return "what it runs is not known";
            case WaitPlaceKind::kConnection:
                return "the other node does not take what is sent to it";
            case WaitPlaceKind::kLock:
                return "who holds it is not known";
            case WaitPlaceKind::kEnded:
                return "it has ended, and its memory is being freed";
            case WaitPlaceKind::kEndless:
                return "its list of off-heap objects leads back into itself: it is walked for "
                       "ever";
        }
        std::unreachable();
    }

    static std::string why_of(const ProcessLine& line) {
        const auto status = line.status.value_or("");
        if (status == "waiting") {
            const auto messages = line.message_queue_length.value_or(0);
            return fmt::format("it waits for a message, and the dump does not tell from whom{}",
                               messages == 0
                                   ? std::string()
                                   : fmt::format("; {} in its queue",
                                                 counted(messages, "message is", "messages are")));
        }
        if (status == "running") {
            return "it runs";
        }
        if (status == "runnable") {
            return "it is ready to run";
        }
        if (status == "suspended") {
            return "it is suspended, and stands in none of the lists that the dump has";
        }
        if (status == "exiting") {
            return "it exits";
        }
        if (status == "garbage_collecting") {
            return "it collects its garbage";
        }
        return "the dump does not tell its state";
    }

    Dump& dump_;
    const ProcessRows& rows_;
    const WaitGraph& graph_;
    std::vector<std::vector<WaitPlace>> cycles_;
    WaitCounts counts_;
};

/// Waits of all kinds.
Result<ProcessesRead> add_all_waits(Dump& dump, const WaitsOptions& options,
                                    const ProcessRows& rows, WaitGraph& graph,
                                    std::vector<std::string>& untold) {
    WaitsOptions all = options;
    all.all_kinds = true;
    ASSIGN_OR_RETURN(const auto read, add_call_waits(dump, all, rows, graph));
    RETURN_IF_ERROR(add_emulator_waits(dump, rows, graph, untold));
    return read;
}

/// Where chains end, each followed once.
class ChainEnds {
  public:
    explicit ChainEnds(const WaitGraph& graph) : graph_(graph) {}

    struct End {
        std::optional<WaitPlace> place;
        std::uint64_t steps = 0;
    };

    const End& of(const WaitPlace& from) {
        std::vector<WaitPlace> way;
        std::set<WaitPlace> on_way;
        auto place = from;
        while (!ends_.contains(place)) {
            way.push_back(place);
            const auto* const next = graph_.followed(place);
            if (next == nullptr) {
                ends_.emplace(place, End{place, 0});
                break;
            }
            if (!on_way.insert(place).second || on_way.contains(next->to)) {
                ends_.emplace(place, End{});
                break;
            }
            place = next->to;
        }
        for (const auto& passed : way | std::views::reverse) {
            const auto* const next = graph_.followed(passed);
            if (!ends_.contains(passed) && next != nullptr) {
                auto end = ends_.at(next->to);
                end.steps += end.place ? 1 : 0;
                ends_.emplace(passed, std::move(end));
            }
        }
        return ends_.at(from);
    }

  private:
    const WaitGraph& graph_;
    std::map<WaitPlace, End> ends_;
};

}  // namespace

Result<WaitLines> find_wait_lines(Dump& dump, const WaitsOptions& options) {
    WaitLines answer;
    ASSIGN_OR_RETURN(const auto rows, ProcessRows::read(dump, options.limits));
    WaitGraph graph(options.limits);
    ASSIGN_OR_RETURN(answer.read, add_all_waits(dump, options, rows, graph, answer.untold));
    const WaitCounts counts(graph, cycles_of(graph));
    ChainEnds ends(graph);
    for (const auto& [place, edges] : graph.edges()) {
        const auto& end = ends.of(place);
        const auto* const followed = graph.followed(place);
        for (const auto& edge : edges) {
            answer.lines.push_back({.place = place,
                                    .edge = edge,
                                    .followed = &edge == followed,
                                    .behind = counts.behind(place),
                                    .end = end.place,
                                    .steps = end.steps,
                                    .in_cycle = counts.in_cycle(place)});
        }
    }
    return answer;
}

Result<Hang> find_hang(Dump& dump, const std::string& file,
                       const std::optional<std::string>& process, const WaitsOptions& options) {
    Hang answer;
    answer.dump = dump_facts(dump, file);
    std::optional<std::uint64_t> asked;
    if (process) {
        ASSIGN_OR_RETURN(const auto row, dump.find_process(*process));
        asked = row.owner_id();
    }
    ASSIGN_OR_RETURN(const auto rows, ProcessRows::read(dump, options.limits));
    WaitGraph graph(options.limits);
    ASSIGN_OR_RETURN(answer.read, add_all_waits(dump, options, rows, graph, answer.untold));
    answer.waiting = static_cast<std::uint64_t>(std::ranges::count_if(
        graph.edges(), [](const auto& entry) { return entry.first.owner.has_value(); }));
    const Hangs hangs(dump, rows, graph);
    if (asked) {
        RETURN_IF_ERROR(hangs.of_process(*asked, answer));
    } else {
        RETURN_IF_ERROR(hangs.ends(options.limit, answer));
    }
    return answer;
}

}  // namespace beamdump::query
