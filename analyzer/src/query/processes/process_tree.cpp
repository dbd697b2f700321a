#include "query/processes/process_tree.h"

#include "query/process/process_names.h"
#include "query/processes/group_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Upper bounds of what the tables below take.
constexpr std::uint64_t kTreeProcessMemory = 160;  // of one process, without a name
constexpr std::uint64_t kTreeNameMemory = 48;
constexpr std::uint64_t kTreeLinkMemory = 64;  // both directions, in a vector that grows
constexpr std::uint64_t kTreePairMemory = 40;
constexpr std::uint64_t kTreeLineMemory = 2 * sizeof(TreeLine) + 256;  // and its texts

/// All processes, numbered as in the index, and who is above whom.
class Forest {
  public:
    Forest(Dump& dump, const TreeOptions& options, Budget& budget)
        : dump_(dump), options_(options), budget_(budget) {}

    Result<void> read(ProcessesRead& counts) {
        RETURN_IF_ERROR(read_index());
        ASSIGN_OR_RETURN(scheme_, node_scheme(dump_));
        ASSIGN_OR_RETURN(const auto ancestors, AncestorReader::make(dump_));
        const auto withheld = [this](const records::ProcessRow& row) -> Result<void> {
            auto facts = dump_.reader().message_at<records::Process>(row.begin_offset(),
                                                                     format::RecordKind::kProcess);
            if (!facts) {
                return wrap("reading a process", std::move(facts.error()));
            }
            return options_.links ? Result<void>{} : set_parent(row.owner_id(), parent_of(*facts));
        };
        const auto visit = [&](OpenedProcess& process) -> Result<void> {
            if (options_.links) {
                return add_links(process);
            }
            ASSIGN_OR_RETURN(const auto words, ancestors.read(process));
            auto parent = kNone;
            if (words.ancestors) {
                const auto list = AncestorReader::elements(process, *words.ancestors);
                parent = list.empty() ? kNone : number_of(list.front());
            }
            return set_parent(process.run.owner_id(),
                              parent == kNone ? parent_of(process.run.process) : parent);
        };
        ASSIGN_OR_RETURN(counts, visit_processes(dump_,
                                                 {.sensitive = options_.sensitive,
                                                  .progress = options_.progress,
                                                  .withheld = withheld},
                                                 visit));
        if (options_.links) {
            span_links();
        }
        make_children();
        return {};
    }

    /// Roots, the one with most memory below it first.
    [[nodiscard]] const std::vector<std::uint32_t>& roots() const { return roots_; }
    [[nodiscard]] std::vector<std::uint32_t> children(std::uint32_t number) const {
        return {below_.begin() + first_[number], below_.begin() + first_[number + 1]};
    }
    [[nodiscard]] const TreeSums& sums(std::uint32_t number) const { return sums_[number]; }
    [[nodiscard]] std::uint32_t number_of_owner(std::uint64_t owner) const {
        const auto known = by_owner_.find(owner);
        return known == by_owner_.end() ? kNone : known->second;
    }

    /// Owner ids of each process that has a parent, and of the parent.
    [[nodiscard]] Result<std::vector<std::pair<std::uint64_t, std::uint64_t>>> parents() const {
        budget_.use_memory(parent_.size() * kTreePairMemory);
        RETURN_IF_ERROR(budget_.check_memory());
        std::vector<std::uint64_t> owners(parent_.size());
        for (const auto& [owner, number] : by_owner_) {
            owners[number] = owner;
        }
        std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
        for (const auto& [owner, number] : by_owner_) {
            if (parent_[number] != kNone) {
                pairs.emplace_back(owner, owners[parent_[number]]);
            }
        }
        std::ranges::sort(pairs);
        return pairs;
    }

  private:
    Result<void> read_index() {
        constexpr std::array kReadColumns = {
            records::PROCESS_COLUMN_OWNER_ID, records::PROCESS_COLUMN_MEMORY_BYTES,
            records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH, records::PROCESS_COLUMN_REGISTERED_NAME};
        const auto visit = [this](std::uint64_t row, ProcessIndex::Values values) {
            by_owner_[values[0].value_or(0)] = static_cast<std::uint32_t>(row);
            sums_.push_back({1, values[1], values[2]});
            if (values[3]) {
                by_name_[*values[3]] = static_cast<std::uint32_t>(row);
            }
            budget_.use_memory(kTreeProcessMemory + (values[3] ? kTreeNameMemory : 0));
            return row + 1 < kNone && !budget_.memory_exceeded();
        };
        RETURN_IF_ERROR(dump_.processes().visit(kReadColumns, visit));
        RETURN_IF_ERROR(budget_.check_memory());
        parent_.assign(sums_.size(), kNone);
        return {};
    }

