#include <libdump/base/return_if_error.h>
#include <libvm/beam/allocators/memory_amounts.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/structs.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::beam {
namespace {

/// module.c and index.c: a module table begins with this many slots, which are not counted.
constexpr std::uint64_t kFirstModuleSlots = 64;
/// erl_ptab.h: each slot has a word, and an id of 4 bytes for when it is free.
constexpr std::uint64_t kProcessSlotBytes = 12;
constexpr std::uint64_t kRangeBytes = 16;  // beam_ranges.c: a start and an end
constexpr std::uint64_t kMaxSlotsOfTables = std::uint64_t{1} << 32U;
constexpr std::uint64_t kMaxAllocatorName = 64;

/// What index_table_sz() (index.c) says of a table, and what it holds.
struct IndexTableSize {
    std::uint64_t bytes = 0;
    std::uint64_t slots = 0;
    std::uint64_t size = 0;
    std::uint64_t entries = 0;
};

class AreaReader {
  public:
    AreaReader(Vm& vm, LayoutNames& names)
        : vm_(vm),
          hash_(names),
          table_(names),
          module_bytes_(names.bytes(runtime::Module::kName)),
          entry_bytes_(names.bytes(runtime::ExportEntry::kName)),
          export_bytes_(names.bytes(runtime::Export::kName)),
          fun_bytes_(names.bytes(runtime::ErlFunEntry::kName)),
          staged_funs_(names.has_structure(runtime::FunTableEntry::kName)),
          fun_entry_bytes_(staged_funs_ ? names.bytes(runtime::FunTableEntry::kName) : 0),
          process_slots_(names.field(runtime::ErtsPTab::max)),
          range_modules_(names.field(runtime::CodeRanges::modules)),
          range_allocated_(names.field(runtime::CodeRanges::allocated)),
          ranges_bytes_(names.bytes(runtime::CodeRanges::kName)) {}

    Result<std::uint64_t> atom_table() {
        ASSIGN_OR_RETURN(const auto size, index_table(vm_.tables().atoms));
        return size.bytes;
    }
    /// module_table_sz(): the tables' growth, and their modules.
    Result<std::uint64_t> module_table() {
        std::uint64_t bytes = 0;
        for (std::size_t index = 0; index < kCodeIndexes; ++index) {
            ASSIGN_OR_RETURN(const auto size,
                             index_table(vm_.tables().modules + index * table_.bytes));
            if (size.size + size.slots < kFirstModuleSlots) {
                return fail(ErrorCode::kImplausible,
                            fmt::format("module table {}: expected {} slots at least, found {}",
                                        index, kFirstModuleSlots, size.slots));
            }
            bytes += sizeof(Address) * (size.size + size.slots - kFirstModuleSlots) +
                     size.entries * module_bytes_;
        }
        return bytes;
    }
    /// The bytes of three tables in a row.
    Result<std::uint64_t> staged_table(Address first) {
        std::uint64_t bytes = 0;
        for (std::size_t index = 0; index < kCodeIndexes; ++index) {
            ASSIGN_OR_RETURN(const auto size, index_table(first + index * table_.bytes));
            bytes += size.bytes;
        }
        return bytes;
    }
    /// What all the tables' entries point to: each object has an entry for each table.
    Result<std::uint64_t> staged_objects(Address first, std::uint64_t object, std::uint64_t entry) {
        std::uint64_t most = 0;
        for (std::size_t index = 0; index < kCodeIndexes; ++index) {
            ASSIGN_OR_RETURN(const auto size, index_table(first + index * table_.bytes));
            most = std::max(most, size.entries);
        }
        return most * (object + kCodeIndexes * entry);
    }
    Result<std::uint64_t> export_list() {
        return staged_objects(vm_.tables().exports, export_bytes_, entry_bytes_);
    }
    Result<std::uint64_t> fun_table() {
        if (staged_funs_) {
            return staged_table(vm_.tables().funs);
        }
        ASSIGN_OR_RETURN(const auto size, hash_table(vm_.tables().funs));
        return size.bytes;
    }
    [[nodiscard]] bool has_fun_list() const { return staged_funs_; }
    Result<std::uint64_t> fun_list() {
        return staged_objects(vm_.tables().funs, fun_bytes_, fun_entry_bytes_);
    }
    Result<std::uint64_t> module_refs() {
        const auto& ranges = vm_.tables().memory.code_ranges;
        if (!ranges) {
            return fail(ErrorCode::kAbsent, "the ranges of code were not found");
        }
        std::uint64_t allocated = 0;
        for (std::size_t index = 0; index < kCodeIndexes; ++index) {
            ASSIGN_OR_RETURN(
                const auto read,
                OwnedStruct::read(vm_.bulk(), *ranges + index * ranges_bytes_, ranges_bytes_));
            const auto here = read.view().get(range_allocated_);
            if (here > kMaxSlotsOfTables) {
                return fail(ErrorCode::kImplausible,
                            fmt::format("expected a number of code ranges, found {:#x}", here));
            }
            allocated += here;
        }
        return allocated * kRangeBytes;
    }
    Result<std::uint64_t> process_table() {
        ASSIGN_OR_RETURN(const auto slots, vm_.bulk().value<std::uint32_t>(vm_.tables().processes +
                                                                           process_slots_.offset));
        return slots * kProcessSlotBytes;
    }
    Result<std::uint64_t> word(Address address) {
        ASSIGN_OR_RETURN(const auto value, vm_.bulk().word(address));
        if (value > kMaxMemoryBytes) {
            return fail(
                ErrorCode::kImplausible,
                fmt::format("expected an amount of memory at {:#x}, found {:#x}", address, value));
        }
        return value;
    }

