#include "capture/copy/region_copier.h"

#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace beamdump::capture {
namespace {

using memory::AddressRange;

constexpr std::size_t kWatchEvery = 1U << 20U;  // bytes
constexpr std::size_t kDigestBytes = 256U << 10U;

std::uint64_t width_of(format::RegionUnit unit) {
    return unit == format::RegionUnit::kWords ? 8 : 1;
}

}  // namespace

/// Reads in blocks: the garbage collector places cells of many lists side by side, so that the
/// successors of neighbours are near one another.
class RegionCopier::Around final : public SecretTexts::Beyond {
  public:
    explicit Around(RegionCopier& copier) : copier_(copier) {}

    std::optional<std::uint64_t> word(Address address) override {
        if (address % 8 != 0 || address >= memory::kUserEnd) {
            return std::nullopt;
        }
        const auto begin = address / kBlockBytes * kBlockBytes;
        blocks_.resize(copier_.list_blocks_);
        auto& block = blocks_[(begin / kBlockBytes * kSpread >> kSpreadShift) % blocks_.size()];
        if (!block.read || block.begin != begin) {
            block = read_block(begin);
        }
        const auto at = address - begin;
        if (at + 8 > block.bytes.size()) {
            return std::nullopt;
        }
        std::uint64_t value = 0;
        std::memcpy(&value, block.bytes.data() + at, 8);
        return value;
    }
    void overwrite(Address address, std::uint64_t from, std::uint64_t to) override {
        copier_.to_overwrite_[address] = {from, to};
    }

  private:
    static constexpr std::size_t kBlockBytes = kLeastPageBytes;
    static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
    static constexpr unsigned kSpreadShift = 48;
    struct Block {
        bool read = false;
        Address begin = 0;
        std::vector<std::byte> bytes;  // as far as they can be read
    };

    Block read_block(Address begin) {
        Block block{true, begin, {}};
        auto end = begin + kBlockBytes;
        if (copier_.pages_ != nullptr) {
            const auto present = copier_.pages_->present({begin, end});
            const bool any = present && !present->empty() && present->front().begin == begin;
            end = any ? present->front().end : begin;
        }
        block.bytes.resize(end - begin);
        const auto have = copier_.read(begin, block.bytes);
        block.bytes.resize(have ? *have : 0);
        return block;
    }

    RegionCopier& copier_;
    std::vector<Block> blocks_;  // by a hash of their addresses; none until one is read
};

/// Finds texts that cross from one piece to the next, by searching the ends of both together.
class RegionCopier::Scrubber {
  public:
    Scrubber(RegionCopier& copier, const Request& request, AddressRange part)
        : copier_(copier), request_(request), part_(part), beyond_(copier) {}

    Result<void> scrub(Address at, std::span<std::byte> piece) {
        const auto& secrets = copier_.secrets_;
        if (secrets.empty() || piece.empty()) {
            return {};
        }
        const auto reach = (secrets.reach() + 7) / 8 * 8;
        if (at == part_.begin && request_.is_part) {
            ASSIGN_OR_RETURN(auto before, around(at - std::min<Address>(at, reach),
                                                 std::min<Address>(at, reach)));
            before_ = std::move(before);
        }
        const auto end = at + piece.size();
        const auto more = request_.is_part ? reach : std::min(reach, part_.end - end);
        ASSIGN_OR_RETURN(auto after, around(end, more));
        const auto head = piece.first(std::min(piece.size(), reach));
        const auto tail = piece.last(std::min(piece.size(), reach));
        auto left = joined(before_, before_.empty() ? std::span<std::byte>() : head);
        auto right = joined(after.empty() ? std::span<std::byte>() : tail, after);
        const auto tail_offset = piece.size() - tail.size();
        const auto before_bytes = before_.size();
        before_.assign(tail.begin(), tail.end());
        if (has_words()) {
            copier_.scrub_words(piece, at, &beyond_);
        } else {
            secrets.scrub(piece, at);
        }
        overwrite_noted(at, piece);
        take_over(left, at - before_bytes, before_bytes, head);
        take_over(right, at + tail_offset, 0, tail);
        return {};
    }

  private:
    /// The bytes, if all of them can be read; nullopt otherwise.
    Result<std::vector<std::byte>> around(Address begin, std::size_t bytes) {
        std::vector<std::byte> result(bytes);
        ASSIGN_OR_RETURN(const auto have, copier_.read(begin, result));
        result.resize(have == bytes ? bytes : 0);
        return result;
    }
    static std::vector<std::byte> joined(std::span<const std::byte> one,
                                         std::span<const std::byte> other) {
        std::vector<std::byte> both(one.begin(), one.end());
        both.insert(both.end(), other.begin(), other.end());
        return both;
    }
    void overwrite_noted(Address begin, std::span<std::byte> piece) {
        auto& noted = copier_.to_overwrite_;
        auto at = noted.lower_bound(begin);
        while (at != noted.end() && at->first + 8 <= begin + piece.size()) {
            auto* word = piece.data() + (at->first - begin);
            const auto [from, to] = at->second;
            // The owner may have run, and the memory may hold something else.
            if (std::memcmp(word, &from, sizeof from) == 0) {
                std::memcpy(word, &to, sizeof to);
            }
            at = noted.erase(at);
        }
    }
    [[nodiscard]] bool has_words() const { return request_.unit == format::RegionUnit::kWords; }
    /// Scrubs a border and copies the changed units from `offset` on into `piece`.
    void take_over(std::vector<std::byte>& border, Address address, std::size_t offset,
                   std::span<std::byte> piece) {
        const auto before = border;
        if (has_words()) {
            copier_.scrub_words(border, address);
        } else {
            copier_.secrets_.scrub(border, address);
        }
        const auto width = static_cast<std::size_t>(width_of(request_.unit));
        const auto end = std::min(border.size(), offset + piece.size());
        for (std::size_t at = offset; at + width <= end; at += width) {
            const auto unit = std::span(border).subspan(at, width);
            if (!std::ranges::equal(unit, std::span(before).subspan(at, width))) {
                std::ranges::copy(unit, piece.subspan(at - offset).begin());
            }
        }
    }

