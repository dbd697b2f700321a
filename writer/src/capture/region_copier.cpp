#include "capture/region_copier.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

namespace beamdump::capture {
namespace {

constexpr std::size_t kWatchEvery = 1U << 20U;  // bytes
constexpr std::size_t kDigestBytes = 256U << 10U;

std::uint64_t width_of(format::RegionUnit unit) {
    return unit == format::RegionUnit::kWords ? 8 : 1;
}

}  // namespace

Result<void> RegionCopier::copy(const Request& request,
                                const std::function<Result<void>(records::RegionRef&)>& placed) {
    const std::uint64_t width = width_of(request.unit);
    if (request.total == 0) {
        return {};
    }
    if (pages_ == nullptr) {
        return copy_part(request, request.address, request.total, placed);
    }
    const auto end = request.address + request.total * width;
    auto present = pages_->present({request.address, end});
    if (!present) {
        return std::unexpected(present.error());
    }
    auto at = request.address;
    const auto absent_until = [&](Address until) -> Result<void> {
        if (until <= at) {
            return {};
        }
        records::RegionRef ref;
        ref.set_kind(static_cast<std::uint32_t>(request.kind));
        ref.set_state(static_cast<std::uint32_t>(format::RegionState::kNotPresent));
        ref.set_address(at);
        ref.set_total((until - at) / width);
        ref.set_here(0);
        return placed(ref);
    };
    for (const auto& part : *present) {
        if (auto done = absent_until(part.begin); !done) {
            return done;
        }
        if (auto done = copy_part(request, part.begin, part.bytes() / width, placed); !done) {
            return done;
        }
        at = part.end;
    }
    return absent_until(end);
}

/// As many bytes as can be read, from the front.
Result<std::size_t> RegionCopier::read(Address begin, std::span<std::byte> into) {
    std::size_t have = 0;
    while (have < into.size()) {
        auto got = source_.read_some(begin + have, into.subspan(have));
        if (!got) {
            if (got.error().code != ErrorCode::kUnmapped) {
                return got;
            }
            break;
        }
        have += *got;
    }
    return have;
}

Result<std::uint64_t> RegionCopier::digest(const Request& request) {
    const auto end = request.address + request.total * width_of(request.unit);
    std::vector<memory::AddressRange> parts{{request.address, end}};
    if (pages_ != nullptr) {
        auto present = pages_->present(parts.front());
        if (!present) {
            return std::unexpected(present.error());
        }
        parts = std::move(*present);
    }
    std::uint64_t digest = 0;
    std::vector<std::byte> piece(std::min<std::size_t>(kDigestBytes, end - request.address));
    for (const auto& part : parts) {
        for (auto at = part.begin; at < part.end;) {
            const auto into = std::span(piece).first(std::min(piece.size(), part.end - at));
            auto have = read(at, into);
            if (!have) {
                return have;
            }
            digest = XXH64(piece.data(), *have, digest);
            if (*have < into.size()) {
                break;
            }
            at += *have;
            if (auto still = watch(*have); !still) {
                return std::unexpected(still.error());
            }
        }
    }
    return digest | 1U;
}

Result<void> RegionCopier::watch(std::size_t bytes) {
    unwatched_ += bytes;
    if (watch_ == nullptr || unwatched_ < kWatchEvery) {
        return {};
    }
    unwatched_ = 0;
    return (*watch_)();
}

Result<void> RegionCopier::copy_part(
    const Request& request, Address begin, std::uint64_t units,
    const std::function<Result<void>(records::RegionRef&)>& placed) {
    const std::uint64_t width = width_of(request.unit);
    format::RegionHeader header;
    header.owner_kind = request.owner_kind;
    header.owner_id = request.owner_id;
    header.region_kind = request.kind;
    header.unit = request.unit;
    header.term_scheme = scheme_;
    header.address = begin;
    header.total = units;
    const auto fill = [&](std::uint64_t first, std::span<std::byte> into) -> Result<std::uint64_t> {
        auto have = read(begin + first * width, into);
        if (!have) {
            return have;
        }
        if (request.scrub != nullptr) {
            (*request.scrub)(into.first(*have));
        }
        if (auto still = watch(*have); !still) {
            return std::unexpected(still.error());
        }
        return *have / width;
    };
    auto placement = writer_.append_region(header, fill);
    if (!placement) {
        return std::unexpected(placement.error());
    }
    records::RegionRef ref;
    ref.set_kind(static_cast<std::uint32_t>(request.kind));
    if (placement->here < units) {
        ref.set_state(static_cast<std::uint32_t>(format::RegionState::kUnreadable));
    }
    ref.set_address(begin);
    ref.set_total(units);
    ref.set_here(placement->here);
    ref.set_offset(placement->offset);
    ref.set_striped(placement->striped);
    return placed(ref);
}

}  // namespace beamdump::capture
