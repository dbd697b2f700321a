#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/index_table.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

/// A larger count is considered garbage: atoms are limited to 2^20 by default, to 2^31 at most.
constexpr std::uint32_t kMaxIndexEntries = 1U << 28U;

/// The part of a hash table's count that a running node may add or remove between the reads of the
/// count and of the chains.
constexpr std::uint32_t kMovingPart = 8;
/// The objects that threads may have linked and not counted, or counted and not linked.
constexpr std::uint32_t kMoreThanCounted = 1;
constexpr std::uint32_t kFewerThanCounted = 64;

}  // namespace

Result<IndexTableWalker> IndexTableWalker::open(Vm& vm, Address table) {
    LayoutNames names(vm.layout());
    const IndexTableFields fields(names);
    IndexTableWalker walker;
    walker.vm_ = &vm;
    walker.page_shift_ =
        static_cast<std::uint32_t>(names.constant(runtime::constant::index_page_shift));
    RETURN_IF_ERROR(names.outcome());
    auto read = OwnedStruct::read(vm.memory(), table, fields.bytes);
    if (!read) {
        return wrap("reading an index table", read.error());
    }
    walker.segments_ = read->view().get(fields.segments);
    walker.entries_ = read->view().u32(fields.entries);
    if (walker.entries_ > kMaxIndexEntries || walker.entries_ > read->view().u32(fields.size)) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format(
                "index table at {:#x}: expected no more entries than are allocated, found {} of {}",
                table, walker.entries_, read->view().u32(fields.size)));
    }
    return walker;
}

Result<std::vector<Address>> IndexTableWalker::objects(std::uint32_t first, std::uint32_t count) {
    std::vector<Address> result;
    const auto end = std::min<std::uint64_t>(std::uint64_t{first} + count, entries_);
    const std::uint32_t page = 1U << page_shift_;
    for (std::uint64_t index = first; index < end;) {
        ASSIGN_OR_RETURN(auto segment,
                         vm_->memory().word(segments_ + (index >> page_shift_) * sizeof(Address)));
        const auto within = index & (page - 1);
        const auto take = std::min<std::uint64_t>(page - within, end - index);
        ASSIGN_OR_RETURN(auto slots,
                         read_words(vm_->memory(), segment + within * sizeof(Address), take));
        result.insert(result.end(), slots.begin(), slots.end());
        index += take;
    }
    return result;
}

Result<Address> index_object(Vm& vm, Address table, std::uint32_t index) {
    LayoutNames names(vm.layout());
    const IndexTableFields fields(names);
    const auto page_shift = names.constant(runtime::constant::index_page_shift);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm.bulk(), table, fields.bytes));
    if (index >= read.view().u32(fields.entries)) {
        return fail(ErrorCode::kAbsent,
                    fmt::format("index table at {:#x}: it has no entry {}", table, index));
    }
    const auto within = index & ((1U << page_shift) - 1);
    ASSIGN_OR_RETURN(const auto segment, vm.bulk().word(read.view().get(fields.segments) +
                                                        (index >> page_shift) * sizeof(Address)));
    return vm.bulk().word(segment + within * sizeof(Address));
}

Result<std::vector<Address>> hash_objects(Vm& vm, Address table) {
    LayoutNames names(vm.layout());
    const HashFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    auto read = OwnedStruct::read(vm.memory(), table, fields.bytes);
    if (!read) {
        return wrap("reading a hash table", read.error());
    }
    // hash.h: the number of slots is 2^(64 - shift).
    const auto shift_bits = read->view().u32(fields.shift);
    const auto objects = read->view().u32(fields.count);
    if (shift_bits < 64 - 28 || shift_bits > 63 || objects > kMaxIndexEntries) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("hash table at {:#x}: expected a shift of 36 to 63 and a count of "
                                "objects, found {} and {}",
                                table, shift_bits, objects));
    }
    const std::uint64_t slots = std::uint64_t{1} << (64 - shift_bits);
    ASSIGN_OR_RETURN(auto heads, read_words(vm.memory(), read->view().get(fields.bucket), slots));
    const std::size_t most = std::size_t{objects} + kMoreThanCounted + objects / kMovingPart;
    std::vector<Address> result;
    for (auto object : heads) {
        while (object != 0) {
            if (result.size() >= most) {
                return fail(ErrorCode::kImplausible,
                            fmt::format("hash table at {:#x}: expected {} objects, found more",
                                        table, objects));
            }
            result.push_back(object);
            ASSIGN_OR_RETURN(auto following, vm.memory().word(object + fields.next.offset));
            object = following;
        }
    }
    if (objects > result.size() + std::max(kFewerThanCounted, objects / kMovingPart)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("hash table at {:#x}: expected {} objects, found {}", table,
                                objects, result.size()));
    }
    return result;
}

}  // namespace beamdump::beam
