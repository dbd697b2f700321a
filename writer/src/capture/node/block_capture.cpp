#include "capture/node/block_capture.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <algorithm>
#include <optional>

namespace beamdump::capture {
namespace {

/// How often the blocks of a carrier are read that changes meanwhile.
constexpr int kBlockTries = 3;

}  // namespace

bool BlocksWanted::has(const std::string& allocator) const {
    return std::ranges::find(allocators, allocator) != allocators.end();
}

Result<void> BlockCapture::write(const std::string& allocator,
                                 std::span<beam::CarrierPlace> carriers,
                                 const PointerSearch* pointers) {
    if (!wanted_.has(allocator) || carriers.empty()) {
        return {};
    }
    ASSIGN_OR_RETURN(auto reader, beam::UsedBlockReader::open(vm_, wanted_.first_bytes));
    auto& sums = *system_.add_block_sums();
    sums.set_allocator(carriers.front().allocator);
    sums.set_carriers(carriers.size());
    sums.set_read_carriers(0);
    sums.set_changed_carriers(0);
    sums.set_unreadable_carriers(0);
    sums.set_blocks(0);
    sums.set_bytes(0);
    sums.set_moving(moving_());
    if (pointers != nullptr) {
        sums.set_searched_bytes(pointers->searched_bytes());
        sums.set_unreadable_bytes(pointers->unreadable_bytes());
    }
    for (auto& place : carriers) {
        RETURN_IF_ERROR(carrier(reader, place, pointers, sums));
    }
    return {};
}

Result<void> BlockCapture::carrier(beam::UsedBlockReader& reader, beam::CarrierPlace& place,
                                   const PointerSearch* pointers, records::BlockSums& sums) {
    for (int attempt = 1;; ++attempt) {
        page_.set_allocator(place.allocator);
        page_.set_carrier_address(place.range.begin);
        page_.set_pass(passes_);
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0;
        std::optional<Error> not_written;
        const auto read = reader.read(place, [&](records::Block block) -> Result<void> {
            ++blocks;
            bytes += block.bytes();
            if (const auto words =
                    pointers != nullptr ? pointers->pointers(block.address()) : std::nullopt) {
                block.set_pointers(*words);
            }
            auto added = add(std::move(block));
            if (!added) {
                not_written = added.error();
            }
            return added;
        });
        if (not_written) {
            return std::unexpected(std::move(*not_written));
        }
        RETURN_IF_ERROR(flush());
        const auto pass = passes_++;
        if (read) {
            sums.set_read_carriers(sums.read_carriers() + 1);
            sums.set_blocks(sums.blocks() + blocks);
            sums.set_bytes(sums.bytes() + bytes);
            return {};
        }
        if (read.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(read.error());
        }
        sums.add_left_out_pass(pass);
        if (attempt == kBlockTries || !moving_()) {
            if (read.error().code == ErrorCode::kImplausible) {
                sums.set_changed_carriers(sums.changed_carriers() + 1);
            } else {
                sums.set_unreadable_carriers(sums.unreadable_carriers() + 1);
            }
            return {};
        }
        vm_.forget();
    }
}

Result<void> BlockCapture::add(records::Block block) {
    if (wanted_.secrets != nullptr && block.has_first_bytes()) {
        auto& bytes = *block.mutable_first_bytes();
        wanted_.secrets->scrub(bytes);
        // The rest of a text that was cut off is not here.
        wanted_.secrets->scrub_cut_end(std::as_writable_bytes(std::span(bytes)));
    }
    *page_.add_block() = std::move(block);
    return page_.block_size() >= limits::kBlocksOfAPage ? flush() : Result<void>();
}

/// Writes the page, which goes on for the same carrier.
Result<void> BlockCapture::flush() {
    if (page_.block_size() == 0) {
        return {};
    }
    auto done = append_noted(writer_, format::RecordKind::kBlocks, page_,
                             *trailer_.mutable_blocks_offset());
    page_.clear_block();
    return done;
}

}  // namespace beamdump::capture