    [[nodiscard]] std::uint32_t number_of(std::uint64_t word) const {
        const WordKind kind = word_kind(scheme_, word);
        if (kind == WordKind::kAtom) {
            const auto known = by_name_.find(table_index(word));
            return known == by_name_.end() ? kNone : known->second;
        }
        return kind == WordKind::kPid
                   ? number_of_owner(pid_serial(scheme_, word) << 32U | pid_number(scheme_, word))
                   : kNone;
    }

    [[nodiscard]] std::uint32_t parent_of(const records::Process& facts) const {
        return facts.has_parent_word() ? number_of(facts.parent_word()) : kNone;
    }

    Result<void> set_parent(std::uint64_t owner, std::uint32_t parent) {
        const std::uint32_t number = number_of_owner(owner);
        if (number != kNone && number != parent) {
            parent_[number] = parent;
        }
        return {};
    }

    Result<void> add_links(OpenedProcess& process) {
        const std::uint32_t number = number_of_owner(process.run.owner_id());
        for (const Pack& pack : process.run.directory.relations) {
            auto relations = dump_.reader().message_at<records::Relations>(
                pack.offset, format::RecordKind::kRelations);
            if (!relations) {
                return wrap("reading links", std::move(relations.error()));
            }
            for (const auto& link : relations->link()) {
                const std::uint32_t other = link.kind() == records::LINK_KIND_PROCESS
                                                ? number_of(link.other_word())
                                                : kNone;
                if (number != kNone && other != kNone && number != other) {
                    links_.emplace_back(number, other);
                    links_.emplace_back(other, number);
                    budget_.use_memory(kTreeLinkMemory);
                }
            }
            RETURN_IF_ERROR(budget_.check_memory());
        }
        return {};
    }

    /// Breadth first from the lowest pid of each set of linked processes.
    void span_links() {
        std::ranges::sort(links_);
        std::vector<bool> seen(parent_.size());
        std::vector<std::pair<std::uint64_t, std::uint32_t>> starts(by_owner_.begin(),
                                                                    by_owner_.end());
        std::ranges::sort(starts);
        for (const auto& [owner, start] : starts) {
            if (seen[start]) {
                continue;
            }
            std::deque<std::uint32_t> open = {start};
            seen[start] = true;
            while (!open.empty()) {
                const std::uint32_t at = open.front();
                open.pop_front();
                const auto links =
                    std::ranges::equal_range(links_, at, {}, [](const auto& l) { return l.first; });
                for (const auto& [from, to] : links) {
                    if (!seen[to]) {
                        seen[to] = true;
                        parent_[to] = from;
                        open.push_back(to);
                    }
                }
            }
        }
    }

    void make_children() {
        const auto count = static_cast<std::uint32_t>(parent_.size());
        cut_circles();
        first_.assign(count + 1, 0);
        for (std::uint32_t i = 0; i < count; ++i) {
            if (parent_[i] == kNone) {
                roots_.push_back(i);
            } else {
                ++first_[parent_[i] + 1];
            }
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            first_[i + 1] += first_[i];
        }
        below_.resize(count - roots_.size());
        std::vector<std::uint32_t> next(first_.begin(), first_.end());
        for (std::uint32_t i = 0; i < count; ++i) {
            if (parent_[i] != kNone) {
                below_[next[parent_[i]]++] = i;
            }
        }
        add_up();
        const auto larger = [this](std::uint32_t a, std::uint32_t b) {
            return std::pair(sums_[b].memory_bytes, a) < std::pair(sums_[a].memory_bytes, b);
        };
        std::ranges::sort(roots_, larger);
        for (std::uint32_t i = 0; i < count; ++i) {
            std::sort(below_.begin() + first_[i], below_.begin() + first_[i + 1], larger);
        }
    }

    /// A name that went to another process may lead from a process to one below it. One of
    /// them becomes a root.
    void cut_circles() {
        std::vector<std::uint32_t> pass(parent_.size(), kNone);
        for (std::uint32_t i = 0; i < parent_.size(); ++i) {
            std::uint32_t at = i;
            while (at != kNone && pass[at] == kNone) {
                pass[at] = i;
                at = parent_[at];
            }
            if (at != kNone && pass[at] == i) {
                parent_[at] = kNone;
            }
        }
    }

