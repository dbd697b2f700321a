#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/id_table.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace beamdump::beam {
namespace {

/// Elements that threads make or delete at this moment: `count` and the other two change one after
/// another.
constexpr std::uint32_t kMostOnTheWay = 64;

/// Each new element takes the next of the free ids, each deleted one gives its own back: both are
/// counted, from -1 on (erl_ptab.c, erts_ptab_new_element() and delete_element(); OTP 25.2.3 and
/// 27.3.4). With `+P legacy` neither is.
std::optional<std::uint32_t> made_of(std::uint32_t taken, std::uint32_t freed,
                                     std::uint32_t count) {
    const std::uint32_t made = taken + 1;
    const std::uint32_t there = taken - freed;
    const std::uint32_t apart = there > count ? there - count : count - there;
    // Where so many were made that the count began anew, more were deleted than that.
    const bool counts = made >= count || freed >= made;
    return counts && apart <= kMostOnTheWay ? std::optional(made) : std::nullopt;
}

}  // namespace

Result<IdTable> IdTable::open(Vm& vm, Address address, std::string_view what) {
    LayoutNames names(vm.layout());
    const IdTableFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    auto read = OwnedStruct::read(vm.memory(), address, fields.bytes);
    if (!read) {
        return wrap(what, read.error());
    }
    const auto view = read->view();
    IdTable table;
    table.vm_ = &vm;
    table.what_ = what;
    table.tab_ = view.get(fields.tab);
    table.slots_ = view.u32(fields.max);
    table.count_ = view.u32(fields.count);
    table.invalid_ = view.get(fields.invalid);
    if (fields.taken && fields.freed) {
        table.made_ = made_of(view.u32(*fields.taken), view.u32(*fields.freed), table.count_);
    }
    if (!std::has_single_bit(table.slots_) || table.slots_ > kMaxPtabSlots ||
        view.u32(fields.mask) != table.slots_ - 1 || table.count_ > table.slots_ ||
        !vm.plausible(table.tab_, std::uint64_t{table.slots_} * sizeof(Address))) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{} at {:#x}: expected a power of two of slots, its mask and a "
                                "mapped array, found {} slots, mask {:#x}, {} elements, array at "
                                "{:#x}",
                                what, address, table.slots_, view.u32(fields.mask), table.count_,
                                table.tab_));
    }
    return table;
}

Result<std::vector<IdSlot>> IdTable::used(std::uint32_t first, std::uint32_t most) {
    std::vector<IdSlot> result;
    if (first >= slots_) {
        return result;
    }
    const auto take = std::min(most, slots_ - first);
    const Address begin = tab_ + std::uint64_t{first} * sizeof(Address);
    // A node that never had many elements never touched most of its table.
    auto present = vm_->target().pages().present({begin, begin + take * sizeof(Address)});
    if (!present) {
        return wrap(what_, present.error());
    }
    for (const auto& part : *present) {
        auto pointers = read_words(vm_->bulk(), part.begin, part.bytes() / sizeof(Address));
        if (!pointers) {
            return wrap(what_, pointers.error());
        }
        auto slot = static_cast<std::uint32_t>((part.begin - tab_) / sizeof(Address));
        for (const auto pointer : *pointers) {
            if (pointer != 0 && pointer != invalid_) {
                result.push_back({slot, pointer});
            }
            ++slot;
        }
    }
    return result;
}

Result<bool> IdTable::holds(const IdSlot& slot) {
    ASSIGN_OR_RETURN(const auto now,
                     vm_->bulk().word(tab_ + std::uint64_t{slot.slot} * sizeof(Address)));
    return now == slot.address;
}

namespace {

constexpr std::uint64_t kDataBits = 28;  // of a pid in OTP 25

}  // namespace

Result<PidWords> PidWords::of(Vm& vm) {
    auto table = IdTable::processes(vm);
    return table ? resolve(vm.layout(), table->slots()) : std::unexpected(table.error());
}

Result<PidWords> PidWords::resolve(const Layout& layout, std::uint32_t slots) {
    LayoutNames names(layout);
    PidWords words{names.constant(runtime::constant::pid_tag),
                   names.constant(runtime::constant::pid_shift),
                   names.constant(runtime::constant::pid_number_bits), slots};
    RETURN_IF_ERROR(names.outcome());
    return words;
}

std::optional<std::uint64_t> PidWords::owner_id(std::uint64_t word) const {
    if ((word & ((std::uint64_t{1} << shift) - 1)) != tag) {
        return std::nullopt;
    }
    const auto data = holds_slot() ? format::identifier_data(word >> shift, slots)
                                   : (word & 0xffffffffU) >> shift;
    return format::owner_id_of(data & ((std::uint64_t{1} << number_bits) - 1), data >> number_bits);
}

// erl_term.h: number and serial share 28 bits in OTP 25; from OTP 26 on 28 are the number's alone.
bool PidWords::holds_slot() const {
    return number_bits >= kDataBits;
}

// erl_ptab.h: in OTP 25 the word's upper half is the slot.
std::uint64_t PidWords::slot(std::uint64_t word) const {
    return holds_slot() ? (word >> shift) & (slots - 1) : word >> 32U;
}

Result<TagScheme> port_scheme(Vm& vm) {
    ASSIGN_OR_RETURN(const auto ports, IdTable::ports(vm));
    ASSIGN_OR_RETURN(const auto number, vm.layout().constant(runtime::constant::term_scheme));
    ASSIGN_OR_RETURN(auto scheme, scheme_of(static_cast<format::TermScheme>(number)));
    scheme.port_slots = scheme.slots_in_identifiers ? ports.slots() : 0;
    return scheme;
}

}  // namespace beamdump::beam
