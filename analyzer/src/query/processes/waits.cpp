#include "query/processes/waits.h"

#include "query/process/process_names.h"
#include "query/term/term_text.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

/// The three numbers that a reference has with and without a pid, as printed.
using Numbers = std::array<std::string, 3>;

std::optional<Numbers> last_numbers(std::string_view text) {
    if (!text.starts_with("#Ref<") || !text.ends_with('>')) {
        return std::nullopt;
    }
    text = text.substr(5, text.size() - 6);
    Numbers numbers;
    for (std::size_t i = numbers.size(); i-- > 0;) {
        const auto dot = text.rfind('.');
        if (dot == std::string_view::npos) {
            return std::nullopt;
        }
        numbers[i] = text.substr(dot + 1);
        text = text.substr(0, dot);
    }
    return numbers;
}

// Upper bounds of what the maps below take.
constexpr std::uint64_t kWaitRowMemory = 48;    // an entry of rows_ or by_name_
constexpr std::uint64_t kWaitEdgeMemory = 512;  // of edges_ and the three maps of Behind

/// Who waits for whom: by owner id, or by name where the dump has no such owner.
class WaitGraph {
  public:
    WaitGraph(Dump& dump, const InputLimits& limits) : dump_(dump), budget_(limits) {}

    Result<ProcessesRead> read(const WaitsOptions& options) {
        ASSIGN_OR_RETURN(scheme_, node_scheme(dump_));
        constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                         records::PROCESS_COLUMN_REGISTERED_NAME};
        RETURN_IF_ERROR(dump_.processes().visit(
            kColumns, [this](std::uint64_t row, ProcessIndex::Values values) {
                rows_[values[0].value_or(0)] = row;
                if (values[1]) {
                    by_name_[*values[1]] = values[0].value_or(0);
                }
                budget_.use_memory(kWaitRowMemory * (values[1] ? 2 : 1));
                return !budget_.memory_exceeded();
            }));
        RETURN_IF_ERROR(budget_.check_memory());
        return visit_processes(
            dump_,
            {.sensitive = options.sensitive, .progress = options.progress, .rows = options.rows},
            [this](OpenedProcess& process) { return look_at(process); });
    }

    /// Something that is waited for: a process of the dump, or another by its name.
    struct Node {
        std::optional<std::uint64_t> owner;
        std::string name;
        auto operator<=>(const Node&) const = default;
    };
    [[nodiscard]] const std::map<std::uint64_t, Node>& edges() const { return edges_; }

    [[nodiscard]] std::optional<std::uint64_t> row_of(std::uint64_t owner) const {
        const auto known = rows_.find(owner);
        return known == rows_.end() ? std::nullopt : std::optional(known->second);
    }
    /// The process that `owner` waits for, where it is one of the dump.
    [[nodiscard]] std::optional<std::uint64_t> next(std::uint64_t owner) const {
        const auto edge = edges_.find(owner);
        return edge == edges_.end() ? std::nullopt : edge->second.owner;
    }

  private:
    Result<void> look_at(OpenedProcess& process) {
        if (process.run.row.status() != records::PROCESS_STATUS_WAITING) {
            return {};
        }
        FrameCursor frames(process.context(), process.scheme, process.stack());
        const auto frame = frames.next();
        if (!frame) {
            return {};
        }
        std::vector<Numbers> held;
        TermPrinter printer(process.context(), process.scheme);
        WordReader reader(process.context());
        for (const FrameRegister& y : frame->registers) {
            if (y.is_catch || word_kind(scheme_, y.word) != WordKind::kBoxed) {
                continue;
            }
            const auto object = heap_object(scheme_, reader, y.word);
            if (object && object->kind == BoxedKind::kReference) {
                constexpr std::size_t kLongestReference = 200;
                if (auto numbers =
                        last_numbers(term_text(printer, y.word, kLongestReference).text)) {
                    held.push_back(std::move(*numbers));
                }
            }
        }
        return held.empty() ? Result<void>() : match(process, held, printer);
    }

    Result<void> match(OpenedProcess& process, const std::vector<Numbers>& held,
                       TermPrinter& printer) {
        for (const Pack& pack : process.run.directory.relations) {
            auto relations = dump_.reader().message_at<records::Relations>(
                pack.offset, format::RecordKind::kRelations);
            if (!relations) {
                return wrap("reading monitors", std::move(relations.error()));
            }
            for (const auto& monitor : relations->monitor()) {
                if (monitor.is_target() || monitor.reference_size() < 3) {
                    continue;
                }
                // Stored lowest first, printed highest first.
                const Numbers numbers = {std::to_string(monitor.reference(2)),
                                         std::to_string(monitor.reference(1)),
                                         std::to_string(monitor.reference(0))};
                if (std::ranges::find(held, numbers) != held.end()) {
                    edges_.emplace(process.run.owner_id(), node_of(monitor, printer));
                    budget_.use_memory(kWaitEdgeMemory);
                    return budget_.check_memory();
                }
            }
        }
        return {};
    }

    Node node_of(const records::Monitor& monitor, TermPrinter& printer) {
        if (monitor.has_name_atom()) {
            const bool here =
                !monitor.has_node_atom() || monitor.node_atom() == dump_.node().name_atom();
            const auto known = by_name_.find(monitor.name_atom());
            std::string name = atom_text(dump_, monitor.name_atom());
            if (here && known != by_name_.end()) {
                return {known->second, pid_text(known->second)};
            }
            return {std::nullopt,
                    here ? name
                         : fmt::format("{{{},{}}}", name, atom_text(dump_, monitor.node_atom()))};
        }
        if (!monitor.has_other_word() && monitor.has_remote_owner_id()) {
            const auto node = dump_.tables().node_at(monitor.remote_node_address());
            return {std::nullopt, pid_text(node ? std::to_string(node->name_atom) : "?",
                                           monitor.remote_owner_id())};
        }
        const std::uint64_t word = monitor.other_word();
        if (word_kind(scheme_, word) == WordKind::kPid) {
            const std::uint64_t owner =
                pid_serial(scheme_, word) << 32U | pid_number(scheme_, word);
            return {rows_.contains(owner) ? std::optional(owner) : std::nullopt, pid_text(owner)};
        }
        constexpr std::size_t kLongestId = 200;
        return {std::nullopt, term_text(printer, word, kLongestId).text};
    }

    Dump& dump_;
    Budget budget_;
    TagScheme scheme_;
    std::unordered_map<std::uint64_t, std::uint64_t> rows_;
    std::unordered_map<std::uint64_t, std::uint64_t> by_name_;
    std::map<std::uint64_t, Node> edges_;
};

