#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libvm/arch/code_constants.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/search/table_search.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/tables/index_table.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/vm/steady_read.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <unordered_set>
#include <vector>

namespace beamdump::beam {
namespace {

// A thread may be adding to a table while it is examined.
constexpr std::uint32_t kMaxEntriesInMotion = 64;

/// The fields of a hash table and of the index table that begins with one.
struct HashTableFields {
    HashFields hash;
    IndexTableFields index;

    static Result<HashTableFields> resolve(const Layout& layout) {
        LayoutNames names(layout);
        const HashTableFields fields{HashFields(names), IndexTableFields(names)};
        RETURN_IF_ERROR(names.outcome());
        if (fields.index.name.offset != fields.hash.name.offset) {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("layout: {}.IndexTable does not begin with its hash table",
                                    layout.name()));
        }
        return fields;
    }
};

bool is_hash(const Vm& vm, const HashTableFields& fields, StructView table) {
    // hash.h: the number of slots is 2^(64 - shift).
    const auto shift = table.u32(fields.hash.shift);
    return shift >= 36 && shift < 64 &&
           vm.plausible(table.get(fields.hash.bucket),
                        (std::uint64_t{1} << (64 - shift)) * sizeof(Address));
}

bool is_index(const Vm& vm, const HashTableFields& fields, StructView table) {
    const auto entries = table.u32(fields.index.entries);
    const auto members = table.u32(fields.hash.count);
    return is_hash(vm, fields, table) && entries <= table.u32(fields.index.size) &&
           std::max(entries, members) - std::min(entries, members) <= kMaxEntriesInMotion &&
           vm.plausible(table.get(fields.index.segments), sizeof(Address));
}

/// The addresses of tables of that name and shape, ascending.
std::vector<Address> tables(const ImageSearch& search, const HashTableFields& fields,
                            std::string_view name, std::uint32_t bytes,
                            const std::function<bool(StructView)>& has_shape) {
    std::vector<Address> candidates;
    for (const auto pointer : search.pointers_to_string(name)) {
        const auto start = pointer - fields.hash.name.offset;
        const auto table = search.at(start, bytes);
        if (table && has_shape(StructView(*table))) {
            candidates.push_back(start);
        }
    }
    std::ranges::sort(candidates);
    return candidates;
}

Result<std::vector<Address>> index_tables(const Vm& vm, const ImageSearch& search,
                                          std::string_view name) {
    ASSIGN_OR_RETURN(const auto fields, HashTableFields::resolve(vm.layout()));
    return tables(search, fields, name, fields.index.bytes,
                  [&](StructView table) { return is_index(vm, fields, table); });
}

}  // namespace

Result<Address> find_hash(const Vm& vm, const ImageSearch& search, std::string_view what,
                          std::string_view name) {
    ASSIGN_OR_RETURN(const auto fields, HashTableFields::resolve(vm.layout()));
    const auto candidates = tables(search, fields, name, fields.hash.bytes,
                                   [&](StructView table) { return is_hash(vm, fields, table); });
    return only_one(what, fmt::format("one hash table named \"{}\"", name), candidates);
}

Result<Address> find_index_table(const Vm& vm, const ImageSearch& search, std::string_view what,
                                 std::string_view name) {
    ASSIGN_OR_RETURN(auto candidates, index_tables(vm, search, name));
    return only_one(what, fmt::format("one index table named \"{}\"", name), candidates);
}

Result<Address> find_staged_tables(const Vm& vm, const ImageSearch& search, std::string_view what,
                                   std::initializer_list<std::string_view> names) {
    ASSIGN_OR_RETURN(const auto table, vm.layout().structure(runtime::IndexTable::kName.text));
    const std::uint64_t bytes = table->bytes;
    std::vector<Address> all;
    for (const auto name : names) {
        ASSIGN_OR_RETURN(auto candidates, index_tables(vm, search, name));
        all.insert(all.end(), candidates.begin(), candidates.end());
    }
    const bool in_a_row =
        all.size() == kCodeIndexes && all[1] - all[0] == bytes && all[2] - all[1] == bytes;
    if (!in_a_row) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{}: expected three index tables named \"{}\", {} bytes apart, "
                                "found {}",
                                what, fmt::join(names, "\" or \""), bytes, listed(all)));
    }
    return all.front();
}

