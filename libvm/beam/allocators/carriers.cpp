#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libvm/beam/allocators/carriers.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace beamdump::beam {
namespace {

// erl_alloc_util.c, erl_alloc_util.h (OTP 25 to 29): flags in the lowest bits of a carrier's
// header, of the word that names its owner, of the pool's links and of a block's header.
constexpr std::uint64_t kHeaderFlags = 7;
constexpr std::uint64_t kFromMseg = 1;
constexpr std::uint64_t kSingleBlock = 2;
constexpr std::uint64_t kOwnerFlags = 7;
constexpr std::uint64_t kInPool = 1;
constexpr std::uint64_t kLinkFlags = 3;
constexpr std::uint64_t kBlockFlags = 7 | std::uint64_t{1} << 63U;
/// Carriers that come while the lists are walked.
constexpr std::uint64_t kNewCarriers = 64;

/// What a carrier's beginning says of it; kImplausible where it is no carrier.
Result<CarrierPlace> place_of(const StructView& view, Address address,
                              const CarrierFields& fields) {
    CarrierPlace place;
    const auto header = view.get(fields.header);
    const auto bytes = header & ~kHeaderFlags;
    if (bytes < kLeastPageBytes || bytes > kMaxMemoryBytes) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format("carrier at {:#x}: expected its size, found {:#x}", address, header));
    }
    place.range = {address, address + bytes};
    place.single_block = (header & kSingleBlock) != 0;
    place.mseg = (header & kFromMseg) != 0;
    place.pooled = (view.get(fields.owner) & kInPool) != 0;
    if (place.single_block) {
        // The block begins where others have what the pool needs.
        place.blocks = 1;
        place.block_bytes = view.word(fields.pool, 0) & ~kBlockFlags;
    } else {
        for (std::size_t number = 0; number * sizeof(std::uint64_t) < fields.blocks.bytes;
             ++number) {
            place.blocks += view.word(fields.in_pool(fields.blocks), number);
        }
        place.block_bytes = view.get(fields.in_pool(fields.all_block_bytes));
    }
    if (place.block_bytes > bytes || place.blocks > bytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("carrier at {:#x} of {} bytes: expected blocks inside of it, found "
                                "{} of {} bytes",
                                address, bytes, place.blocks, place.block_bytes));
    }
    return place;
}

class CarrierWalk {
  public:
    CarrierWalk(Vm& vm, CarrierFields fields, std::span<const AllocatorState> instances)
        : vm_(vm), fields_(fields) {
        for (const auto& instance : instances) {
            owners_.emplace(instance.place.address, &instance);
            left_ += instance.record.multi_block().carriers() +
                     instance.record.single_block().carriers() + instance.record.pool().carriers();
        }
        left_ = std::min(left_, kMaxMemoryBytes / kLeastPageBytes) + kNewCarriers;
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
            link = read.view().get(fields_.in_pool(fields_.pool_next));
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
        auto read = OwnedStruct::read(vm_.bulk(), carrier, fields_.bytes);
        if (!read) {
            return wrap(fmt::format("carrier of allocator {}", allocator), read.error());
        }
        ASSIGN_OR_RETURN(auto place, place_of(read->view(), carrier, fields_));
        const auto owner_word = read->view().get(fields_.owner);
        const auto owner = owners_.find(owner_word & ~kOwnerFlags);
        if (owner == owners_.end()) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("carrier at {:#x}: expected one of allocator {}'s instances as "
                                    "its owner, found {:#x}",
                                    carrier, allocator, owner_word));
        }
        place.allocator = allocator;
        place.instance = owner->second->place.index;
        place.header_bytes = owner->second->carrier_header_bytes;
        if (seen_.insert(carrier).second) {
            found_.push_back(place);
        }
        return read;
    }

    Vm& vm_;
    CarrierFields fields_;
    std::map<Address, const AllocatorState*> owners_;
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

Result<CarrierPlace> read_again(Vm& vm, const CarrierPlace& carrier) {
    LayoutNames names(vm.layout());
    const CarrierFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(const auto read,
                     OwnedStruct::read(vm.bulk(), carrier.range.begin, fields.bytes));
    ASSIGN_OR_RETURN(auto now, place_of(read.view(), carrier.range.begin, fields));
    if (now.range.end != carrier.range.end || now.single_block != carrier.single_block) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("carrier at {:#x}: expected the one of {} bytes, found another",
                                carrier.range.begin, carrier.range.bytes()));
    }
    now.allocator = carrier.allocator;
    now.instance = carrier.instance;
    now.header_bytes = carrier.header_bytes;
    return now;
}

}  // namespace beamdump::beam
