#include <libdump/rewrite/moved_in_dump.h>

#include <algorithm>

namespace beamdump {

const records::LastMoved* MovedInDump::last_moved(std::uint64_t copy) const {
    const auto& last = run_.collection.last_moved();
    const auto found = std::ranges::find(last, copy, &records::LastMoved::copy_address);
    return found == last.end() ? nullptr : &*found;
}

bool MovedInDump::is_target(std::uint64_t address) const {
    return last_moved(address) != nullptr ||
           std::ranges::any_of(run_.collection.target(), [&](const records::AddressSpan& span) {
               return span.begin() <= address && address < span.end();
           });
}

std::size_t MovedInDump::words(std::uint64_t address, std::span<std::uint64_t> into) {
    if (const auto* last = last_moved(address)) {
        // The rest of the copy is not in the dump.
        into[0] = last->header_word();
        return 1;
    }
    std::size_t got = 0;
    // A region's words come in pieces.
    while (got < into.size()) {
        const auto at = address + got * kWordBytes;
        const auto more = regions_.words(at, into.subspan(got)).value_or(0);
        if (more == 0) {
            break;
        }
        got += more;
    }
    return got != 0 ? got : packed_words(address, into);
}

std::size_t MovedInDump::packed_words(std::uint64_t address, std::span<std::uint64_t> into) {
    for (const auto& pack : run_.directory.packed_regions) {
        if (address < pack.lowest_address || address >= pack.highest_address) {
            continue;
        }
        if (pack_offset_ != pack.offset) {
            auto page = reader_.message_at<records::PackedRegions>(
                pack.offset, format::RecordKind::kPackedRegions);
            pack_offset_ = pack.offset;
            pack_ = page ? std::move(*page) : records::PackedRegions();
        }
        for (const auto& region : pack_.region()) {
            const auto here = static_cast<std::uint64_t>(region.words_size());
            const auto index = (address - region.address()) / kWordBytes;
            if (address >= region.address() && index < here) {
                const auto count = std::min<std::size_t>(into.size(), here - index);
                std::copy_n(region.words().begin() + static_cast<std::ptrdiff_t>(index), count,
                            into.begin());
                return count;
            }
        }
    }
    return 0;
}

}  // namespace beamdump
