#include "capture/copy/kept_parts.h"

#include <algorithm>
#include <utility>

namespace beamdump::capture {
namespace {

/// Parts that are no further apart are one: an entry of its own takes as much.
constexpr std::uint64_t kGap = 16;

std::uint64_t end_of(const beam::ShownPart& part) {
    return part.first_byte + part.bytes;
}

std::uint64_t bytes_of(const std::vector<beam::ShownPart>& parts) {
    std::uint64_t bytes = 0;
    for (const auto& part : parts) {
        bytes += part.bytes;
    }
    return bytes;
}

bool covers(const std::vector<beam::ShownPart>& parts, const beam::ShownPart& part) {
    return std::ranges::any_of(parts, [&](const beam::ShownPart& other) {
        return other.first_byte <= part.first_byte && end_of(other) >= end_of(part);
    });
}

/// Ascending, with near ones joined.
std::vector<beam::ShownPart> joined(std::vector<beam::ShownPart> parts) {
    std::ranges::sort(parts, {}, &beam::ShownPart::first_byte);
    std::vector<beam::ShownPart> result;
    for (const auto& part : parts) {
        if (!result.empty() && part.first_byte <= end_of(result.back()) + kGap) {
            auto& last = result.back();
            last.bytes = std::max(end_of(last), end_of(part)) - last.first_byte;
        } else {
            result.push_back(part);
        }
    }
    return result;
}

}  // namespace

std::uint64_t KeptParts::Written::bytes() const {
    return bytes_of(parts);
}

bool KeptParts::want(Address binary, const beam::ShownPart& part) {
    // A part that begins where the binary does is its beginning: mostly it is the whole binary.
    if (!keep_ || *keep_ == 0 || part.first_byte == 0) {
        return false;
    }
    const auto most = std::min(*keep_, kMostBytes / kTimes) * kTimes;
    const beam::ShownPart kept{part.first_byte, std::min(part.bytes, most)};
    if (end_of(kept) <= *keep_ || wanted_parts_ >= most_) {
        return false;
    }
    auto& wanted = wanted_[binary];
    if (wanted.size() < kMostParts && !covers(wanted, kept)) {
        wanted.push_back(kept);
        ++wanted_parts_;
    }
    const auto last = written_.find(binary);
    return last == written_.end() ||
           (last->second.parts.size() < kMostParts && !covers(last->second.parts, kept));
}

void KeptParts::drop_wanted() {
    wanted_.clear();
    wanted_parts_ = 0;
}

std::vector<beam::ShownPart> KeptParts::next(Address binary, std::uint64_t size,
                                             const Written& last) const {
    auto parts = last.parts;
    const auto wanted = wanted_.find(binary);
    if (wanted == wanted_.end()) {
        return parts;
    }
    for (auto part : wanted->second) {
        // The first bytes are in the record; what lies behind the end is no part.
        const auto begin = std::max(part.first_byte, keep_.value_or(size));
        const auto end = std::min(end_of(part), size);
        if (begin >= end || covers(parts, {begin, end - begin})) {
            continue;
        }
        auto more = parts;
        more.push_back({begin, end - begin});
        more = joined(std::move(more));
        if (more.size() <= kMostParts && bytes_of(more) <= kMostBytes) {
            parts = std::move(more);
        }
    }
    return parts;
}

KeptParts::Written KeptParts::last_of(Address binary) const {
    const auto found = written_.find(binary);
    return found == written_.end() ? Written{} : found->second;
}

void KeptParts::set_last(Address binary, Written written) {
    if (const auto found = written_.find(binary); found != written_.end()) {
        written_parts_ -= found->second.parts.size();
        written_.erase(found);
    }
    if (written.parts.empty()) {
        return;
    }
    if (written_parts_ + written.parts.size() > most_) {
        clear_written();
    }
    written_parts_ += written.parts.size();
    written_.emplace(binary, std::move(written));
}

void KeptParts::clear_written() {
    written_.clear();
    written_parts_ = 0;
}

}  // namespace beamdump::capture