Result<ProcessesRead> read_waits(WaitGraph& graph, const WaitsOptions& options) {
    auto read = graph.read(options);
    return read ? std::move(read) : wrap("finding who waits for whom", std::move(read.error()));
}

/// The cycles of a graph in which each process waits for one at most, each from its lowest pid on.
std::vector<std::vector<std::uint64_t>> cycles_of(const WaitGraph& graph) {
    std::vector<std::vector<std::uint64_t>> cycles;
    std::unordered_map<std::uint64_t, std::uint64_t> pass;  // in which a process was first met
    for (const auto& [start, target] : graph.edges()) {
        std::vector<std::uint64_t> way;
        std::optional<std::uint64_t> at = start;
        while (at && pass.emplace(*at, start).second) {
            way.push_back(*at);
            at = graph.next(*at);
        }
        if (at && pass[*at] == start) {
            const auto first = std::ranges::find(way, *at);
            if (first != way.end()) {
                std::vector<std::uint64_t> cycle(first, way.end());
                std::ranges::rotate(cycle, std::ranges::min_element(cycle));
                cycles.push_back(std::move(cycle));
            }
        }
    }
    return cycles;
}

/// How many wait behind each. Of a cycle, all of it and all that wait for one of it, but the
/// process itself.
class Behind {
  public:
    explicit Behind(const WaitGraph& graph, const std::vector<std::vector<std::uint64_t>>& cycles) {
        for (const auto& [waiter, target] : graph.edges()) {
            ++direct_[target];
        }
        for (std::size_t i = 0; i < cycles.size(); ++i) {
            for (const std::uint64_t owner : cycles[i]) {
                cycle_of_[owner] = i;
            }
        }
        // Leaves first: each adds itself and those behind it to the one that it waits for.
        std::map<WaitGraph::Node, std::uint64_t> open = direct_;
        std::vector<std::uint64_t> ready;
        for (const auto& [waiter, target] : graph.edges()) {
            if (!open.contains(node(waiter))) {
                ready.push_back(waiter);
            }
        }
        while (!ready.empty()) {
            const std::uint64_t waiter = ready.back();
            ready.pop_back();
            const auto& target = graph.edges().at(waiter);
            behind_[target] += behind_[node(waiter)] + 1;
            if (--open[target] == 0 && target.owner && graph.edges().contains(*target.owner)) {
                ready.push_back(*target.owner);
            }
        }
        for (const auto& cycle : cycles) {
            std::uint64_t all = cycle.size() - 1;
            for (const std::uint64_t owner : cycle) {
                all += behind_[node(owner)];
            }
            for (const std::uint64_t owner : cycle) {
                behind_[node(owner)] = all;
            }
        }
    }