namespace {

constexpr std::uint32_t kFewestSlots = 1024;      // erl_process.h: ERTS_MIN_PROCESSES, of ports too
constexpr std::uint32_t kSlotsLookedInto = 4096;  // used slots are scattered over the table
constexpr std::size_t kMaxMembers = 16;
// A slot may be filled before its element is complete.
constexpr std::size_t kMaxOthers = 2;
constexpr int kLooksAtASlot = 4;

struct TableFields : IdTableFields {
    explicit TableFields(LayoutNames& names) : IdTableFields(names) {}
    Field id;
    std::uint64_t pid_tag = 0, port_tag = 0, tag_mask = 0;

    static Result<TableFields> resolve(const Layout& layout) {
        LayoutNames names(layout);
        TableFields fields(names);
        fields.id = names.field(runtime::Process::common_id);
        fields.pid_tag = names.constant(runtime::constant::pid_tag);
        fields.port_tag = names.constant(runtime::constant::port_tag);
        fields.tag_mask = (std::uint64_t{1} << names.constant(runtime::constant::pid_shift)) - 1;
        RETURN_IF_ERROR(names.outcome());
        return fields;
    }
};

bool has_shape(const Vm& vm, const TableFields& fields, StructView table) {
    const auto slots = table.u32(fields.max);
    return slots >= kFewestSlots && slots <= kMaxPtabSlots && std::has_single_bit(slots) &&
           table.get(fields.mask) == slots - 1 && table.u32(fields.count) <= slots &&
           vm.plausible(table.get(fields.tab), std::uint64_t{slots} * sizeof(Address)) &&
           vm.plausible(table.get(fields.invalid), fields.id.offset + fields.id.bytes);
}

/// What is known of a slot.
enum class Member : std::uint8_t { kNone, kFits, kOther };

/// Whether the member in a slot has an identifier of that kind, and for processes of that slot. One
/// that ends meanwhile is none: only what does not fit twice, in the same slot, is something else.
Member member_at(Vm& vm, const TableFields& fields, const PidWords& words, StructView table,
                 std::size_t slot, std::uint64_t tag) {
    const auto at = table.get(fields.tab) + slot * sizeof(Address);
    std::optional<Address> before;
    for (int looks = 0; looks < kLooksAtASlot; ++looks) {
        const auto pointer = vm.bulk().word(at);
        if (!pointer || *pointer == 0 || *pointer == table.get(fields.invalid)) {
            return Member::kNone;
        }
        const auto id = vm.bulk().word(*pointer + fields.id.offset);
        if (id && (*id & fields.tag_mask) == tag &&
            (tag != fields.pid_tag || words.slot(*id) == slot)) {
            return Member::kFits;
        }
        if (before == *pointer) {
            return Member::kOther;
        }
        before = *pointer;
    }
    return Member::kNone;
}

/// Whether the members' identifiers have a tag and fit their slots.
Result<bool> members_fit(Vm& vm, const TableFields& fields, StructView table, std::uint64_t tag) {
    ASSIGN_OR_RETURN(const auto words, PidWords::resolve(vm.layout(), table.u32(fields.max)));
    const auto first = table.get(fields.tab);
    const auto slots = std::min(table.u32(fields.max), kSlotsLookedInto);
    ASSIGN_OR_RETURN(const auto present,
                     vm.target().pages().present({first, first + slots * sizeof(Address)}));
    std::size_t members = 0;
    std::size_t others = 0;
    for (const auto& part : present) {
        ASSIGN_OR_RETURN(const auto pointers,
                         read_words(vm.bulk(), part.begin, part.bytes() / sizeof(Address)));
        auto slot = (part.begin - first) / sizeof(Address);
        for (std::size_t index = 0; index < pointers.size() && members < kMaxMembers;
             ++index, ++slot) {
            if (pointers[index] == 0 || pointers[index] == table.get(fields.invalid)) {
                continue;
            }
            const auto member = member_at(vm, fields, words, table, slot, tag);
            members += member == Member::kFits ? 1 : 0;
            others += member == Member::kOther ? 1 : 0;
        }
    }
    return others <= kMaxOthers && (members != 0 || tag != fields.pid_tag);
}

}  // namespace

