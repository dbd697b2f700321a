#include "query/memory/memory.h"

#include "query/memory/binary_records.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <array>

namespace beamdump::query {

namespace {

constexpr std::uint64_t kSmallestClass = 256;
constexpr std::uint64_t kLargestClass = 64U << 20U;

std::vector<BinarySizeClass> empty_classes() {
    std::vector<BinarySizeClass> classes = {{0, kSmallestClass, 0, 0}};
    for (auto from = kSmallestClass; from < kLargestClass; from *= 4) {
        classes.push_back({from, from * 4, 0, 0});
    }
    classes.push_back({kLargestClass, std::nullopt, 0, 0});
    return classes;
}

/// The classes that have any, the smallest first: below 256 bytes, then each to four times its
/// beginning, the last from 64 MiB on. Reads the records of all binaries. Memory: see
/// visit_binaries().
Result<std::vector<BinarySizeClass>> binary_sizes(Dump& dump, const InputLimits& limits) {
    auto classes = empty_classes();
    const auto count = [&classes](const records::Binary& binary) -> Result<bool> {
        if (!binary.has_size_bytes()) {
            return true;  // a text breaks off before it
        }
        for (auto& one : classes) {
            if (!one.below_bytes || binary.size_bytes() < *one.below_bytes) {
                ++one.binaries;
                one.bytes += binary.size_bytes();
                break;
            }
        }
        return true;
    };
    if (auto read = visit_binaries(dump, limits, count); !read) {
        return wrap("counting binaries by size", std::move(read.error()));
    }
    std::erase_if(classes, [](const BinarySizeClass& one) { return one.binaries == 0; });
    return classes;
}

struct Holder {
    std::string_view source;  // allocator, or kind of mapping
    const char* name;
};

/// Who holds an allocator's blocks (erl_alloc.types).
constexpr std::array kAllocatorHolders = {Holder{"eheap_alloc", "heaps"},
                                          Holder{"binary_alloc", "binaries"},
                                          Holder{"ets_alloc", "ets"},
                                          Holder{"fix_alloc", "process_structures"},
                                          Holder{"literal_alloc", "literals"},
                                          Holder{"ll_alloc", "long_lived_tables"},
                                          Holder{"driver_alloc", "drivers"},
                                          Holder{"std_alloc", "standard_blocks"},
                                          Holder{"sl_alloc", "short_lived_blocks"},
                                          Holder{"temp_alloc", "temporary_blocks"}};

/// What a mapping has outside of carriers and of mseg_alloc's cache.
constexpr std::array kMappingHolders = {
    Holder{"heap", "c_heap"},         Holder{"malloc_arena", "c_heap"},
    Holder{"thread_stack", "stacks"}, Holder{"jit_code", "jit_code"},
    Holder{"vm_file", "vm_file"},     Holder{"library", "libraries"},
    Holder{"kernel", "kernel"}};

constexpr const char* kOverhead = "allocator_overhead";
constexpr const char* kCache = "segment_cache";
constexpr const char* kUnexplained = "unexplained";

class Parts {
  public:
    void add(const std::string& name, std::uint64_t bytes,
             std::optional<std::uint64_t> blocks = std::nullopt) {
        const auto known = std::ranges::find(parts_, name, &ResidentPart::name);
        if (known == parts_.end()) {
            parts_.push_back({name, bytes, blocks});
        } else {
            known->bytes += bytes;
        }
    }
    std::vector<ResidentPart> largest_first() {
        std::erase_if(parts_, [](const ResidentPart& part) { return part.bytes == 0; });
        std::ranges::stable_sort(parts_, std::greater(), &ResidentPart::bytes);
        return std::move(parts_);
    }