    /// Children before their parents.
    void add_up() {
        std::vector<std::uint32_t> order = roots_;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto below = children(order[i]);
            order.insert(order.end(), below.begin(), below.end());
        }
        for (std::size_t i = order.size(); i-- > 0;) {
            if (parent_[order[i]] != kNone) {
                sums_[parent_[order[i]]].add(sums_[order[i]]);
            }
        }
    }

    Dump& dump_;
    const TreeOptions& options_;
    Budget& budget_;
    TagScheme scheme_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_owner_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_name_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links_;
    std::vector<std::uint32_t> parent_;
    std::vector<std::uint32_t> first_;  ///< of each process's children, in below_
    std::vector<std::uint32_t> below_;
    std::vector<std::uint32_t> roots_;
    std::vector<TreeSums> sums_;
};

/// Lists the part of a forest that is asked for.
class Listing {
  public:
    Listing(Dump& dump, const Forest& forest, const TreeOptions& options, Budget& budget)
        : dump_(dump), forest_(forest), options_(options), budget_(budget), names_(dump) {}

    Result<std::vector<TreeLine>> lines(const std::vector<std::uint32_t>& roots) {
        // What is still to be listed, the next one last.
        std::vector<Entry> open;
        push(open, roots, 0);
        while (!open.empty()) {
            const Entry entry = open.back();
            open.pop_back();
            budget_.use_memory(kTreeLineMemory);
            RETURN_IF_ERROR(budget_.check_memory());
            if (entry.number == kNone) {
                lines_.push_back({entry.depth, std::nullopt, entry.rest});
                continue;
            }
            ASSIGN_OR_RETURN(const auto rows,
                             dump_.processes().rows(std::array<std::uint64_t, 1>{entry.number}));
            lines_.push_back(
                {entry.depth, process_line(dump_, rows[0]), forest_.sums(entry.number)});
            names_.add_to(*lines_.back().process, rows[0]);
            push(open, forest_.children(entry.number), entry.depth + 1);
        }
        return std::move(lines_);
    }

  private:
    struct Entry {
        std::uint32_t number = kNone;
        std::uint64_t depth = 0;
        TreeSums rest = {};
    };

    void push(std::vector<Entry>& open, const std::vector<std::uint32_t>& numbers,
              std::uint64_t depth) const {
        const bool deep = options_.depth != 0 && depth >= options_.depth;
        const std::size_t shown =
            deep ? 0
                 : std::min<std::size_t>(numbers.size(),
                                         options_.limit == 0 ? numbers.size() : options_.limit);
        if (shown < numbers.size()) {
            Entry rest{kNone, depth, {}};
            for (std::size_t i = shown; i < numbers.size(); ++i) {
                rest.rest.add(forest_.sums(numbers[i]));
            }
            open.push_back(rest);
        }
        for (std::size_t i = shown; i-- > 0;) {
            open.push_back({numbers[i], depth, {}});
        }
    }

    Dump& dump_;
    const Forest& forest_;
    const TreeOptions& options_;
    Budget& budget_;
    ProcessNames names_;
    std::vector<TreeLine> lines_;
};

Result<ProcessTree> make_tree(Dump& dump, const std::string& file, const TreeOptions& options) {
    ProcessTree answer;
    answer.dump = dump_facts(dump, file);
    answer.links = options.links;
    answer.total = dump.processes().size();
    Budget budget(options.limits);
    Forest forest(dump, options, budget);
    RETURN_IF_ERROR(forest.read(answer.read));
    answer.roots = forest.roots().size();
    std::vector<std::uint32_t> roots = forest.roots();
    if (!options.root.empty()) {
        ASSIGN_OR_RETURN(const auto row, dump.find_process(options.root));
        roots = {forest.number_of_owner(row.owner_id())};
    }
    ASSIGN_OR_RETURN(answer.lines, Listing(dump, forest, options, budget).lines(roots));
    return answer;
}

}  // namespace

void TreeSums::add(const TreeSums& other) {
    const auto add_known = [](std::optional<std::uint64_t>& sum,
                              const std::optional<std::uint64_t>& part) {
        if (part) {
            sum = sum.value_or(0) + *part;
        }
    };
    processes += other.processes;
    add_known(memory_bytes, other.memory_bytes);
    add_known(messages, other.messages);
}

Result<ProcessTree> process_tree(Dump& dump, const std::string& file, const TreeOptions& options) {
    auto tree = make_tree(dump, file, options);
    return tree ? std::move(tree) : wrap("making the tree of processes", std::move(tree.error()));
}

Result<ProcessParents> process_parents(Dump& dump, const TreeOptions& options) {
    ProcessParents answer;
    Budget budget(options.limits);
    Forest forest(dump, options, budget);
    RETURN_IF_ERROR(forest.read(answer.read));
    ASSIGN_OR_RETURN(answer.pairs, forest.parents());
    return answer;
}

}  // namespace beamdump::query