Result<IdTables> find_id_tables(Vm& vm, const ImageSearch& search) {
    ASSIGN_OR_RETURN(const auto fields, TableFields::resolve(vm.layout()));
    const auto shaped =
        search.matching(fields.bytes, [&](Address, std::span<const std::byte> bytes) {
            return has_shape(vm, fields, StructView(bytes));
        });
    std::vector<Address> processes;
    std::vector<Address> ports;
    for (const auto address : shaped) {
        const StructView table(*search.at(address, fields.bytes));
        const auto id = vm.memory().word(table.get(fields.invalid) + fields.id.offset);
        const auto tag = id ? *id & fields.tag_mask : 0;
        if (tag != fields.pid_tag && tag != fields.port_tag) {
            continue;
        }
        const auto fit = members_fit(vm, fields, table, tag);
        if (!fit) {
            return wrap("looking for the tables of processes and ports", fit.error());
        }
        if (*fit) {
            (tag == fields.pid_tag ? processes : ports).push_back(address);
        }
    }
    ASSIGN_OR_RETURN(auto of_processes, only_one("erts_proc", "one table of processes", processes));
    ASSIGN_OR_RETURN(auto of_ports, only_one("erts_port", "one table of ports", ports));
    return IdTables{of_processes, of_ports};
}

Result<Address> find_catch_pools(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const CatchFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    // beam_catches.c: the table starts with 1024 entries and doubles. The modules that are part of
    // the runtime are loaded through the first pool; another one is empty until the boot loads code
    // through it.
    const auto is_pool = [&](StructView pool) {
        const auto size = pool.u32(fields.size);
        const auto used = pool.u32(fields.high_mark);
        const auto free_index = static_cast<std::int32_t>(pool.u32(fields.free_list));
        return size >= 1024 && size <= (1U << 26U) && (size & (size - 1)) == 0 && used <= size &&
               free_index >= -1 && free_index < static_cast<std::int64_t>(used) &&
               vm.plausible(pool.get(fields.entries), std::uint64_t{size} * fields.entry_bytes);
    };
    const auto leads_to_code = [&](StructView pool) {
        for (std::uint32_t index = 0; index < std::min(pool.u32(fields.high_mark), 16U); ++index) {
            const auto code = vm.target().memory().word(pool.get(fields.entries) +
                                                        std::uint64_t{index} * fields.entry_bytes +
                                                        fields.code.offset);
            const auto* mapping = code ? vm.target().mappings().find(*code) : nullptr;
            if (!code || (*code != 0 && (mapping == nullptr || !mapping->readable))) {
                return false;
            }
        }
        return pool.u32(fields.high_mark) > 0;
    };
    const auto candidates = search.matching(
        fields.pool_bytes * kCodeIndexes, [&](Address, std::span<const std::byte> bytes) {
            bool any_leads_to_code = false;
            for (std::size_t index = 0; index < kCodeIndexes; ++index) {
                const StructView pool(bytes.subspan(index * fields.pool_bytes, fields.pool_bytes));
                if (!is_pool(pool)) {
                    return false;
                }
                any_leads_to_code = any_leads_to_code || leads_to_code(pool);
            }
            return any_leads_to_code;
        });
    return only_one("bccix", "one place with the catch tables' shape", candidates);
}

