#include <libdump/base/return_if_error.h>
#include <libdump/model/binary_index.h>
#include <libdump/model/region.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

namespace beamdump {

namespace {
/// Addresses come in any order: all pages of one run of the writer (393,216 binaries) are held, 8
/// MiB.
constexpr std::size_t kBinaryPagesHeld = 64;
constexpr std::size_t kBinaryPacksHeld = 16;
}  // namespace

std::uint64_t captured_bytes(const records::Binary& binary) {
    const std::uint64_t held =
        binary.has_content_offset() ? binary.content_bytes() : binary.prefix().size();
    return std::min(held, binary.size_bytes());
}

std::uint64_t captured_part_bytes(const records::Binary& binary) {
    std::uint64_t bytes = 0;
    for (const auto& part : binary.part()) {
        bytes += part.content().size();
    }
    return bytes;
}

namespace {

/// Bytes of a part from `from` on; empty if no part has it.
std::string_view part_from(const records::Binary& binary, std::uint64_t from) {
    for (const auto& part : binary.part()) {
        if (from >= part.first_byte() && from - part.first_byte() < part.content().size()) {
            return std::string_view(part.content()).substr(from - part.first_byte());
        }
    }
    return {};
}

}  // namespace

BinaryIndex::BinaryIndex(DumpReader& reader)
    : reader_(reader), pages_(kBinaryPagesHeld), packs_(kBinaryPacksHeld) {}

Result<std::shared_ptr<const BinaryIndex::Page>> BinaryIndex::page(std::uint64_t offset) {
    if (auto known = pages_.find(offset)) {
        return known;
    }
    auto page = reader_.message_at<Page>(offset, format::RecordKind::kBinaryIndexPage);
    if (!page) {
        return wrap("reading the index of binaries", std::move(page.error()));
    }
    if (page->address_size() != page->record_offset_size()) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the index page of binaries at offset {} of the dump has {} "
                                "addresses but {} offsets",
                                offset, page->address_size(), page->record_offset_size()));
    }
    return pages_.insert(offset, std::move(*page));
}

Result<std::shared_ptr<const BinaryIndex::Pack>> BinaryIndex::pack(std::uint64_t offset) {
    if (auto known = packs_.find(offset)) {
        return known;
    }
    auto record = reader_.message_at<records::Binaries>(offset, format::RecordKind::kBinaries);
    if (!record) {
        return wrap("reading binaries", std::move(record.error()));
    }
    Pack pack{std::move(*record), {}};
    pack.by_address.resize(static_cast<std::size_t>(pack.record.binary_size()));
    std::iota(pack.by_address.begin(), pack.by_address.end(), 0);
    std::ranges::sort(pack.by_address, {},
                      [&pack](int i) { return pack.record.binary(i).address(); });
    return packs_.insert(offset, std::move(pack));
}

Result<BinaryRecord> BinaryIndex::in_pack(std::uint64_t offset, std::uint64_t address) {
    ASSIGN_OR_RETURN(auto held, pack(offset));
    const Pack& pack = *held;
    const auto found = std::ranges::lower_bound(
        pack.by_address, address, {}, [&pack](int i) { return pack.record.binary(i).address(); });
    if (found == pack.by_address.end() || pack.record.binary(*found).address() != address) {
        return nullptr;
    }
    return BinaryRecord(held, &pack.record.binary(*found));
}

/// Offsets of all records with a binary at that address.
Result<std::vector<std::uint64_t>> BinaryIndex::places(std::uint64_t address) {
    std::vector<std::uint64_t> offsets;
    if (const RecoveredIndex* recovered = reader_.recovered()) {
        for (const auto& place :
             std::ranges::equal_range(recovered->binaries, address, {}, &BinaryLocation::address)) {
            offsets.push_back(place.record_offset);
        }
    }
    for (const auto& ref : reader_.trailer().binary_pages()) {
        if (address < ref.lowest_address() || address > ref.highest_address()) {
            continue;
        }
        ASSIGN_OR_RETURN(auto held, page(ref.offset()));
        const auto& addresses = held->address();
        const auto found = std::ranges::lower_bound(addresses, address);
        if (found != addresses.end() && *found == address) {
            const auto place = static_cast<int>(std::distance(addresses.begin(), found));
            offsets.push_back(held->record_offset(place));
        }
    }
    return offsets;
}

Result<bool> BinaryIndex::contains(std::uint64_t address) {
    ASSIGN_OR_RETURN(const auto offsets, places(address));
    return !offsets.empty();
}

Result<BinaryRecord> BinaryIndex::at(std::uint64_t address, std::uint64_t end) {
    ASSIGN_OR_RETURN(auto offsets, places(address));
    // Those before `end`, the last one first, then those after it.
    std::ranges::sort(offsets);
    const auto behind = std::ranges::lower_bound(offsets, end);
    std::reverse(offsets.begin(), behind);
    for (const auto offset : offsets) {
        auto binary = in_pack(offset, address);
        if (!binary || *binary != nullptr) {
            return binary;
        }
    }
    return fail(ErrorCode::kAbsent,
                fmt::format("the dump has no binary at address {:#x}", address));
}

Result<std::size_t> BinaryIndex::bytes(const records::Binary& binary, std::uint64_t from,
                                       std::span<std::byte> into) {
    const std::uint64_t held = captured_bytes(binary);
    if (from >= held) {
        const auto part = part_from(binary, from);
        const auto count = std::min(into.size(), part.size());
        std::memcpy(into.data(), part.data(), count);
        return count;
    }
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), held - from));
    if (!binary.has_content_offset()) {
        std::memcpy(into.data(), binary.prefix().data() + from, count);
        return count;
    }
    ASSIGN_OR_RETURN(auto header_at, reader_.record_at(binary.content_offset()));
    format::RegionHeader header;
    if (header_at.kind != format::RecordKind::kRegion ||
        header_at.payload.size() < sizeof(header)) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("no content at offset {} of the dump for the binary at {:#x}",
                                binary.content_offset(), binary.address()));
    }
    std::memcpy(&header, header_at.payload.data(), sizeof(header));
    Region region;
    region.kind = format::RegionKind::kBinaryContent;
    region.address = header.address;
    region.total = header.total;
    region.here = binary.content_bytes();
    region.offset = binary.content_offset();
    region.striped = binary.content_striped();
    RETURN_IF_ERROR(read_region(reader_, region, from, into.first(count)));
    return count;
}

}  // namespace beamdump
