#include "query/holders/binaries.h"

#include "query/holders/process_sweep.h"
#include "query/memory/binary_records.h"
#include "query/process/process_binaries.h"
#include "query/process/process_names.h"
#include "query/rows/choice.h"
#include "query/rows/first_items.h"

#include <libdump/base/budget.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>
#include <libdump/term/binary_content.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array<Named<BinarySort>, 2> kBinarySorts = {
    {{"size", BinarySort::kSize}, {"references", BinarySort::kReferences}}};

bool binary_before(BinarySort sort, const NodeBinaryLine& a, const NodeBinaryLine& b) {
    return sort == BinarySort::kSize ? std::tie(b.bytes, a.address) < std::tie(a.bytes, b.address)
                                     : std::tie(b.references, b.bytes, a.address) <
                                           std::tie(a.references, a.bytes, b.address);
}

/// An upper bound of what a line takes while its holders are counted.
constexpr std::uint64_t kBinaryLineMemory = 2 * sizeof(NodeBinaryLine) + 96;

/// Counts the processes that refer to each of some binaries.
Result<ProcessesRead> count_holders(Dump& dump, const BinariesOptions& options,
                                    std::vector<NodeBinaryLine>& lines) {
    std::unordered_map<std::uint64_t, NodeBinaryLine*> by_address;
    for (NodeBinaryLine& line : lines) {
        line.holders = 0;
        by_address[line.address] = &line;
    }
    const auto count = [&](OpenedProcess& process) -> Result<void> {
        std::set<NodeBinaryLine*> held;
        const auto visit = [&](std::uint64_t, std::uint64_t binary) {
            if (const auto known = by_address.find(binary); known != by_address.end()) {
                held.insert(known->second);
            }
        };
        RETURN_IF_ERROR(visit_off_heap_binaries(dump, process, OffHeapLists::kAll, visit));
        for (NodeBinaryLine* line : held) {
            *line->holders += 1;
        }
        return {};
    };
    // Which binaries a process refers to is no content of it.
    return visit_processes(dump, {.sensitive = true, .progress = options.progress}, count);
}

Result<NodeBinaries> list_binaries(Dump& dump, const std::string& file,
                                   const BinariesOptions& options) {
    NodeBinaries answer;
    answer.dump = dump_facts(dump, file);
    answer.may_lack_some = is_of_crash_dump(dump) && !dump.trailer().totals().has_binaries();
    Budget budget(options.limits);
    FirstItems<NodeBinaryLine, std::function<bool(const NodeBinaryLine&, const NodeBinaryLine&)>>
        first(options.limit, [sort = options.sort](const auto& a, const auto& b) {
            return binary_before(sort, a, b);
        });
    bool references_told = false;
    RETURN_IF_ERROR(
        visit_binaries(dump, options.limits, [&](const records::Binary& binary) -> Result<void> {
            ++answer.total;
            answer.total_bytes += binary.size_bytes();
            if (binary.size_bytes() < options.at_least) {
                return {};
            }
            NodeBinaryLine line{
                binary.address(),
                binary.has_size_bytes() ? std::optional(binary.size_bytes()) : std::nullopt,
                std::nullopt, captured_bytes(binary) + captured_part_bytes(binary), std::nullopt};
            if (binary.has_references()) {
                line.references = binary.references();
                references_told = true;
            }
            first.add(line);
            ++answer.matching;
            if (options.limit == 0 || answer.matching / 2 < options.limit) {
                budget.use_memory(kBinaryLineMemory);
            }
            return budget.check_memory();
        }));
    if (options.sort == BinarySort::kReferences && answer.matching != 0 && !references_told) {
        return fail(ErrorCode::kNotFound,
                    "they cannot be sorted by references: the dump does not tell them of any");
    }
    answer.binaries = first.take();
    if (!is_of_crash_dump(dump) && !answer.binaries.empty()) {
        ASSIGN_OR_RETURN(answer.read, count_holders(dump, options, answer.binaries));
    }
    return answer;
}

/// Parts of one binary, as intervals of bytes.
class ShownParts {
  public:
    void add(std::uint64_t first, std::uint64_t end) {
        parts_.emplace_back(first, end);
        if (parts_.size() >= merge_at_) {
            merge();
            merge_at_ = std::max(kMergeAt, 2 * parts_.size());
        }
    }

    /// Bytes of the first `size` that some part shows.
    std::uint64_t bytes(std::uint64_t size) {
        merge();
        std::uint64_t sum = 0;
        for (const auto& [first, end] : parts_) {
            sum += std::min(end, size) - std::min(first, size);
        }
        return sum;
    }

  private:
    static constexpr std::size_t kMergeAt = 256;