  private:
    /// hash_table_sz() (hash.c).
    Result<IndexTableSize> hash_table(Address address) {
        ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_.bulk(), address, hash_.bytes));
        const auto shift = read.view().get(hash_.shift);
        if (shift < 32 || shift > 63) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("hash table at {:#x}: expected a shift of 32 to 63, found {}",
                                    address, shift));
        }
        std::array<char, kMaxAllocatorName> name{};
        ASSIGN_OR_RETURN(const auto got,
                         vm_.memory().read_some(read.view().get(hash_.name),
                                                std::as_writable_bytes(std::span(name))));
        const auto length = std::string_view(name.data(), got).find('\0');
        if (length == std::string_view::npos) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("hash table at {:#x}: expected a name", address));
        }
        IndexTableSize size;
        size.slots = std::uint64_t{1} << (64 - shift);
        size.bytes = hash_.bytes + size.slots * sizeof(Address) + length + 1;
        return size;
    }
    Result<IndexTableSize> index_table(Address address) {
        ASSIGN_OR_RETURN(auto size, hash_table(address));
        ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_.bulk(), address, table_.bytes));
        size.size = read.view().u32(table_.size);
        size.entries = read.view().u32(table_.entries);
        size.bytes += table_.bytes - hash_.bytes + size.size * sizeof(Address);
        return size;
    }

    Vm& vm_;
    HashFields hash_;
    IndexTableFields table_;
    std::uint64_t module_bytes_, entry_bytes_, export_bytes_, fun_bytes_;
    bool staged_funs_;
    std::uint64_t fun_entry_bytes_;
    Field process_slots_, range_modules_, range_allocated_;
    std::uint32_t ranges_bytes_;
};

}  // namespace

MemoryAmounts read_areas(Vm& vm, const AtomSpace& atoms, std::uint64_t module_code_bytes,
                         const std::function<void(std::string)>& failed) {
    LayoutNames names(vm.layout());
    AreaReader reader(vm, names);
    MemoryAmounts areas;
    if (auto resolved = names.outcome(); !resolved) {
        failed(resolved.error().message);
        return areas;
    }
    const auto add = [&](const char* name, const Result<std::uint64_t>& bytes) {
        if (bytes) {
            areas[name] = *bytes;
        } else {
            failed(fmt::format("the size of {} is not known: {}", name, bytes.error().message));
        }
    };
    const auto& memory = vm.tables().memory;
    add("atom_table", reader.atom_table());
    areas["atom_space"] = atoms.reserved_bytes();
    areas["atom_space_used"] = atoms.used_bytes();
    add("module_table", reader.module_table());
    add("export_table", reader.staged_table(vm.tables().exports));
    add("export_list", reader.export_list());
    add("fun_table", reader.fun_table());
    if (reader.has_fun_list()) {
        add("fun_list", reader.fun_list());
    }
    add("module_refs", reader.module_refs());
    add("loaded_code", memory.code_bytes ? reader.word(*memory.code_bytes) : module_code_bytes);
    add("process_table", reader.process_table());
    if (memory.ets_bytes) {
        add("ets_misc", reader.word(*memory.ets_bytes));
    }
    return areas;
}

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
    const auto temporary = names.constant(runtime::constant::allocator_temporary);
    const auto heap = names.constant(runtime::constant::allocator_heap);
    const auto ets = names.constant(runtime::constant::allocator_ets);
    const auto binary = names.constant(runtime::constant::allocator_binary);
    const auto test = names.constant(runtime::constant::allocator_test);
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
    const auto funs = layout.has(runtime::FunTableEntry::kName) ? sum_of(areas, {"fun_list"})
                                                                : std::optional<std::uint64_t>(0);
    put("code", plus(code, funs));
    return categories;
}

}  // namespace beamdump::beam
