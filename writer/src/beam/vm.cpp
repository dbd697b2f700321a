#include "beam/vm.h"

#include "beam/search/symbols.h"
#include "beam/search/vm_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <builtin_layouts.h>

namespace beamdump::beam {
namespace {

/// Small blocks: many chains have one member on each process's heap, and the rest of the block
/// would be read for nothing. 4 MiB in all.
constexpr std::size_t kCacheBlockBytes = 16U << 10U;
constexpr std::size_t kCacheBlocks = 256;

Result<Layout> choose_layout(const std::string& release, const LocateOptions& options) {
    if (options.layout) {
        return *options.layout;
    }
    auto layouts = known_layouts(options);
    if (!layouts) {
        return std::unexpected(layouts.error());
    }
    std::string known;
    for (auto& layout : *layouts) {
        if (layout.release() == release) {
            return std::move(layout);
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", layout.release());
    }
    return fail(ErrorCode::kNoLayout,
                fmt::format("the node runs OTP {}, for which there is no layout (known: {}); "
                            "--layout FILE gives one",
                            release, known));
}

}  // namespace

Result<std::vector<Layout>> known_layouts(const LocateOptions& options) {
    if (!options.layouts.empty()) {
        return options.layouts;
    }
    std::vector<Layout> layouts;
    for (const auto& builtin : builtin_layouts()) {
        auto layout = Layout::parse(builtin.json);
        if (!layout) {
            return std::unexpected(layout.error());
        }
        layouts.push_back(std::move(*layout));
    }
    return layouts;
}

Vm::Vm(std::unique_ptr<target::Target> target, Layout layout)
    : target_(std::move(target)),
      layout_(std::move(layout)),
      cache_(target_->memory(), &target_->pages(), kCacheBlockBytes, kCacheBlocks),
      memory_(cache_, prefetched_),
      bulk_(target_->memory(), prefetched_) {}

void Vm::forget() {
    prefetched_.drop();
    cache_.invalidate();
}

Result<std::string> Vm::release(target::Target& target, const LocateOptions& options) {
    const auto symbols = Symbols::of(target, options.no_symbols);
    const auto search = ImageSearch::read(target);
    if (!search) {
        return std::unexpected(search.error());
    }
    auto version = find_version(target, symbols, *search);
    return version ? Result<std::string>(std::move(version->otp_release))
                   : std::unexpected(version.error());
}

Result<std::unique_ptr<Vm>> Vm::locate(std::unique_ptr<target::Target> target,
                                       const LocateOptions& options) {
    const auto symbols = Symbols::of(*target, options.no_symbols);
    const auto search = ImageSearch::read(*target);
    if (!search) {
        return std::unexpected(search.error());
    }
    const auto version = find_version(*target, symbols, *search);
    if (!version) {
        return std::unexpected(version.error());
    }
    auto layout = choose_layout(version->otp_release, options);
    if (!layout) {
        return std::unexpected(layout.error());
    }
    std::unique_ptr<Vm> vm(new Vm(std::move(target), std::move(*layout)));
    VmFinder finder(*vm, symbols, *search);
    if (auto done = finder.find(*version); !done) {
        return std::unexpected(done.error());
    }
    return vm;
}

Result<void> Vm::refresh() {
    forget();
    if (auto done = target_->refresh_mappings(); !done) {
        return done;
    }
    auto active = memory_.value<std::uint32_t>(tables_.active_code_index);
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
