#include <libvm/beam/allocators/categories.h>

#include <algorithm>
#include <optional>

namespace beamdump::beam {
namespace {

/// Sums of allocators' blocks and of fix_alloc's types.
class BlockSums {
  public:
    explicit BlockSums(std::span<const records::AllocatorInstance> allocators) {
        for (const auto& instance : allocators) {
            for (const auto* carriers :
                 {&instance.multi_block(), &instance.single_block(), &instance.pool()}) {
                for (const auto& blocks : carriers->blocks()) {
                    bytes_[blocks.allocator()] += blocks.bytes();
                }
            }
            present_[instance.number()] = true;
            for (const auto& type : instance.fixed_size()) {
                allocated_[type.name()] += type.allocated_bytes();
                used_[type.name()] += type.used_bytes();
            }
        }
    }
    [[nodiscard]] bool has(std::uint64_t number) const { return present_.contains(number); }
    [[nodiscard]] bool has_fixed_sizes() const { return !allocated_.empty(); }
    std::uint64_t blocks(std::uint64_t number) { return bytes_[number]; }
    /// erts_memory(): the types of fix_alloc that belong to processes.
    static std::uint64_t of_processes(std::map<std::string, std::int64_t>& amounts) {
        std::int64_t sum = 0;
        for (const auto* name :
             {"proc", "monitor", "link", "msg_ref", "ll_ptimer", "hl_ptimer", "bif_timer"}) {
            sum += amounts[name];
        }
        return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
    }
    std::map<std::string, std::int64_t>& allocated() { return allocated_; }
    std::map<std::string, std::int64_t>& used() { return used_; }

  private:
    std::map<std::uint64_t, std::uint64_t> bytes_;
    std::map<std::uint64_t, bool> present_;
    std::map<std::string, std::int64_t> allocated_, used_;
};

std::optional<std::uint64_t> sum_of(const MemoryAmounts& areas,
                                    std::initializer_list<const char*> names) {
    std::uint64_t sum = 0;
    for (const auto* name : names) {
        const auto area = areas.find(name);
        if (area == areas.end()) {
            return std::nullopt;
        }
        sum += area->second;
    }
    return sum;
}

}  // namespace

MemoryAmounts memory_categories(const Layout& layout,
                                std::span<const records::AllocatorInstance> allocators,
                                const MemoryAmounts& areas) {
    LayoutNames names(layout);
    const auto temporary = names.constant("allocator_temporary");
    const auto heap = names.constant("allocator_heap");
    const auto ets = names.constant("allocator_ets");
    const auto binary = names.constant("allocator_binary");
    const auto test = names.constant("allocator_test");
    if (!names.outcome()) {
        return {};
    }
    MemoryAmounts categories;
    const auto put = [&categories](const char* name, std::optional<std::uint64_t> bytes) {
        if (bytes) {
            categories[name] = *bytes;
        }
    };
    const auto plus = [](std::optional<std::uint64_t> left, std::optional<std::uint64_t> right) {
        return left && right ? std::optional(*left + *right) : std::nullopt;
    };
    BlockSums sums(allocators);
    // As the VM, which knows no memory unless all of these count theirs.
    bool all = true;
    std::uint64_t total = 0;
    for (auto number = temporary; number < test; ++number) {
        all = all && sums.has(number);
        total += number == temporary ? 0 : sums.blocks(number);
    }
    if (all) {
        put("total", plus(total, sum_of(areas, {"loaded_code"})));
        put("binary", sums.blocks(binary));
        put("ets", plus(sums.blocks(ets), sum_of(areas, {"ets_misc"})));
        const auto table = sum_of(areas, {"process_table"});
        if (sums.has_fixed_sizes()) {
            const auto heaps = plus(sums.blocks(heap), table);
            put("processes", plus(heaps, BlockSums::of_processes(sums.allocated())));
            put("processes_used", plus(heaps, BlockSums::of_processes(sums.used())));
        }
        if (categories.contains("total") && categories.contains("processes") &&
            categories["total"] >= categories["processes"]) {
            categories["system"] = categories["total"] - categories["processes"];
        }
    }
    put("atom", sum_of(areas, {"atom_table", "atom_space"}));
    put("atom_used", sum_of(areas, {"atom_table", "atom_space_used"}));
    const auto code = sum_of(areas, {"module_table", "export_table", "export_list", "fun_table",
                                     "module_refs", "loaded_code"});
    // From OTP 29 on the fun table's entries count too (erts_fun_entries_sz()).
    const auto funs = layout.structure("FunTableEntry") ? sum_of(areas, {"fun_list"})
                                                        : std::optional<std::uint64_t>(0);
    put("code", plus(code, funs));
    return categories;
}

}  // namespace beamdump::beam