    void merge() {
        std::ranges::sort(parts_);
        std::vector<std::pair<std::uint64_t, std::uint64_t>> merged;
        for (const auto& [first, end] : parts_) {
            if (!merged.empty() && first <= merged.back().second) {
                merged.back().second = std::max(merged.back().second, end);
            } else {
                merged.emplace_back(first, end);
            }
        }
        parts_ = std::move(merged);
    }

    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts_;
    std::size_t merge_at_ = kMergeAt;
};

// Upper bounds of what the tables below take.
constexpr std::uint64_t kKeptMemory = 80;  // an entry of an off-heap list
constexpr std::uint64_t kLeakLineMemory = 2 * sizeof(BinaryLeakLine) + 256;  // and its texts
// An object that refers to a binary: the part that it shows, and itself.
constexpr std::uint64_t kPartMemory = 32;
constexpr std::uint64_t kObjectMemory = 128;

/// What the tables of one process take of the limit.
class LeakMemory {
  public:
    explicit LeakMemory(const InputLimits& limits) : budget_(limits) {}
    Result<void> use(std::uint64_t bytes) {
        used_ += bytes;
        return keep(bytes);
    }
    /// Not given back.
    Result<void> keep(std::uint64_t bytes) {
        budget_.use_memory(bytes);
        return budget_.check_memory();
    }
    void give(std::uint64_t bytes) {
        used_ -= bytes;
        budget_.give_memory(bytes);
    }
    void give_all() { give(used_); }

  private:
    Budget budget_;
    std::uint64_t used_ = 0;
};

/// Collects which parts of which binaries the terms of an owner show.
class PartsVisitor final : public SweepVisitor {
  public:
    /// Non-owning.
    explicit PartsVisitor(LeakMemory& memory) : memory_(memory) {}
    /// `separate`: nothing is reached from two roots, as from two rows of a table. What was used of
    /// the memory has been given back.
    void begin(bool separate) {
        separate_ = separate;
        binaries_.clear();
        forget_objects();
        objects_memory_ = 0;
    }
    void begin_root(const HeapRoot& root, bool in_key) override {
        SweepVisitor::begin_root(root, in_key);
        if (separate_) {
            forget_objects();
            memory_.give(std::exchange(objects_memory_, 0));
        }
    }
    [[nodiscard]] bool wants_immediates() const override { return false; }
    /// A binary of which terms show parts.
    struct Binary {
        ShownParts parts = {};
        std::optional<std::uint64_t> size = {};  ///< absent: the dump does not have the binary
    };
    /// By its address.
    [[nodiscard]] std::unordered_map<std::uint64_t, Binary>& binaries() { return binaries_; }
    [[nodiscard]] bool refers(std::uint64_t object) const { return referring_.contains(object); }

    Result<void> met(const HeapObject& object, std::span<const WalkLevel> path) override {
        const bool part = object.kind == BoxedKind::kSubBinary ||
                          object.kind == BoxedKind::kSubBits ||
                          object.kind == BoxedKind::kMatchContext;
        if (object.is_cell || (!part && object.kind != BoxedKind::kRefcBinary)) {
            return {};
        }
        RETURN_IF_ERROR(memory_.use(kPartMemory + kObjectMemory));
        objects_memory_ += kObjectMemory;
        if (binary_of(object) != 0) {
            referring_.insert(object.address);
        }
        // From OTP 27 on, what refers to a binary is no term: parts of it are.
        BinaryContent content;
        if (BinaryContent::resolve(scheme(), words(), object.address, content) !=
                BinaryContent::Status::kFound ||
            content.binary() == 0) {
            return {};
        }
        const auto end = content.first_byte() + content.whole_bytes() +
                         (content.bit_offset() + content.trailing_bits() + 7) / 8;
        const Part shown{content.binary(), content.first_byte(), end};
        if (part) {
            partial_.insert(object.address);
            binary(shown.binary).parts.add(shown.first, shown.end);
            return {};
        }
        original_of_[object.address] = shown;
        // Met through a part of it, it shows nothing more by itself.
        if (path.empty() || !partial_.contains(path.back().address)) {
            binary(shown.binary).parts.add(shown.first, shown.end);
        } else {
            binary(shown.binary);
        }
        return {};
    }

    Result<void> again(std::uint64_t address, std::span<WalkLevel> path) override {
        const auto known = original_of_.find(address);
        if (known != original_of_.end() &&
            (path.empty() || !partial_.contains(path.back().address))) {
            binary(known->second.binary).parts.add(known->second.first, known->second.end);
        }
        return {};
    }

  private:
    struct Part {
        std::uint64_t binary = 0;
        std::uint64_t first = 0;
        std::uint64_t end = 0;
    };
    Binary& binary(std::uint64_t address) {
        const auto [known, is_new] = binaries_.try_emplace(address);
        if (is_new) {
            if (const auto info = context().binary_at(address)) {
                known->second.size = info->size_bytes;
            }
        }
        return known->second;
    }

