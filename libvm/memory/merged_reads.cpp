#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libvm/memory/merged_reads.h>
#include <libvm/memory/present_pages.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace beamdump::memory {
namespace {

constexpr std::size_t kLargePart = 64U << 10U;
constexpr std::size_t kLargestPiece = 256U << 10U;
/// Both ends of a shorter gap lie in the pages of the parts beside it: it can be read as they can.
constexpr std::size_t kGap = kLeastPageBytes;

Address end_of(const BatchRead& read) {
    return read.address + read.into.size();
}

}  // namespace

/// Divides the reads into pieces.
void MergedReads::merge(std::span<const BatchRead> reads) {
    order_.resize(reads.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t index) { return reads[index].address; });
    pieces_.clear();
    Address end = 0;
    for (std::size_t at = 0; at < order_.size(); ++at) {
        const auto& read = reads[order_[at]];
        const bool fits =
            !pieces_.empty() && read.into.size() < kLargePart &&
            read.address <= kUserEnd - kLargestPiece && read.address < end + kGap &&
            std::max(end, end_of(read)) - reads[order_[pieces_.back().first]].address <=
                kLargestPiece;
        if (fits) {
            ++pieces_.back().parts;
            end = std::max(end, end_of(read));
        } else {
            pieces_.push_back({.first = at, .parts = 1});
            end = read.address > kUserEnd - kLargestPiece ? 0 : end_of(read);
        }
    }
}

Result<void> MergedReads::read(MemorySource& source, std::span<BatchRead> reads) {
    merge(reads);
    std::size_t bytes = 0;
    const auto length = [&](const Piece& piece) {
        const auto begin = reads[order_[piece.first]].address;
        Address end = begin;
        for (std::size_t i = 0; i < piece.parts; ++i) {
            end = std::max(end, end_of(reads[order_[piece.first + i]]));
        }
        return end - begin;
    };
    for (const auto& piece : pieces_) {
        bytes += piece.parts > 1 ? length(piece) : 0;
    }
    bytes_.resize(std::max(bytes_.size(), bytes));
    large_.clear();
    bytes = 0;
    for (const auto& piece : pieces_) {
        const auto& first = reads[order_[piece.first]];
        if (piece.parts == 1) {
            large_.push_back({first.address, first.into, false});
            continue;
        }
        const auto size = length(piece);
        large_.push_back({first.address, std::span(bytes_).subspan(bytes, size), false});
        bytes += size;
    }
    RETURN_IF_ERROR(source.read_batch(large_));
    alone_.clear();
    for (std::size_t number = 0; number < pieces_.size(); ++number) {
        const auto& piece = pieces_[number];
        const auto& large = large_[number];
        for (std::size_t i = 0; i < piece.parts; ++i) {
            auto& one = reads[order_[piece.first + i]];
            one.done = large.done;
            if (piece.parts == 1) {
                continue;
            }
            if (large.done) {
                std::memcpy(one.into.data(), large.into.data() + (one.address - large.address),
                            one.into.size());
            } else {
                alone_.push_back(one);
            }
        }
    }
    if (alone_.empty()) {
        return {};
    }
    RETURN_IF_ERROR(source.read_batch(alone_));
    // In the order in which they were taken out.
    auto done = alone_.begin();
    for (std::size_t number = 0; number < pieces_.size(); ++number) {
        const auto& piece = pieces_[number];
        for (std::size_t i = 0; i < piece.parts && piece.parts > 1 && !large_[number].done; ++i) {
            reads[order_[piece.first + i]].done = (done++)->done;
        }
    }
    return {};
}

}  // namespace beamdump::memory
