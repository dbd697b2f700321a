#include <libdump/base/return_if_error.h>
#include <libvm/memory/block_cache.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace beamdump::memory {
BlockCache::BlockCache(MemorySource& source, PresentPages* pages, std::size_t block_bytes,
                       std::size_t blocks)
    : source_(source),
      pages_(pages),
      block_bytes_(std::bit_ceil(std::max<std::size_t>(block_bytes, kLeastPageBytes))),
      capacity_(std::max<std::size_t>(blocks, 1)) {}

Result<std::size_t> BlockCache::read_some(Address address, std::span<std::byte> into) {
    if (into.empty()) {
        return 0;
    }
    if (address >= kUserEnd) {
        return fail(ErrorCode::kUnmapped, fmt::format("no memory at {:#x}", address));
    }
    if (into.size() >= block_bytes_) {
        return source_.read_some(address, into);
    }
    const Address start = address & ~(Address{block_bytes_} - 1);
    ASSIGN_OR_RETURN(auto block, block_at(start, address));
    // As far as pages are here, one after the other.
    const auto offset = static_cast<std::size_t>(address - start);
    std::size_t end = offset;
    while (end < offset + into.size() && end < block_bytes_ &&
           block->page_here[end / kLeastPageBytes]) {
        end = (end / kLeastPageBytes + 1) * kLeastPageBytes;
    }
    const auto count = std::min(end - offset, into.size());
    std::memcpy(into.data(), block->bytes.data() + offset, count);
    return count;
}

void BlockCache::invalidate() {
    // Often, and after a few blocks were used: the others hold nothing.
    for (auto& [start, block] : index_) {
        block->page_here.assign(block->page_here.size(), false);
    }
    index_.clear();
}

/// The block that begins at `start`, with at least the page of `wanted` here.
Result<BlockCache::Block*> BlockCache::block_at(Address start, Address wanted) {
    const auto known = index_.find(start);
    if (known != index_.end()) {
        blocks_.splice(blocks_.begin(), blocks_, known->second);
        Block& block = blocks_.front();
        if (!block.page_here[(wanted - start) / kLeastPageBytes]) {
            RETURN_IF_ERROR(fill(block, wanted));
        }
        return &block;
    }
    if (blocks_.size() < capacity_) {
        blocks_.emplace_front();
        blocks_.front().bytes.resize(block_bytes_);
    } else {
        blocks_.splice(blocks_.begin(), blocks_, std::prev(blocks_.end()));
        const auto old = index_.find(blocks_.front().start);
        if (old != index_.end() && old->second == blocks_.begin()) {
            index_.erase(old);
        }
    }
    Block& block = blocks_.front();
    block.start = start;
    block.page_here.assign(block_bytes_ / kLeastPageBytes, false);
    index_.emplace(start, blocks_.begin());
    RETURN_IF_ERROR(fill(block, wanted));
    return &block;
}

/// Whatever else of a block is present, but not here yet: all but the page of `wanted`.
Result<std::vector<AddressRange>> BlockCache::others_of(const Block& block, AddressRange wanted) {
    const AddressRange whole{block.start, block.start + block_bytes_};
    std::vector<AddressRange> present{whole};
    if (pages_ != nullptr) {
        ASSIGN_OR_RETURN(auto known, pages_->present(whole));
        present = std::move(known);
    }
    std::vector<AddressRange> parts;
    for (const auto& range : present) {
        const auto end = range.end & ~(kLeastPageBytes - 1);
        for (auto page = (range.begin + kLeastPageBytes - 1) & ~(kLeastPageBytes - 1); page < end;
             page += kLeastPageBytes) {
            if (page == wanted.begin || block.page_here[(page - block.start) / kLeastPageBytes]) {
                continue;
            }
            if (!parts.empty() && parts.back().end == page) {
                parts.back().end += kLeastPageBytes;
            } else {
                parts.push_back({page, page + kLeastPageBytes});
            }
        }
    }
    return parts;
}

/// Reads the page of `address`, present or not (a pointer led there). A block that is wanted for a
/// second page is one through which a chain leads: then all the rest that is present comes with it.
Result<void> BlockCache::fill(Block& block, Address address) {
    const Address page = address & ~(kLeastPageBytes - 1);
    std::vector<AddressRange> parts{{page, page + kLeastPageBytes}};
    if (std::ranges::count(block.page_here, true) == 1) {
        ASSIGN_OR_RETURN(auto others, others_of(block, parts.front()));
        parts.insert(parts.end(), others.begin(), others.end());
    }
    std::vector<BatchRead> reads;
    reads.reserve(parts.size());
    for (const auto& part : parts) {
        reads.push_back(
            {.address = part.begin,
             .into = std::span(block.bytes).subspan(part.begin - block.start, part.bytes())});
    }
    RETURN_IF_ERROR(source_.read_batch(reads));
    for (const auto& one : reads) {
        if (one.done) {
            const auto first = (one.address - block.start) / kLeastPageBytes;
            std::fill_n(block.page_here.begin() + static_cast<std::ptrdiff_t>(first),
                        one.into.size() / kLeastPageBytes, true);
        }
    }
    if (reads.front().done) {
        return {};
    }
    // Once more alone, for its error.
    auto alone = source_.read(page, reads.front().into);
    block.page_here[(page - block.start) / kLeastPageBytes] = alone.has_value();
    return alone;
}

}  // namespace beamdump::memory