namespace {

constexpr std::uint64_t kMaxFunctionBytes = 1U << 20U;

template <typename T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
}

/// The index and its neighbour, which is the next one: while nothing was loaded yet, both are 0.
bool is_pair(std::uint32_t active, std::uint32_t staging) {
    return active < kCodeIndexes && staging == (active + 1) % kCodeIndexes;
}

/// The code index at an address; nothing if there can be none.
std::optional<std::uint32_t> index_at(const ImageSearch& search, Address address) {
    const auto own = search.at(address, sizeof(std::uint32_t));
    if (!own || address % sizeof(std::uint32_t) != 0) {
        return std::nullopt;
    }
    const auto active = value_at<std::uint32_t>(*own, 0);
    return active < kCodeIndexes ? std::optional(active) : std::nullopt;
}

bool is_index(const ImageSearch& search, Address address) {
    const auto active = index_at(search, address);
    if (!active) {
        return false;
    }
    const auto neighbour = [&](Address at) {
        const auto bytes = search.at(at, sizeof(std::uint32_t));
        return bytes && is_pair(*active, value_at<std::uint32_t>(*bytes, 0));
    };
    return neighbour(address - sizeof(std::uint32_t)) || neighbour(address + sizeof(std::uint32_t));
}

}  // namespace

Result<Address> find_active_code_index(Vm& vm, const ImageSearch& search, const JitSelf& jit) {
    std::set<Address> found;
    for (const auto& module : jit.modules) {
        std::vector<std::byte> code(std::min(module.bytes, kMaxFunctionBytes));
        if (auto done = vm.memory().read(module.begin, code); !done) {
            return wrap("reading the JIT's shared code", done.error());
        }
        arch::each_code_constant(vm.layout().architecture(), code, vm.target().image().begin(),
                                 [&](Address constant, arch::ConstantUse use) {
                                     if (use == arch::ConstantUse::kCodeIndex
                                             ? index_at(search, constant).has_value()
                                             : is_index(search, constant)) {
                                         found.insert(constant);
                                     }
                                 });
    }
    return only_one("the_active_code_index",
                    "one address in the code that modules share which holds 0 to 2, next to the "
                    "code index after it",
                    {found.begin(), found.end()});
}

Result<Address> find_this_node(Vm& vm, const ImageSearch& search) {
    const auto nodes = hash_objects(vm, vm.tables().nodes);
    if (!nodes) {
        return wrap("node table", nodes.error());
    }
    const std::unordered_set<Address> members(nodes->begin(), nodes->end());
    return only_one("erts_this_node", "one word that points to a member of the node table",
                    search.matching(sizeof(Address), [&](Address, std::span<const std::byte> word) {
                        return members.contains(StructView(word).word({}, 0));
                    }));
}

