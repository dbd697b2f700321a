#include "beam/tables/process_table.h"

#include "beam/layout/struct_view.h"
#include "beam/layout/structs.h"
#include "beam/tables/index_table.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kMaxPtabSize = 1U << 27U;  // ERTS_PTAB_MAX_SIZE

}  // namespace

Result<std::uint32_t> ProcessTable::port_slots(Vm& vm) {
    LayoutNames names(vm.layout());
    const IdTableFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    auto slots = vm.memory().value<std::uint32_t>(vm.tables().ports + fields.max.offset);
    if (!slots) {
        return wrap("port table", slots.error());
    }
    if (!std::has_single_bit(*slots) || *slots > kMaxPtabSize) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("port table at {:#x}: expected a power of two of slots, found {}",
                                vm.tables().ports, *slots));
    }
    return slots;
}

Result<ProcessTable> ProcessTable::open(Vm& vm) {
    LayoutNames names(vm.layout());
    const IdTableFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    auto read = OwnedStruct::read(vm.memory(), vm.tables().processes, fields.bytes);
    if (!read) {
        return wrap("process table", read.error());
    }
    const auto view = read->view();
    ProcessTable table;
    table.vm_ = &vm;
    table.tab_ = view.get(fields.tab);
    table.slots_ = view.u32(fields.max);
    table.count_ = view.u32(fields.count);
    table.invalid_ = view.get(fields.invalid);
    const bool power_of_two = table.slots_ != 0 && (table.slots_ & (table.slots_ - 1)) == 0;
    if (!power_of_two || table.slots_ > kMaxPtabSize || view.u32(fields.mask) != table.slots_ - 1 ||
        table.count_ > table.slots_ ||
        !vm.plausible(table.tab_, std::uint64_t{table.slots_} * sizeof(Address))) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("process table at {:#x}: expected a power of two of slots, its "
                                "mask and a mapped array, found {} slots, mask {:#x}, {} "
                                "processes, array at {:#x}",
                                vm.tables().processes, table.slots_, view.u32(fields.mask),
                                table.count_, table.tab_));
    }
    return table;
}

Result<std::vector<ProcessSlot>> ProcessTable::used(std::uint32_t first, std::uint32_t most) {
    std::vector<ProcessSlot> result;
    if (first >= slots_) {
        return result;
    }
    const auto take = std::min(most, slots_ - first);
    const Address begin = tab_ + std::uint64_t{first} * sizeof(Address);
    // A node that never had many processes never touched most of its table.
    auto present = vm_->target().pages().present({begin, begin + take * sizeof(Address)});
    if (!present) {
        return wrap("process table", present.error());
    }
    for (const auto& part : *present) {
        auto pointers = read_words(vm_->bulk(), part.begin, part.bytes() / sizeof(Address));
        if (!pointers) {
            return wrap("process table", pointers.error());
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

Result<Address> registered_process(Vm& vm, std::uint64_t name_word) {
    LayoutNames names(vm.layout());
    const RegisteredFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    auto entries = hash_objects(vm, vm.tables().registered);
    if (!entries) {
        return wrap("registered names", entries.error());
    }
    for (const auto address : *entries) {
        auto entry = OwnedStruct::read(vm.memory(), address, fields.bytes);
        if (!entry) {
            return wrap("registered names", entry.error());
        }
        if (entry->view().get(fields.name) == name_word) {
            return entry->view().get(fields.process);
        }
    }
    return Address{0};
}

}  // namespace beamdump::beam
