#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/id_tables.h>
#include <libvm/beam/tables/pid_words.h>

#include <algorithm>
#include <bit>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kFewestSlots = 1024;      // erl_process.h: ERTS_MIN_PROCESSES, of ports too
constexpr std::uint32_t kMaxSlots = 1U << 27U;    // erl_ptab.h: ERTS_PTAB_MAX_SIZE
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
        fields.id = names.field("Process", "common.id");
        fields.pid_tag = names.constant("pid_tag");
        fields.port_tag = names.constant("port_tag");
        fields.tag_mask = (std::uint64_t{1} << names.constant("pid_shift")) - 1;
        RETURN_IF_ERROR(names.outcome());
        return fields;
    }
};

bool has_shape(const Vm& vm, const TableFields& fields, StructView table) {
    const auto slots = table.u32(fields.max);
    return slots >= kFewestSlots && slots <= kMaxSlots && std::has_single_bit(slots) &&
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

}  // namespace beamdump::beam
