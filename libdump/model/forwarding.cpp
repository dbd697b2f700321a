#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/forwarding.h>
#include <libdump/term/term_scheme.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

namespace beamdump {

namespace {

// The primary tags of erl_term.h, the same from OTP 21 to 29. Pointers to literals may have bit 2
// set; no literal is copied.
constexpr std::uint64_t kTagBits = 7;
constexpr std::uint64_t kList = 1;
constexpr std::uint64_t kBoxed = 2;
/// THE_NON_VALUE of release builds, in a copied cell's first word; it is no word of a term.
constexpr std::uint64_t kMovedCell = 0;
constexpr std::uint64_t kBitsOfAWord = 64;
constexpr std::uint64_t kMemoryBytes = std::uint64_t{256} << 20U;
constexpr std::size_t kWordsAtOnce = 32768;

}  // namespace

Forwarding::Forwarding(const records::Collection& collection)
    : space_(
          std::make_unique<ScratchSpace>(ScratchSpace::Options{.max_memory_bytes = kMemoryBytes})),
      bits_(space_.get()),
      ranks_(space_.get()),
      copies_(space_.get()) {
    for (const auto& span : collection.from()) {
        from_.push_back({span.begin(), span.end(), 0});
    }
    for (const auto& span : collection.target()) {
        targets_.push_back({span.begin(), span.end(), 0});
    }
    for (const auto& last : collection.last_moved()) {
        last_.push_back({last.original_address(), last.copy_address(), last.header_word()});
    }
    from_words_ = number_words(from_);
    target_words_ = number_words(targets_);
}

/// Sorts spans, drops those that are none or overlap another, and returns the number of all words.
std::uint64_t Forwarding::number_words(std::vector<Span>& spans) {
    std::erase_if(spans, [](const Span& span) {
        return span.end <= span.begin || span.begin % kWordBytes != 0;
    });
    std::ranges::sort(spans, {}, &Span::begin);
    std::uint64_t words = 0;
    std::uint64_t end = 0;
    std::erase_if(spans, [&](Span& span) {
        if (span.begin < end) {
            return true;
        }
        end = span.end;
        span.first = words;
        words += (span.end - span.begin) / kWordBytes;
        return false;
    });
    return words;
}

const Forwarding::Span* Forwarding::find(std::span<const Span> spans, std::uint64_t address) {
    const auto behind = std::ranges::upper_bound(spans, address, {}, &Span::begin);
    return behind != spans.begin() && address < std::prev(behind)->end ? &*std::prev(behind)
                                                                       : nullptr;
}

Result<void> Forwarding::read(TermContext& plain) {
    if (target_words_ > std::numeric_limits<std::uint32_t>::max()) {
        return fail(ErrorCode::kUnsupported,
                    "the collection that was in progress has copied more than 32 GiB");
    }
    copies_.release();
    RETURN_IF_ERROR(bits_.assign((from_words_ + kBitsOfAWord - 1) / kBitsOfAWord, 0));
    for (const auto& span : from_) {
        RETURN_IF_ERROR(read(plain, span));
    }
    RETURN_IF_ERROR(ranks_.assign(bits_.size(), 0));
    std::uint32_t rank = 0;
    for (std::size_t index = 0; index < bits_.size(); ++index) {
        ranks_[index] = rank;
        rank += static_cast<std::uint32_t>(std::popcount(bits_[index]));
    }
    return {};
}

Result<void> Forwarding::read(TermContext& plain, const Span& span) {
    std::vector<std::uint64_t> words(kWordsAtOnce);
    std::uint64_t previous = 1;  // the word before the span is no part of a cell in it
    for (auto at = span.begin; at < span.end;) {
        const auto wanted = std::min<std::uint64_t>(words.size(), (span.end - at) / kWordBytes);
        const auto got = plain.words(at, std::span(words).first(wanted));
        if (!got || *got == 0) {
            // It is not in the dump: what is missing there ends with a page.
            at = (at / kLeastPageBytes + 1) * kLeastPageBytes;
            previous = 1;
            continue;
        }
        for (const auto word : std::span(words).first(*got)) {
            const auto tag = word & kTagBits;
            if (tag == kBoxed) {
                RETURN_IF_ERROR(note(at, word));
            } else if (tag == kList && previous == kMovedCell) {
                RETURN_IF_ERROR(note(at - kWordBytes, word));
            }
            previous = word;
            at += kWordBytes;
        }
    }
    return {};
}

/// Objects are met in the order of their addresses.
Result<void> Forwarding::note(std::uint64_t original, std::uint64_t word) {
    const auto* target = find(targets_, word & ~kTagBits);
    const auto* span = find(from_, original);
    if (target == nullptr || span == nullptr) {
        return {};
    }
    const auto number = span->first + (original - span->begin) / kWordBytes;
    bits_[number / kBitsOfAWord] |= std::uint64_t{1} << (number % kBitsOfAWord);
    const auto copy = target->first + ((word & ~kTagBits) - target->begin) / kWordBytes;
    return copies_.push_back(static_cast<std::uint32_t>(copy));
}

std::uint64_t Forwarding::resolved(std::uint64_t word) const {
    const std::uint64_t tag = word & kTagBits;
    if (tag != kList && tag != kBoxed) {
        return word;
    }
    const std::uint64_t address = word - tag;
    if (const auto* span = find(from_, address)) {
        const auto number = span->first + (address - span->begin) / kWordBytes;
        const auto bits = bits_[number / kBitsOfAWord];
        const auto bit = std::uint64_t{1} << (number % kBitsOfAWord);
        if ((bits & bit) == 0) {
            return word;
        }
        const auto index = ranks_[number / kBitsOfAWord] +
                           static_cast<std::uint32_t>(std::popcount(bits & (bit - 1)));
        const std::uint64_t copy = copies_[index];
        const auto target = std::ranges::upper_bound(targets_, copy, {}, &Span::first);
        return (std::prev(target)->begin + (copy - std::prev(target)->first) * kWordBytes) | tag;
    }
    const auto last = std::ranges::find(last_, address, &Last::copy);
    return last != last_.end() && tag == kBoxed ? last->original | kBoxed : word;
}

void Forwarding::show(std::uint64_t address, std::span<std::uint64_t> words) const {
    for (auto& word : words) {
        word = resolved(word);
    }
    for (const auto& last : last_) {
        if (address <= last.original && (last.original - address) / kWordBytes < words.size()) {
            words[(last.original - address) / kWordBytes] = last.header;
        }
    }
}

}  // namespace beamdump