  private:
    std::vector<ResidentPart> parts_;
};

template <std::size_t Count>
const char* holder(const std::array<Holder, Count>& holders, std::string_view source) {
    const auto found = std::ranges::find(holders, source, &Holder::source);
    return found == holders.end() ? nullptr : found->name;
}

/// Divides what is resident. An allocator's blocks may be more than that: memory that nobody has
/// touched yet is in none. What of resident carriers is in no block, by their sizes, is overhead.
std::vector<ResidentPart> divide_resident(const NodeMemory& memory,
                                          const std::vector<AllocatorLine>& lines,
                                          std::uint64_t& unexplained) {
    Parts parts;
    std::uint64_t in_carriers = 0;
    for (const auto& line : lines) {
        if (!line.resident_bytes) {
            continue;
        }
        const auto used = std::min(line.block_bytes, *line.resident_bytes);
        const auto* name = holder(kAllocatorHolders, line.name);
        parts.add(name != nullptr ? name : line.name, used, line.blocks);
        parts.add(kOverhead, *line.resident_bytes - used);
        in_carriers += *line.resident_bytes;
    }
    std::uint64_t carriers_of_groups = 0;
    for (const auto& group : memory.system.group()) {
        const auto inside = group.carrier_resident_bytes() + group.cache_resident_bytes();
        const auto outside = group.resident_bytes() - std::min(inside, group.resident_bytes());
        // Pages that came between the two readings are in both or in neither.
        carriers_of_groups += group.resident_bytes() - outside;
        const auto* name = holder(kMappingHolders, group.kind());
        if (name == nullptr) {
            unexplained += outside;
        } else {
            parts.add(name, outside);
        }
    }
    parts.add(kCache, carriers_of_groups - std::min(carriers_of_groups, in_carriers));
    parts.add(kUnexplained, unexplained);
    return parts.largest_first();
}

/// Whether the node stood still at the beginning of the capture, when its memory is read. Resident
/// pages are always the node's own, also while a twin is read.
std::optional<bool> stood_still(Dump& dump) {
    if (dump.trailer().epoch_offset().empty()) {
        return std::nullopt;
    }
    const auto first = dump.reader().message_at<records::Epoch>(dump.trailer().epoch_offset(0),
                                                                format::RecordKind::kEpoch);
    return first && first->has_source()
               ? std::optional(first->source() == records::MEMORY_SOURCE_STOPPED)
               : std::nullopt;
}

}  // namespace

std::vector<ResidentPart> resident_parts(const NodeMemory& node) {
    std::uint64_t unexplained = 0;
    return node.system.has_resident_bytes()
               ? divide_resident(node, allocator_lines(node, false), unexplained)
               : std::vector<ResidentPart>{};
}

std::vector<CgroupLine> cgroup_lines(const records::SystemMemory& system) {
    const auto known = [](bool has, std::uint64_t value) {
        return has ? std::optional(value) : std::nullopt;
    };
    std::vector<CgroupLine> lines;
    for (const auto& cgroup : system.cgroup()) {
        CgroupLine line;
        line.name = cgroup.name();
        line.used_bytes = known(cgroup.has_used_bytes(), cgroup.used_bytes());
        if (cgroup.has_used_bytes() && cgroup.has_inactive_file_bytes()) {
            line.working_set_bytes =
                cgroup.used_bytes() - std::min(cgroup.used_bytes(), cgroup.inactive_file_bytes());
        }
        line.limit_bytes = known(cgroup.has_limit_bytes(), cgroup.limit_bytes());
        line.high_bytes = known(cgroup.has_high_bytes(), cgroup.high_bytes());
        line.swap_bytes = known(cgroup.has_swap_bytes(), cgroup.swap_bytes());
        line.oom_kills = known(cgroup.has_oom_kills(), cgroup.oom_kills());
        line.limit_reached = known(cgroup.has_limit_reached(), cgroup.limit_reached());
        lines.push_back(std::move(line));
    }
    return lines;
}

Result<Memory> memory(Dump& dump, const std::string& file, const MemoryOptions& options) {
    ASSIGN_OR_RETURN(const auto node, node_memory(dump));
    const auto& totals = dump.trailer().totals();
    const auto known = [](bool has, std::uint64_t value) {
        return has ? std::optional(value) : std::nullopt;
    };
    Memory answer;
    answer.dump = dump_facts(dump, file);
    answer.categories = node.categories;
    const auto lines = allocator_lines(node, false);
    const auto& system = node.system;
    if (system.has_resident_bytes()) {
        std::uint64_t unexplained = 0;
        answer.resident = divide_resident(node, lines, unexplained);
        answer.resident_bytes = system.resident_bytes();
        answer.unexplained_bytes = unexplained;
        answer.of_one_moment = stood_still(dump);
        answer.swapped_bytes = 0;
        for (const auto& group : system.group()) {
            *answer.swapped_bytes += group.swapped_bytes();
        }
    } else {
        answer.resident_bytes =
            known(dump.node().has_resident_bytes(), dump.node().resident_bytes());
    }
    answer.lazy_free_bytes = known(system.has_lazy_free_bytes(), system.lazy_free_bytes());
    answer.cgroups = cgroup_lines(system);
    if (!lines.empty()) {
        answer.allocator_free_bytes = 0;
        for (const auto& line : lines) {
            *answer.allocator_free_bytes += line.free_bytes();
        }
    }
    const auto& cache = system.segment_cache();
    answer.cached_segment_bytes = known(cache.has_bytes(), cache.bytes());
    answer.binary_bytes = known(totals.has_binary_bytes(), totals.binary_bytes());
    answer.binary_count = known(totals.has_binaries(), totals.binaries());
    answer.code_bytes = known(totals.has_code_bytes(), totals.code_bytes());
    answer.module_instances = known(totals.has_modules(), totals.modules());
    answer.atom_count = known(totals.has_atoms(), totals.atoms());
    ProcessNames names(dump);
    for (const auto& list : dump.trailer().top()) {
        if (list.by() != records::PROCESS_COLUMN_MEMORY_BYTES) {
            continue;
        }
        for (const auto& row : list.row()) {
            if (options.limit == 0 || answer.largest.size() < options.limit) {
                answer.largest.push_back(process_line(dump, row));
                names.add_to(answer.largest.back(), row);
            }
        }
    }
    GroupsOptions kinds;
    kinds.limit = options.limit;
    ASSIGN_OR_RETURN(answer.kinds, process_groups(dump, file, kinds));
    const RowQuery tables{.sort = std::string(kEtsSort), .filters = {}, .limit = options.limit};
    if (auto listed = list_ets_tables(dump, tables)) {
        auto& largest = answer.tables.emplace();
        largest.total = listed->total();
        for (const Row& row : listed->take()) {
            largest.tables.push_back(ets_table_of(row));
        }
    } else if (listed.error().code != ErrorCode::kNotFound) {
        return std::unexpected(std::move(listed.error()));
    }
    if (options.binaries) {
        ASSIGN_OR_RETURN(answer.binary_sizes, binary_sizes(dump, options.limits));
    }
    if (options.blocks) {
        ASSIGN_OR_RETURN(answer.blocks, blocks_in_use(dump, options.limit, options.found));
    }
    return answer;
}

}  // namespace beamdump::query
