#include <libdump/base/return_if_error.h>
#include <libvm/beam/vm/vm.h>

#include <fmt/format.h>

#include <utility>

namespace beamdump::beam {
namespace {

/// Small blocks, since many chains have one member on each process's heap and need nothing else of
/// the block.
constexpr std::size_t kCacheBlockBytes = 16U << 10U;

}  // namespace

Vm::Vm(std::unique_ptr<target::Target> target, Layout layout, const memory::HeldSizes& sizes)
    : target_(std::move(target)),
      layout_(std::move(layout)),
      sizes_(sizes),
      cache_(target_->memory(), &target_->pages(), kCacheBlockBytes, sizes_.cache_blocks),
      memory_(cache_, prefetched_),
      bulk_(target_->memory(), prefetched_) {}

void Vm::know(VmFacts facts, VmTables tables, std::vector<Found> found) {
    facts_ = std::move(facts);
    tables_ = std::move(tables);
    found_ = std::move(found);
}

void Vm::forget() {
    prefetched_.drop();
    cache_.invalidate();
}

Result<void> Vm::reread() {
    cache_.invalidate();
    return prefetched_.repeat(target_->memory());
}

Result<void> Vm::refresh() {
    forget();
    RETURN_IF_ERROR(target_->refresh_mappings());
    return refresh_code_index();
}

Result<void> Vm::refresh_code_index() {
    auto active = bulk_.value<std::uint32_t>(tables_.active_code_index);
    if (!active || *active >= kCodeIndexes) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format("the_active_code_index: expected 0 to 2, {}",
                        active ? fmt::format("found {}", *active) : active.error().message));
    }
    facts_.active_code_index = *active;
    return {};
}

bool Vm::plausible(Address address, std::uint64_t bytes) const {
    return address != 0 && address % 8 == 0 && address < address + bytes &&
           target_->mappings().readable({address, address + bytes});
}

}  // namespace beamdump::beam
