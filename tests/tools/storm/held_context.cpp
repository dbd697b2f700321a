#include "storm/held_context.h"

#include <libdump/model/binary_index.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace beamdump::storm {

namespace {
constexpr std::uint64_t kSmallBytes = 256;
}  // namespace

HeldContext::HeldContext(Dump& dump, const ProcessRun& run)
    : ProcessContext(dump, run), end_offset_(run.row.end_offset()) {
    hold_regions(run);
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

void HeldContext::hold_binaries() {
    binaries_.emplace();
    std::set<std::uint64_t> packs;
    for (const auto& ref : dump().trailer().binary_pages()) {
        const auto page = dump().reader().message_at<records::BinaryIndexPage>(
            ref.offset(), format::RecordKind::kBinaryIndexPage);
        if (page) {
            packs.insert(page->record_offset().begin(), page->record_offset().end());
        }
    }
    for (const auto offset : packs) {
        const auto record =
            dump().reader().message_at<records::Binaries>(offset, format::RecordKind::kBinaries);
        if (!record) {
            continue;  // what is not there is asked for again
        }
        for (const auto& binary : record->binary()) {
            if (binary.size_bytes() > kSmallBytes) {
                continue;
            }
            HeldBinary held{
                {binary.data_address(), binary.size_bytes(), captured_bytes(binary), {}},
                std::string(captured_bytes(binary), '\0')};
            const auto got =
                dump().binaries().bytes(binary, 0, std::as_writable_bytes(std::span(held.bytes)));
            if (!got || *got != held.bytes.size()) {
                continue;
            }
            // Where an address was used again: the last one before the run's end counts.
            if (offset < end_offset_) {
                binaries_->insert_or_assign(binary.address(), std::move(held));
            } else {
                binaries_->try_emplace(binary.address(), std::move(held));
            }
        }
    }
}

const HeldContext::HeldBinary* HeldContext::held_binary(std::uint64_t address) {
    if (!binaries_) {
        hold_binaries();
    }
    const auto held = binaries_->find(address);
    return held == binaries_->end() ? nullptr : &held->second;
}

Result<BinaryInfo> HeldContext::binary_at(std::uint64_t address) {
    const auto* held = held_binary(address);
    return held == nullptr ? ProcessContext::binary_at(address) : held->info;
}

Result<std::size_t> HeldContext::binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                              std::span<std::byte> into) {
    const auto* held = held_binary(binary_address);
    if (held == nullptr) {
        return ProcessContext::binary_bytes(binary_address, from, into);
    }
    const std::string& bytes = held->bytes;
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