    RegionCopier& copier_;
    const Request& request_;
    AddressRange part_;
    Around beyond_;
    std::vector<std::byte> before_;  // as it was read
};

Result<void> RegionCopier::copy(const Request& request,
                                const std::function<Result<void>(records::RegionRef&)>& placed) {
    const std::uint64_t width = width_of(request.unit);
    if (request.owner_id != owner_id_) {
        to_overwrite_.clear();
        owner_id_ = request.owner_id;
    }
    if (request.total == 0) {
        return {};
    }
    if (pages_ == nullptr) {
        return copy_part(request, request.address, request.total, placed);
    }
    const auto end = request.address + request.total * width;
    ASSIGN_OR_RETURN(auto present, pages_->present({request.address, end}));
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
    for (const auto& part : present) {
        RETURN_IF_ERROR(absent_until(part.begin));
        RETURN_IF_ERROR(copy_part(request, part.begin, part.bytes() / width, placed));
        at = part.end;
    }
    return absent_until(end);
}

/// The longest readable prefix.
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
    std::vector<AddressRange> parts{{request.address, end}};
    if (pages_ != nullptr) {
        ASSIGN_OR_RETURN(auto present, pages_->present(parts.front()));
        parts = std::move(present);
    }
    std::uint64_t digest = 0;
    std::vector<std::byte> piece(std::min<std::size_t>(kDigestBytes, end - request.address));
    for (const auto& part : parts) {
        for (auto at = part.begin; at < part.end;) {
            const auto into = std::span(piece).first(std::min(piece.size(), part.end - at));
            ASSIGN_OR_RETURN(auto have, read(at, into));
            digest = XXH64(piece.data(), have, digest);
            if (have < into.size()) {
                break;
            }
            at += have;
            RETURN_IF_ERROR(watch(have));
        }
    }
    return digest | 1U;
}

Result<std::vector<std::string>> RegionCopier::bytes(std::span<const AddressRange> parts,
                                                     AddressRange whole) {
    const auto reach = secrets_.empty() ? std::size_t{0} : secrets_.reach();
    std::vector<std::string> texts(parts.size());
    std::vector<memory::BatchRead> reads(parts.size());
    for (std::size_t at = 0; at < parts.size(); ++at) {
        const auto& part = parts[at];
        AddressRange around{part.begin - std::min<Address>(part.begin - whole.begin, reach),
                            part.end + std::min<Address>(whole.end - part.end, reach)};
        if (pages_ != nullptr) {
            ASSIGN_OR_RETURN(const auto present, pages_->present(around));
            const auto here = std::ranges::find_if(
                present, [&](const AddressRange& range) { return range.contains(part.begin); });
            around = here == present.end() ? AddressRange{part.begin, part.begin} : *here;
        }
        texts[at].resize(around.bytes());
        reads[at] = {around.begin, std::as_writable_bytes(std::span(texts[at])), texts[at].empty()};
    }
    RETURN_IF_ERROR(source_.read_batch(reads));
    for (std::size_t at = 0; at < parts.size(); ++at) {
        auto& text = texts[at];
        if (!reads[at].done) {
            ASSIGN_OR_RETURN(const auto have, read(reads[at].address, reads[at].into));
            text.resize(have);
        }
        secrets_.scrub(text);
        const auto before = parts[at].begin - reads[at].address;
        text = text.size() <= before ? "" : text.substr(before, parts[at].bytes());
    }
    return texts;
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
    Scrubber scrubber(*this, request, {begin, begin + units * width});
    const auto fill = [&](std::uint64_t first, std::span<std::byte> into) -> Result<std::uint64_t> {
        ASSIGN_OR_RETURN(auto have, read(begin + first * width, into));
        if (request.observer != nullptr) {
            (*request.observer)(begin + first * width, into.first(have));
        }
        RETURN_IF_ERROR(scrubber.scrub(begin + first * width, into.first(have)));
        RETURN_IF_ERROR(watch(have));
        return have / width;
    };
    ASSIGN_OR_RETURN(auto placement, writer_.append_region(header, fill));
    auto ref = region_ref(header, placement);
    return placed(ref);
}

}  // namespace beamdump::capture
