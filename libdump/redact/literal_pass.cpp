#include <libdump/redact/literal_pass.h>

#include <cstring>

namespace beamdump::redact {
namespace {

/// What is known of a literal area is compared at each multiple of this.
constexpr std::uint64_t kStepBytes = 4096;
// erl_alloc_util.h: THIS_FREE_BLK_HDR_FLG; all three flags for a block alone in its carrier; the
// size of another one is below the bits of its place in the carrier.
constexpr std::uint64_t kFreeBlock = 1;
constexpr std::uint64_t kBlockFlags = 7;
constexpr std::uint64_t kBlockSizeMask = (std::uint64_t{1} << 40U) - 1;
/// An area fills its block, but for what a block has at least.
constexpr std::uint64_t kMaxUnused = 64;

}  // namespace

void LiteralPass::start(std::uint64_t address, std::uint64_t words) {
    address_ = address;
    region_end_ = address + words * kWordBytes;
    area_end_ = passed_ = 0;
}

/// Continues where the pages before this one, which have not changed, end.
void LiteralPass::resume() {
    if (const auto known = pages_.find(address_); known != pages_.end()) {
        area_end_ = known->second.area_end;
        pass_.resume(known->second.place);
    }
}

/// Notes how a page ends. If it ended otherwise before, its area is another by now: what is known
/// of the area's further pages is wrong.
void LiteralPass::page_ends() {
    if (area_end_ != 0 && address_ >= area_end_) {
        area_end_ = 0;
    }
    const Point now{area_end_, area_end_ != 0 ? pass_.place() : WordPass::Place{}};
    const auto [known, first] = pages_.try_emplace(address_, now);
    if (first || known->second == now) {
        return;
    }
    for (auto page = address_ + kStepBytes; page < known->second.area_end; page += kStepBytes) {
        pages_.erase(page);
    }
    known->second = now;
}

/// Whether the word is the end of an area whose objects begin after it.
bool LiteralPass::is_area_end(std::uint64_t word) const {
    constexpr std::uint64_t kHead = 3;  // words of block and area before the first object
    if (passed_ < kHead - 1 || word % kWordBytes != 0 || word <= address_ + kWordBytes ||
        word > region_end_) {
        return false;
    }
    const auto flags = before_[0] & kBlockFlags;
    const auto size = before_[0] & kBlockSizeMask & ~kBlockFlags;
    const auto block = address_ - (kHead - 1) * kWordBytes;
    return ((flags & kFreeBlock) == 0 || flags == kBlockFlags) && word <= block + size &&
           block + size - word <= kMaxUnused;
}

void LiteralPass::run(std::span<std::byte> words) {
    std::size_t at = 0;
    for (; words.size() - at >= kWordBytes; at += kWordBytes) {
        if (area_end_ != 0 && address_ >= area_end_) {
            area_end_ = 0;
        }
        if (passed_ == 0) {
            resume();
        }
        const auto here = words.subspan(at, kWordBytes);
        std::uint64_t word = 0;
        std::memcpy(&word, here.data(), kWordBytes);
        if (area_end_ != 0) {
            pass_.at(address_);
            pass_.run(here);
        } else {
            std::memset(here.data(), 0, kWordBytes);
            if (is_area_end(word)) {
                area_end_ = word;
                pass_.start(WordLayout::kObjects, (word - address_) / kWordBytes - 1);
            }
        }
        before_ = {before_[1], word};
        ++passed_;
        address_ += kWordBytes;
        if (address_ % kStepBytes == 0) {
            page_ends();
        }
    }
    std::memset(words.data() + at, 0, words.size() - at);
}

}  // namespace beamdump::redact