    void forget_objects() {
        original_of_.clear();
        partial_.clear();
        referring_.clear();
    }

    LeakMemory& memory_;
    std::uint64_t objects_memory_ = 0;  ///< of the three below
    bool separate_ = false;
    std::unordered_map<std::uint64_t, Binary> binaries_;
    std::unordered_map<std::uint64_t, Part> original_of_;  ///< by the object that refers to it
    std::unordered_set<std::uint64_t> partial_;            ///< sub binaries and match contexts
    std::unordered_set<std::uint64_t> referring_;
};

class LeakSearch {
  public:
    LeakSearch(Dump& dump, const BinariesOptions& options, BinaryLeaks& answer)
        : dump_(dump),
          of_crash_dump_(is_of_crash_dump(dump)),
          answer_(answer),
          limit_(options.limit),
          memory_(options.limits),
          sweep_(options.limits),
          visitor_(memory_),
          names_(dump),
          first_(options.limit, [](const BinaryLeakLine& a, const BinaryLeakLine& b) {
              return lost(a) > lost(b);
          }) {}

    Result<void> examine(OpenedProcess& process) {
        memory_.give_all();
        Kept kept;
        Result<void> fits;
        const auto visit = [&](std::uint64_t object, std::uint64_t binary) {
            if (fits && (fits = memory_.use(kKeptMemory))) {
                kept.entries.emplace_back(object, binary);
                ++kept.references[binary];
            }
        };
        RETURN_IF_ERROR(visit_off_heap_binaries(dump_, process, OffHeapLists::kAll, visit));
        RETURN_IF_ERROR(fits);
        BinaryLeakLine line;
        if (!of_crash_dump_) {
            add_kept(process.context(), kept.references, line);
            if (line.kept_bytes < kLeastKeptBytes) {
                return {};
            }
        }
        visitor_.begin(false);
        RETURN_IF_ERROR(sweep_.run(dump_, process, visitor_));
        if (of_crash_dump_) {
            // It has what the VM's own walk from the roots met, and no lists.
            add_all_parts(line);
            if (line.kept_bytes < kLeastKeptBytes) {
                return {};
            }
        } else {
            add_garbage(process, kept, line);
            add_parts(line);
        }
        ++answer_.examined;
        names_.add_to(process);
        line.owner.process = process.line;
        return tell(std::move(line));
    }

    /// Tables, literals and persistent terms.
    Result<void> examine_node(const InputLimits& limits) {
        NodeSweep node(limits);
        BinaryLeakLine line;
        Result<void> told;
        const auto end = [&] {
            add_all_parts(line);
            if (line.kept_bytes >= kLeastKeptBytes && told) {
                ++answer_.examined_others;
                told = tell(std::move(line));
            }
            memory_.give_all();
            line = {};
        };
        const auto begin_next = [&](bool separate) {
            return [&, separate](const TermOwner& owner) {
                end();
                visitor_.begin(separate);
                line.owner = owner;
            };
        };
        memory_.give_all();
        visitor_.begin(false);
        RETURN_IF_ERROR(node.rows(dump_, visitor_, begin_next(true)));
        RETURN_IF_ERROR(node.literals(dump_, visitor_, begin_next(false)));
        RETURN_IF_ERROR(node.persistent_terms(dump_, visitor_, begin_next(true)));
        end();
        RETURN_IF_ERROR(told);
        answer_.node = node.counts();
        return {};
    }

    void finish() {
        answer_.owners = first_.take();
        answer_.undecoded_messages = sweep_.counts().undecoded_messages;
        answer_.unreadable = sweep_.counts().unreadable + answer_.node.unreadable;
    }

  private:
    struct Kept {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;  ///< object, binary
        std::unordered_map<std::uint64_t, std::uint64_t> references;   ///< by binary
    };

    static std::uint64_t lost(const BinaryLeakLine& line) {
        return line.pinned_bytes + line.garbage_bytes.value_or(0);
    }

    Result<void> tell(BinaryLeakLine line) {
        if (lost(line) == 0) {
            return {};
        }
        ++answer_.total;
        first_.add(std::move(line));
        return limit_ == 0 || answer_.total / 2 < limit_ ? memory_.keep(kLeakLineMemory)
                                                         : Result<void>();
    }

    static void add_kept(TermContext& context,
                         const std::unordered_map<std::uint64_t, std::uint64_t>& references,
                         BinaryLeakLine& line) {
        for (const auto& [binary, count] : references) {
            if (const auto info = context.binary_at(binary)) {
                ++line.binaries;
                line.kept_bytes += info->size_bytes;
            }
        }
    }