namespace {

// erl_mmap.c: one gigabyte unless +MIscs says another number of megabytes.
constexpr std::uint64_t kFewestBytes = 1U << 20U;
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 40U;

/// A module's literal area; nothing if it has none, if it lies inside of what is known, or if the
/// module is purged meanwhile.
Result<std::optional<memory::AddressRange>> literal_area(Vm& vm, const ModuleCode& module,
                                                         const CodeHeaderFields& header,
                                                         const LiteralAreaFields& area,
                                                         const memory::AddressRange& known) {
    const auto address = vm.memory().word(module.header + header.literal_area.offset);
    if (address && *address == 0) {
        return std::nullopt;
    }
    const auto last = address ? vm.memory().word(*address + area.end.offset) : address;
    // What lies between those of other modules tells nothing.
    const bool inside = last && known.begin <= *address && *last <= known.end;
    if (inside || !loaded_now(vm, module)) {
        return std::nullopt;
    }
    if (!last) {
        return std::unexpected(last.error());
    }
    return memory::AddressRange{*address + area.start.offset, *last};
}

/// From the first module's literal area to the end of the last.
Result<memory::AddressRange> literal_areas(Vm& vm) {
    LayoutNames names(vm.layout());
    const CodeHeaderFields header(names);
    const LiteralAreaFields area(names);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(auto modules, read_modules(vm));
    memory::AddressRange all{~Address{0}, 0};
    for (const auto& module : modules) {
        ASSIGN_OR_RETURN(const auto literals, literal_area(vm, module, header, area, all));
        if (literals) {
            all.begin = std::min(all.begin, literals->begin);
            all.end = std::max(all.end, literals->end);
        }
    }
    if (all.end <= all.begin) {
        return fail(ErrorCode::kImplausible,
                    "expected modules with literals, found none that has any");
    }
    return all;
}

/// Whether two words can be the range's start and size.
bool can_be_range(const Vm& vm, std::uint64_t start, std::uint64_t bytes,
                  const memory::AddressRange& areas) {
    const bool whole = start % kLeastPageBytes == 0 && bytes % kLeastPageBytes == 0;
    return whole && bytes >= kFewestBytes && bytes <= kMaxTableBytes && start <= areas.begin &&
           start + bytes >= areas.end && vm.plausible(start, sizeof(Address));
}

/// Whether erts_literal_mmapper has the range too: its sua.top is the end, its sa.bot the start
/// (erl_mmap.c, erts_mmap_init(), 24 to 29). A pair that only looks like a range, as a number that
/// is of whole pages for a moment, has no such words.
bool is_mapped_range(const ImageSearch& search, const LiteralRange& range) {
    const auto held = [&](Address value) {
        return !search
                    .matching(sizeof(Address),
                              [&](Address at, std::span<const std::byte> word) {
                                  return at != range.start_at && at != range.bytes_at &&
                                         StructView(word).word({}, 0) == value;
                              })
                    .empty();
    };
    return held(range.start) && held(range.start + range.bytes);
}

}  // namespace

Result<LiteralRange> find_literals(Vm& vm, const ImageSearch& search) {
    const auto areas = literal_areas(vm);
    if (!areas) {
        return wrap("looking for the literals", areas.error());
    }
    LiteralRange range;
    const auto candidates =
        search.matching(2 * sizeof(Address), [&](Address at, std::span<const std::byte> bytes) {
            const StructView words(bytes);
            const LiteralRange forward{at, at + sizeof(Address), words.word({}, 0),
                                       words.word({}, 1)};
            const LiteralRange backward{forward.bytes_at, at, forward.bytes, forward.start};
            for (const auto& pair : {forward, backward}) {
                if (can_be_range(vm, pair.start, pair.bytes, *areas) &&
                    is_mapped_range(search, pair)) {
                    range = pair;
                    return true;
                }
            }
            return false;
        });
    RETURN_IF_ERROR(only_one("erts_literals_start",
                             "one pair of words, address and size, that holds the literals of all "
                             "modules and that a memory mapper has",
                             candidates));
    return range;
}

namespace {

constexpr std::uint64_t kCacheLine = 64;  // where members begin

struct SchedulerFields {
    Field type, number, dirty_number, sleep_info, of_sleep_info;
    std::uint32_t end = 0;
    std::uint64_t stride = 0;