    [[nodiscard]] const std::map<WaitGraph::Node, std::uint64_t>& direct() const { return direct_; }
    [[nodiscard]] std::uint64_t of(const WaitGraph::Node& target) const {
        const auto known = behind_.find(target);
        return known == behind_.end() ? 0 : known->second;
    }
    /// What waits for all of a cycle, without its processes.
    [[nodiscard]] std::uint64_t of_cycle(const std::vector<std::uint64_t>& cycle) const {
        return of(node(cycle.front())) - (cycle.size() - 1);
    }
    [[nodiscard]] bool in_cycle(const WaitGraph::Node& target) const {
        return target.owner && cycle_of_.contains(*target.owner);
    }

  private:
    static WaitGraph::Node node(std::uint64_t owner) { return {owner, pid_text(owner)}; }

    std::map<WaitGraph::Node, std::uint64_t> direct_;
    std::map<WaitGraph::Node, std::uint64_t> behind_;
    std::unordered_map<std::uint64_t, std::size_t> cycle_of_;
};

Result<ProcessLine> line_of(Dump& dump, const WaitGraph& graph, std::uint64_t owner) {
    const auto row = graph.row_of(owner);
    if (!row) {
        ProcessLine line;
        line.pid = pid_text(owner);
        return line;
    }
    ASSIGN_OR_RETURN(const auto rows, dump.processes().rows(std::array<std::uint64_t, 1>{*row}));
    return named_line(dump, rows[0]);
}

}  // namespace

Result<Waits> find_waits(Dump& dump, const std::string& file, const WaitsOptions& options) {
    Waits answer;
    answer.dump = dump_facts(dump, file);
    WaitGraph graph(dump, options.limits);
    ASSIGN_OR_RETURN(answer.read, read_waits(graph, options));
    answer.waiting = graph.edges().size();
    const auto cycles = cycles_of(graph);
    answer.cycle_count = cycles.size();
    const Behind behind(graph, cycles);
    using Ranked = std::tuple<std::uint64_t, std::uint64_t, WaitGraph::Node>;
    FirstItems<Ranked> first(options.limit, [](const Ranked& a, const Ranked& b) {
        return std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(a)) <
               std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(b));
    });
    for (const auto& [target, direct] : behind.direct()) {
        ++answer.targets;
        first.add({behind.of(target), direct, target});
    }
    for (const auto& [count, direct, target] : first.take()) {
        WaitedFor line;
        line.name = target.name;
        line.direct = direct;
        line.behind = count;
        line.in_cycle = behind.in_cycle(target);
        if (target.owner) {
            ASSIGN_OR_RETURN(line.process, line_of(dump, graph, *target.owner));
            if (const auto edge = graph.edges().find(*target.owner); edge != graph.edges().end()) {
                line.waits_for = edge->second.name;
            }
        }
        answer.waited_for.push_back(std::move(line));
    }
    for (const auto& cycle : cycles) {
        if (options.limit != 0 && answer.cycles.size() == options.limit) {
            break;
        }
        auto& told = answer.cycles.emplace_back();
        told.behind = behind.of_cycle(cycle);
        for (const std::uint64_t owner : cycle) {
            ASSIGN_OR_RETURN(auto line, line_of(dump, graph, owner));
            told.processes.push_back(std::move(line));
        }
    }
    return answer;
}

Result<std::vector<WaitEdge>> wait_edges(Dump& dump, const WaitsOptions& options) {
    WaitGraph graph(dump, options.limits);
    RETURN_IF_ERROR(read_waits(graph, options));
    std::vector<WaitEdge> edges;
    for (const auto& [waiter, target] : graph.edges()) {
        edges.push_back({waiter, target.name});
    }
    return edges;
}

}  // namespace beamdump::query