    /// A binary is freed with its last reference.
    void add_garbage(OpenedProcess& process, const Kept& kept, BinaryLeakLine& line) {
        std::unordered_map<std::uint64_t, std::uint64_t> dead;
        for (const auto& [object, binary] : kept.entries) {
            dead[binary] += visitor_.refers(object) ? 0 : 1;
        }
        line.garbage_bytes = line.releasable_bytes = 0;
        for (const auto& [binary, count] : dead) {
            const auto info = process.context().binary_at(binary);
            if (!info || count != kept.references.at(binary)) {
                continue;
            }
            *line.garbage_bytes += info->size_bytes;
            *line.releasable_bytes += info->references == count ? info->size_bytes : 0;
        }
    }

    /// Also what is kept: of an owner without off-heap lists.
    void add_all_parts(BinaryLeakLine& line) {
        for (const auto& [address, binary] : visitor_.binaries()) {
            line.binaries += binary.size ? 1 : 0;
            line.kept_bytes += binary.size.value_or(0);
        }
        add_parts(line);
    }

    void add_parts(BinaryLeakLine& line) {
        std::uint64_t worst = 0;
        for (auto& [address, binary] : visitor_.binaries()) {
            if (!binary.size) {
                continue;
            }
            const std::uint64_t shown = binary.parts.bytes(*binary.size);
            const std::uint64_t pinned = *binary.size - shown;
            line.shown_bytes += shown;
            line.pinned_bytes += pinned;
            line.partial_binaries += pinned == 0 ? 0 : 1;
            line.partial_bytes += pinned == 0 ? 0 : *binary.size;
            if (pinned > worst ||
                (pinned == worst && pinned != 0 && address < line.worst_address)) {
                worst = pinned;
                line.worst_address = address;
                line.worst_bytes = *binary.size;
                line.worst_shown_bytes = shown;
            }
        }
    }

    Dump& dump_;
    bool of_crash_dump_;
    BinaryLeaks& answer_;
    std::uint64_t limit_;
    LeakMemory memory_;
    ProcessSweep sweep_;
    PartsVisitor visitor_;
    ProcessNames names_;
    FirstItems<BinaryLeakLine, std::function<bool(const BinaryLeakLine&, const BinaryLeakLine&)>>
        first_;
};

constexpr auto kBinaryFields = std::to_array<Field<NodeBinaryLine>>({
    field<&NodeBinaryLine::address>(
        {.name = "address", .kind = ColumnKind::kAddress, .sentence = "Of its structure"}),
    field<&NodeBinaryLine::bytes>(
        {.name = "size_bytes", .kind = ColumnKind::kBytes, .sentence = "In full"}),
    field<&NodeBinaryLine::references>(
        {.name = "references", .kind = ColumnKind::kCount, .sentence = "The VM's count"}),
    field<&NodeBinaryLine::holders>(
        {.name = "holding_processes",
         .kind = ColumnKind::kCount,
         .sentence = "Processes that refer to it; absent for a crash dump"}),
    field<&NodeBinaryLine::captured_bytes>({.name = "captured_bytes",
                                            .kind = ColumnKind::kBytes,
                                            .sentence = "Bytes of its content in the dump"}),
});
constexpr auto kBinaryColumns = columns_of(kBinaryFields);

}  // namespace

std::span<const Field<NodeBinaryLine>> binary_fields() {
    return kBinaryFields;
}

std::span<const Column> binary_columns() {
    return kBinaryColumns;
}

Row binary_cells(const NodeBinaryLine& line) {
    return row_of(kBinaryFields, line);
}

Result<BinarySort> parse_binary_sort(std::string_view name) {
    return parse_choice("sort order", name, kBinarySorts);
}

Result<NodeBinaries> node_binaries(Dump& dump, const std::string& file,
                                   const BinariesOptions& options) {
    auto answer = list_binaries(dump, file, options);
    return answer ? std::move(answer) : wrap("listing the binaries", std::move(answer.error()));
}

Result<BinaryLeaks> binary_leaks(Dump& dump, const std::string& file,
                                 const BinariesOptions& options) {
    BinaryLeaks answer;
    answer.dump = dump_facts(dump, file);
    LeakSearch search(dump, options, answer);
    auto read = visit_processes(
        dump, {.sensitive = true, .use = HeapUse::kWhole, .progress = options.progress},
        [&search](OpenedProcess& process) { return search.examine(process); });
    if (!read) {
        return wrap("looking at the binaries of processes", std::move(read.error()));
    }
    answer.read = *read;
    RETURN_IF_ERROR(search.examine_node(options.limits));
    search.finish();
    return answer;
}

}  // namespace beamdump::query