    static Result<SchedulerFields> resolve(const Layout& layout) {
        LayoutNames names(layout);
        SchedulerFields fields;
        fields.type = names.field(runtime::ErtsAlignedSchedulerData::type);
        fields.number = names.field(runtime::ErtsAlignedSchedulerData::no);
        fields.dirty_number = names.field(runtime::ErtsAlignedSchedulerData::dirty_no);
        fields.sleep_info = names.field(runtime::ErtsAlignedSchedulerData::ssi);
        fields.of_sleep_info = names.field(runtime::ErtsSchedulerSleepInfo::esdp);
        fields.end = end_of({fields.type, fields.number, fields.dirty_number, fields.sleep_info});
        fields.stride = names.bytes(runtime::ErtsAlignedSchedulerData::kName);
        RETURN_IF_ERROR(names.outcome());
        return fields;
    }
};

/// Whether a scheduler of a kind and number is there. erl_process.c: it and what is known of its
/// sleep point to each other. erl_process.h, ErtsSchedType: 0 normal, 1 dirty CPU, 2 dirty I/O.
bool is_scheduler(Vm& vm, const SchedulerFields& fields, Address address, std::uint64_t type,
                  std::uint32_t number) {
    if (!vm.plausible(address, fields.end)) {
        return false;
    }
    const auto read = OwnedStruct::read(vm.memory(), address, fields.end);
    if (!read) {
        return false;
    }
    const auto view = read->view();
    const auto own = view.get(type == 0 ? fields.number : fields.dirty_number);
    const auto other = view.get(type == 0 ? fields.dirty_number : fields.number);
    const auto sleep_info = view.get(fields.sleep_info);
    if (view.get(fields.type) != type || own != number || other != 0 ||
        !vm.plausible(sleep_info, sizeof(Address))) {
        return false;
    }
    const auto back = vm.memory().word(sleep_info + fields.of_sleep_info.offset);
    return back && *back == address;
}

std::uint32_t count_members(Vm& vm, const SchedulerFields& fields, Address array,
                            std::uint64_t type) {
    std::uint32_t count = 0;
    while (count < kMaxSchedulers &&
           is_scheduler(vm, fields, array + count * fields.stride, type, count + 1)) {
        ++count;
    }
    return count;
}

}  // namespace

Result<SchedulerArrays> find_scheduler_arrays(Vm& vm, const ImageSearch& search) {
    ASSIGN_OR_RETURN(const auto fields, SchedulerFields::resolve(vm.layout()));
    std::array<std::set<Address>, 3> found;
    const auto pointers =
        search.matching(sizeof(Address), [&](Address, std::span<const std::byte> word) {
            const auto array = StructView(word).word({}, 0);
            return array % kCacheLine == 0 && vm.plausible(array, fields.end);
        });
    for (const auto pointer : pointers) {
        const auto array = StructView(*search.at(pointer, sizeof(Address))).word({}, 0);
        for (std::size_t type = 0; type < found.size(); ++type) {
            if (count_members(vm, fields, array, type) != 0) {
                found.at(type).insert(array);
            }
        }
    }
    SchedulerArrays arrays;
    static constexpr std::array kNames = {"erts_aligned_scheduler_data",
                                          "erts_aligned_dirty_cpu_scheduler_data",
                                          "erts_aligned_dirty_io_scheduler_data"};
    const std::array<SchedulerArray*, 3> into = {&arrays.normal, &arrays.dirty_cpu,
                                                 &arrays.dirty_io};
    for (std::size_t type = 0; type < found.size(); ++type) {
        ASSIGN_OR_RETURN(const auto array,
                         only_one(kNames.at(type), "one array of schedulers that number themselves",
                                  {found.at(type).begin(), found.at(type).end()}));
        *into.at(type) = {array, count_members(vm, fields, array, type)};
    }
    return arrays;
}

Result<void> check_scheduler_array(Vm& vm, std::string_view name, const SchedulerArray& array,
                                   SchedulerKind kind) {
    ASSIGN_OR_RETURN(const auto fields, SchedulerFields::resolve(vm.layout()));
    for (std::uint32_t member = 0; member < array.count; ++member) {
        if (!is_scheduler(vm, fields, array.address + member * fields.stride,
                          static_cast<std::uint64_t>(kind), member + 1)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("{} at {:#x}: expected {} schedulers that number themselves, "
                                    "found {}",
                                    name, array.address, array.count, member));
        }
    }
    return {};
}

