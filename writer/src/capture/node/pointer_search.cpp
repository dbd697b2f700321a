#include "capture/node/pointer_search.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace beamdump::capture {

using memory::Address;
using memory::AddressRange;

namespace {

constexpr std::size_t kPointerBytes = sizeof(std::uint64_t);
constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
/// How much is left out where nothing can be read: the least that a processor maps.
constexpr std::uint64_t kSmallestPage = 4096;

}  // namespace

Result<void> PointerSearch::add(Address block, std::uint64_t bytes) {
    if (blocks_.size() >= kMostBlocks) {
        return fail(ErrorCode::kLimit, fmt::format("there are more than {} blocks", kMostBlocks));
    }
    blocks_.push_back({block, bytes, 0});
    return {};
}

Result<void> PointerSearch::search(memory::MemorySource& memory, const target::Mappings& mappings,
                                   std::span<const AddressRange> left_out,
                                   const std::function<Result<void>()>& go_on) {
    std::ranges::sort(blocks_, {}, &Block::address);
    if (blocks_.empty()) {
        return {};
    }
    piece_.resize(kPieceBytes);
    for (const auto& mapping : mappings.all()) {
        if (!mapping.readable || !mapping.writable) {
            continue;
        }
        auto begin = mapping.range.begin;
        for (const auto& part : left_out) {
            if (part.end <= begin || part.begin >= mapping.range.end) {
                continue;
            }
            if (part.begin > begin) {
                RETURN_IF_ERROR(search_range(memory, {begin, part.begin}, go_on));
            }
            begin = part.end;
        }
        if (begin < mapping.range.end) {
            RETURN_IF_ERROR(search_range(memory, {begin, mapping.range.end}, go_on));
        }
    }
    piece_ = {};
    return {};
}

Result<void> PointerSearch::search_range(memory::MemorySource& memory, AddressRange range,
                                         const std::function<Result<void>()>& go_on) {
    for (auto at = range.begin; at < range.end;) {
        RETURN_IF_ERROR(go_on());
        const auto wanted = std::min<std::uint64_t>(kPieceBytes, range.end - at);
        const auto read = memory.read_some(at, std::span(piece_).first(wanted));
        if (!read) {
            if (read.error().code == ErrorCode::kTargetDied) {
                return std::unexpected(read.error());
            }
            const auto next = std::min(range.end, (at / kSmallestPage + 1) * kSmallestPage);
            unreadable_ += next - at;
            at = next;
            continue;
        }
        look_at(at, std::span(piece_).first(*read));
        searched_ += *read;
        at += *read;
    }
    return {};
}

void PointerSearch::look_at(Address from, std::span<const std::byte> bytes) {
    const auto lowest = blocks_.front().address;
    const auto highest = blocks_.back().address + blocks_.back().bytes;
    const auto skipped = (kPointerBytes - from % kPointerBytes) % kPointerBytes;
    for (auto at = skipped; at + kPointerBytes <= bytes.size(); at += kPointerBytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, &bytes[at], sizeof(word));
        if (word < lowest || word >= highest) {
            continue;
        }
        const auto after = std::ranges::upper_bound(blocks_, word, {}, &Block::address);
        auto& block = *std::prev(after);
        const auto place = from + at;
        const bool in_itself = place >= block.address && place - block.address < block.bytes;
        if (word - block.address < block.bytes && !in_itself) {
            ++block.pointers;
        }
    }
}

std::optional<std::uint64_t> PointerSearch::pointers(Address block) const {
    const auto known = std::ranges::lower_bound(blocks_, block, {}, &Block::address);
    return known == blocks_.end() || known->address != block ? std::nullopt
                                                             : std::optional(known->pointers);
}

}  // namespace beamdump::capture
