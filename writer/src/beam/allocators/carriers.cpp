#include "beam/allocators/carriers.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace beamdump::beam {
namespace {

// erl_alloc_util.c: flags in the lowest bits of a carrier's header, of the word that names its
// owner, and of the pool's links.
constexpr std::uint64_t kHeaderFlags = 7;
constexpr std::uint64_t kOwnerFlags = 7;
constexpr std::uint64_t kLinkFlags = 3;
/// Carriers that come while the lists are walked.
constexpr std::uint64_t kNewCarriers = 64;

class CarrierWalk {
  public:
    CarrierWalk(Vm& vm, CarrierFields fields, std::span<const AllocatorState> instances)
        : vm_(vm), fields_(fields), end_(fields.pool.offset + fields.pool_original.offset + 8) {
        for (const auto& instance : instances) {
            owners_.insert(instance.place.address);
            left_ += instance.record.multi_block().carriers() +
                     instance.record.single_block().carriers() + instance.record.pool().carriers();
        }
        left_ = std::min(left_, kMaxMemoryBytes / memory::kPageBytes) + kNewCarriers;
    }

    Result<void> list(Address first, std::uint32_t allocator) {
        for (auto carrier = first; carrier != 0;) {
            ASSIGN_OR_RETURN(const auto read, add(carrier, allocator));
            carrier = read.view().get(fields_.next);
        }
        return {};
    }

    /// The pool is a ring of links inside the carriers, which begins outside of them.
    Result<void> pool(Address sentinel, std::uint32_t allocator) {
        ASSIGN_OR_RETURN(auto link, vm_.bulk().word(sentinel + fields_.pool_next.offset));
        while ((link & ~kLinkFlags) != sentinel) {
            ASSIGN_OR_RETURN(const auto read,
                             add((link & ~kLinkFlags) - fields_.pool.offset, allocator));
            link = read.view().get(
                {fields_.pool.offset + fields_.pool_next.offset, fields_.pool_next.bytes});
        }
        return {};
    }

    std::vector<CarrierPlace> sorted() {
        std::ranges::sort(found_, {}, [](const CarrierPlace& place) { return place.range.begin; });
        return std::move(found_);
    }

  private:
    Result<OwnedStruct> add(Address carrier, std::uint32_t allocator) {
        if (left_ == 0) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("allocator {}: expected no more carriers than it counts, found "
                                    "more at {:#x}",
                                    allocator, carrier));
        }
        --left_;
        auto read = OwnedStruct::read(vm_.bulk(), carrier, end_);
        if (!read) {
            return wrap(fmt::format("carrier of allocator {}", allocator), read.error());
        }
        const auto header = read->view().get(fields_.header);
        const auto owner = read->view().get(fields_.owner) & ~kOwnerFlags;
        const auto bytes = header & ~kHeaderFlags;
        if (!owners_.contains(owner) || bytes < memory::kPageBytes || bytes > kMaxMemoryBytes) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("carrier at {:#x}: expected its size and one of allocator {}'s "
                                    "instances, found {:#x} and {:#x}",
                                    carrier, allocator, header, owner));
        }
        if (seen_.insert(carrier).second) {
            found_.push_back({{carrier, carrier + bytes}, allocator});
        }
        return read;
    }

    Vm& vm_;
    CarrierFields fields_;
    std::uint32_t end_;
    std::set<Address> owners_;
    std::set<Address> seen_;
    std::uint64_t left_ = 0;
    std::vector<CarrierPlace> found_;
};

}  // namespace

Result<std::vector<CarrierPlace>> read_carriers(Vm& vm, std::span<const AllocatorState> instances) {
    LayoutNames names(vm.layout());
    const CarrierFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    CarrierWalk walk(vm, fields, instances);
    std::set<Address> pools;
    for (const auto& instance : instances) {
        const auto number = instance.place.number;
        for (const auto first :
             {instance.multi_list, instance.single_list, instance.deallocated_list}) {
            RETURN_IF_ERROR(walk.list(first, number));
        }
        if (instance.pool_sentinel != 0 && pools.insert(instance.pool_sentinel).second) {
            RETURN_IF_ERROR(walk.pool(instance.pool_sentinel, number));
        }
    }
    return walk.sorted();
}

}  // namespace beamdump::beam