namespace {

// erl_bif_persistent.c: INITIAL_SIZE, and LOAD_FACTOR percent of the slots at most.
constexpr std::uint64_t kFewestTerms = 8;
constexpr std::uint64_t kMostTerms = std::uint64_t{1} << 32U;
constexpr std::uint64_t kTermsAtOnce = 4096;
constexpr int kPersistentTries = 8;  // the node runs

struct PersistentFields {
    explicit PersistentFields(LayoutNames& names)
        : allocated(names.field(runtime::PersistentTerms::allocated)),
          count(names.field(runtime::PersistentTerms::num_entries)),
          mask(names.field(runtime::PersistentTerms::mask)),
          terms(names.field(runtime::PersistentTerms::term)),
          nil(names.constant(runtime::constant::nil)),
          pair_header(std::uint64_t{2} << names.constant(runtime::constant::header_arity_shift)) {}
    Field allocated, count, mask, terms;
    std::uint64_t nil, pair_header;
};

/// Whether a slot's word is a tuple of two among the literals.
bool is_pair(Vm& vm, memory::MemorySource& memory, const PersistentFields& fields,
             std::uint64_t word) {
    const auto at = boxed_address(word);
    const auto& facts = vm.facts();
    if (!is_boxed(word) || at < facts.literals_start ||
        at - facts.literals_start >= facts.literals_bytes) {
        return false;
    }
    const auto header = memory.word(at);
    return header && *header == fields.pair_header;
}

struct Shape {
    Address table = 0;
    std::uint64_t slots = 0, count = 0;
};

/// What a table at an address says of itself; nothing if none can be there.
std::optional<Shape> shape_of(Vm& vm, memory::MemorySource& memory, const PersistentFields& fields,
                              Address table) {
    if (!vm.plausible(table, fields.terms.offset + kFewestTerms * sizeof(Address))) {
        return std::nullopt;
    }
    const auto header = OwnedStruct::read(memory, table, fields.terms.offset);
    if (!header) {
        return std::nullopt;
    }
    const auto slots = header->view().get(fields.allocated);
    const auto count = header->view().get(fields.count);
    if (!std::has_single_bit(slots) || slots < kFewestTerms || slots > kMostTerms ||
        header->view().get(fields.mask) != slots - 1 || count > slots ||
        !vm.plausible(table + fields.terms.offset, slots * sizeof(Address))) {
        return std::nullopt;
    }
    return Shape{table, slots, count};
}

/// Whether what is in a slot fits: nothing, or a pair. A term may be replaced in its slot: only a
/// word that does not fit twice is something else.
bool slot_fits(Vm& vm, const PersistentFields& fields, Address slot, std::uint64_t word) {
    if (word == fields.nil || is_pair(vm, vm.memory(), fields, word)) {
        return true;
    }
    for (int tries = 0; tries < kPersistentTries; ++tries) {
        const auto now = vm.bulk().word(slot);
        if (!now) {
            return false;
        }
        if (*now == fields.nil || is_pair(vm, vm.bulk(), fields, *now)) {
            return true;
        }
        if (*now == word) {
            return false;
        }
        word = *now;
    }
    return false;
}

bool has_pairs(Vm& vm, const PersistentFields& fields, const Shape& shape) {
    const auto [table, slots, count] = shape;
    std::uint64_t pairs = 0;
    for (std::uint64_t first = 0; first < slots; first += kTermsAtOnce) {
        const auto at = table + fields.terms.offset + first * sizeof(Address);
        const auto words = read_words(vm.bulk(), at, std::min(kTermsAtOnce, slots - first));
        if (!words) {
            return false;
        }
        for (std::size_t index = 0; index < words->size(); ++index) {
            if (!slot_fits(vm, fields, at + index * sizeof(Address), (*words)[index])) {
                return false;
            }
            pairs += (*words)[index] == fields.nil ? 0 : 1;
        }
    }
    return pairs + 1 >= count && count + 1 >= pairs && (pairs != 0 || count == 0);
}

/// Whether the word at `at` points to a table. A table is replaced when a term is put: what is no
/// table is another word's, or nothing, only if the word still points there afterwards.
bool leads_to_table(Vm& vm, const PersistentFields& fields, Address at) {
    std::optional<Address> before;
    for (int tries = 0; tries < kPersistentTries; ++tries) {
        const auto table = vm.bulk().word(at);
        if (!table) {
            return false;
        }
        const auto shape = shape_of(vm, vm.bulk(), fields, *table);
        if (shape && has_pairs(vm, fields, *shape)) {
            return true;
        }
        // Two terms may be put into the same table before it is counted.
        if (before == *table) {
            return false;
        }
        before = *table;
        if (shape) {
            vm.forget();
        }
    }
    return false;
}

bool is_behind_function(Vm& vm, Address at) {
    const auto before = vm.bulk().word(at - sizeof(Address));
    return before && is_code(vm, *before);
}

/// Whether the word at `at` is the argument of an ErtsThrPrgrLaterOp (erl_thr_progress.h): behind a
/// function, and before a pointer to the next one. A variable may be behind a function too.
bool is_argument(Vm& vm, Address at) {
    const auto next = vm.bulk().word(at + sizeof(Address));
    return is_behind_function(vm, at) &&
           (!next || *next == 0 || vm.plausible(*next, sizeof(Address)));
}

/// What the next operation was in may have been unmapped since the last update: of several words,
/// those behind a function are arguments.
void leave_out_arguments(Vm& vm, std::vector<Address>& candidates) {
    const auto behind_function = [&vm](Address at) { return is_behind_function(vm, at); };
    if (candidates.size() > 1 && !std::ranges::all_of(candidates, behind_function)) {
        std::erase_if(candidates, behind_function);
    }
}

/// The words of the image's data that point to tables now. A table that no word of the copy leads
/// to any more was replaced meanwhile: then the word is another one in a newer copy.
Result<std::vector<Address>> words_to_tables(Vm& vm, const PersistentFields& fields,
                                             const ImageSearch& search) {
    const auto leads_now = [&](Address at) {
        return leads_to_table(vm, fields, at) && !is_argument(vm, at);
    };
    auto found = search.matching(sizeof(Address), [&](Address at, std::span<const std::byte> word) {
        return shape_of(vm, vm.memory(), fields, StructView(word).word({}, 0)) && leads_now(at);
    });
    if (!found.empty()) {
        return found;
    }
    ASSIGN_OR_RETURN(const auto newer, ImageSearch::read(vm.target()));
    return newer.matching(sizeof(Address), [&](Address at, std::span<const std::byte> word) {
        const auto before = search.at(at, sizeof(Address));
        return before && !std::ranges::equal(*before, word) && leads_now(at);
    });
}

}  // namespace

Result<Address> find_persistent_terms(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const PersistentFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    std::vector<Address> candidates;
    for (int tries = 0; candidates.size() != 1 && tries < kPersistentTries; ++tries) {
        if (tries > 0) {
            std::this_thread::sleep_for(kBetweenTableTries);
        }
        // A table may be where nothing was mapped before.
        RETURN_IF_ERROR(vm.target().refresh_mappings());
        vm.forget();
        ASSIGN_OR_RETURN(candidates, words_to_tables(vm, fields, search));
        leave_out_arguments(vm, candidates);
        // Other words may point to a table that was replaced or is being made.
        for (int looks = 0; candidates.size() > 1 && looks < kPersistentTries; ++looks) {
            std::this_thread::sleep_for(kBetweenTableTries);
            vm.forget();
            std::erase_if(candidates, [&](Address at) { return !leads_to_table(vm, fields, at); });
        }
    }
    return only_one("the_hash_table", "one pointer to a table of pairs among the literals",
                    candidates);
}

}  // namespace beamdump::beam
