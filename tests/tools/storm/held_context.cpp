#include "storm/held_context.h"

#include <libdump/model/binary_index.h>

#include <algorithm>
#include <cstring>

namespace beamdump::storm {

HeldContext::HeldContext(Dump& dump, const ProcessRun& run) : ProcessContext(dump, run) {
    hold_regions(run);
    hold_binaries(run);
}

void HeldContext::hold_regions(const ProcessRun& run) {
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

/// Those with bytes of their own, not in a region.
void HeldContext::hold_binaries(const ProcessRun& run) {
    for (const Pack& pack : run.directory.binaries) {
        const auto record = dump().reader().message_at<records::Binaries>(
            pack.offset, format::RecordKind::kBinaries);
        if (!record) {
            continue;  // what is not there is asked for again
        }
        for (const auto& binary : record->binary()) {
            if (!binary.has_content_offset()) {
                binaries_[binary.address()] = {
                    {binary.data_address(), binary.size_bytes(), captured_bytes(binary), {}},
                    std::string(binary.prefix())};
            }
        }
    }
}

Result<BinaryInfo> HeldContext::binary_at(std::uint64_t address) {
    const auto held = binaries_.find(address);
    return held == binaries_.end() ? ProcessContext::binary_at(address) : held->second.info;
}

Result<std::size_t> HeldContext::binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                              std::span<std::byte> into) {
    const auto held = binaries_.find(binary_address);
    if (held == binaries_.end()) {
        return ProcessContext::binary_bytes(binary_address, from, into);
    }
    const std::string& bytes = held->second.bytes;
    const std::size_t count =
        from < bytes.size() ? std::min<std::size_t>(into.size(), bytes.size() - from) : 0;
    if (count != 0) {
        std::memcpy(into.data(), bytes.data() + from, count);
    }
    return count;
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
