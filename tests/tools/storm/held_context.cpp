#include "storm/held_context.h"

#include <algorithm>

namespace beamdump::storm {

HeldContext::HeldContext(Dump& dump, const ProcessRun& run) : ProcessContext(dump, run) {
    for (const Region& region : run.directory.regions) {
        if (region.unit_bytes() != kWordBytes || region.here == 0) {
            continue;
        }
        Held held{region.address, region.address,
                  std::make_unique_for_overwrite<std::uint64_t[]>(region.here)};
        for (std::size_t at = 0; at < region.here;) {
            const auto got =
                ProcessContext::words(held.end, std::span(&held.words[at], region.here - at));
            if (!got) {
                break;  // what is not there is asked for again
            }
            at += *got;
            held.end += *got * kWordBytes;
        }
        held_.push_back(std::move(held));
    }
    std::ranges::sort(held_, {}, &Held::begin);
}

Result<std::size_t> HeldContext::words(std::uint64_t address, std::span<std::uint64_t> into) {
    const auto after = std::ranges::upper_bound(held_, address, {}, &Held::begin);
    if (after == held_.begin() || address >= std::prev(after)->end || address % kWordBytes != 0) {
        return ProcessContext::words(address, into);
    }
    const Held& held = *std::prev(after);
    const auto count = std::min<std::size_t>(into.size(), (held.end - address) / kWordBytes);
    std::copy_n(&held.words[(address - held.begin) / kWordBytes], count, into.begin());
    return count;
}

}  // namespace beamdump::storm
