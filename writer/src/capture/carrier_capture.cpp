#include "capture/carrier_capture.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <algorithm>

namespace beamdump::capture {
namespace {

/// How often the free blocks of a carrier are read that changes meanwhile.
constexpr int kCarrierTries = 3;

records::Carrier record_of(const beam::CarrierPlace& carrier) {
    records::Carrier record;
    record.set_allocator(carrier.allocator);
    record.set_instance(carrier.instance);
    record.set_address(carrier.range.begin);
    record.set_bytes(carrier.range.bytes());
    record.set_single_block(carrier.single_block);
    record.set_pooled(carrier.pooled);
    record.set_mseg(carrier.mseg);
    record.set_blocks(carrier.blocks);
    record.set_block_bytes(carrier.block_bytes);
    return record;
}

void add_sizes(const beam::FreeBlocks& found, records::FreeBlocks& record) {
    for (std::size_t index = 0; index < beam::FreeBlocks::kClasses; ++index) {
        const auto& sizes = found.classes.at(index);
        if (sizes.count != 0) {
            auto& added = *record.add_sizes();
            added.set_from_bytes(std::uint64_t{1} << index);
            added.set_count(sizes.count);
            added.set_bytes(sizes.bytes);
        }
    }
    if (found.count != 0) {
        record.set_largest_bytes(found.largest);
    }
}

/// About how much is copied to read its free blocks.
double bytes_to_copy(const beam::CarrierPlace& carrier) {
    return static_cast<double>(std::min(
        carrier.range.bytes(), (carrier.blocks + 1) * beam::FreeBlockReader::kBytesOfAFarHeader));
}

}  // namespace

CarrierCapture::CarrierCapture(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                               records::SystemMemory& system, const beam::Moving& moving)
    : vm_(vm), writer_(writer), trailer_(trailer), system_(system), moving_(moving), reader_(vm) {}

void CarrierCapture::limit(std::uint64_t bytes,
                           const std::vector<std::vector<beam::CarrierPlace>>& carriers) {
    double all = 0;
    for (const auto& of_an_allocator : carriers) {
        for (const auto& carrier : of_an_allocator) {
            all += carrier.single_block ? 0 : bytes_to_copy(carrier);
        }
    }
    const auto limit = static_cast<double>(bytes);
    share_ = all <= limit ? 1 : limit / all;
}

bool CarrierCapture::allows(const beam::CarrierPlace& carrier) {
    const auto bytes = bytes_to_copy(carrier);
    allowed_ += share_ * bytes;
    const bool allows = allowed_ >= bytes;
    allowed_ -= allows ? bytes : 0;
    return allows;
}

std::optional<beam::FreeBlocks> CarrierCapture::free_blocks(beam::CarrierPlace& carrier,
                                                            records::FreeBlocks& sums) {
    for (int attempt = 1;; ++attempt) {
        auto found = reader_.read(carrier);
        if (found) {
            return *found;
        }
        if (attempt == kCarrierTries || !moving_()) {
            if (found.error().code == ErrorCode::kImplausible) {
                sums.set_changed_carriers(sums.changed_carriers() + 1);
            } else {
                sums.set_unreadable_carriers(sums.unreadable_carriers() + 1);
            }
            return std::nullopt;
        }
        vm_.forget();
    }
}

Result<void> CarrierCapture::write(std::span<beam::CarrierPlace> carriers) {
    if (carriers.empty()) {
        return {};
    }
    auto& sums = *system_.add_free_blocks();
    sums.set_allocator(carriers.front().allocator);
    sums.set_carriers(0);
    sums.set_carrier_bytes(0);
    sums.set_read_carriers(0);
    sums.set_read_carrier_bytes(0);
    beam::FreeBlocks all;
    records::Carriers page;
    for (auto& carrier : carriers) {
        std::optional<beam::FreeBlocks> found;
        if (!carrier.single_block) {
            found = allows(carrier) ? free_blocks(carrier, sums) : std::nullopt;
            sums.set_carriers(sums.carriers() + 1);
            sums.set_carrier_bytes(sums.carrier_bytes() + carrier.range.bytes());
        }
        auto& record = *page.add_carrier() = record_of(carrier);
        if (found) {
            record.set_free_blocks(found->count);
            record.set_largest_free_bytes(found->largest);
            sums.set_read_carriers(sums.read_carriers() + 1);
            sums.set_read_carrier_bytes(sums.read_carrier_bytes() + carrier.range.bytes());
            all.add(*found);
        }
        if (page.carrier_size() == limits::kCarriersOfAPage || &carrier == &carriers.back()) {
            RETURN_IF_ERROR(append_noted(writer_, format::RecordKind::kCarriers, page,
                                         *trailer_.mutable_carriers_offset()));
            page.Clear();
        }
    }
    add_sizes(all, sums);
    return {};
}

}  // namespace beamdump::capture
