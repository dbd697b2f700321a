#include <libdump/term/term_size.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace beamdump {

namespace {

class FlatSizeCount {
  public:
    FlatSizeCount(const TagScheme& scheme, WordReader& reader, std::uint64_t limit_words)
        : scheme_(scheme), reader_(reader), limit_(limit_words) {}

    FlatSize count(std::uint64_t word) {
        visit(word);
        while (!pending_.empty() && !result_.limit_reached) {
            Range& top = pending_.back();
            std::uint64_t next = 0;
            const std::uint64_t address = top.address;
            top.address += kWordBytes;
            if (--top.count == 0) {
                pending_.pop_back();
            }
            if (reader_.read(address, next) == WordStatus::kHere) {
                visit(next);
            } else {
                result_.whole = false;
            }
        }
        return result_;
    }

  private:
    /// Slots still to be visited. A list adds its tail last of all, so that a long one does not
    /// nest.
    struct Range {
        std::uint64_t address = 0;
        std::uint64_t count = 0;
    };

    void visit(std::uint64_t word) {
        switch (word_kind(scheme_, word)) {
            case WordKind::kList:
                add(2);
                pending_.push_back({pointer_of(word), 2});
                return;
            case WordKind::kBoxed:
                visit_boxed(pointer_of(word));
                return;
            case WordKind::kHeader:
            case WordKind::kCatch:
            case WordKind::kUnknown:
                result_.whole = false;
                return;
            default:
                return;
        }
    }

    void visit_boxed(std::uint64_t address) {
        std::array<std::uint64_t, otp25::kSubWords> words{};
        std::size_t here = 0;
        while (here < words.size() &&
               reader_.read(address + here * kWordBytes, words[here]) == WordStatus::kHere) {
            ++here;
        }
        const auto object = std::span(words).first(here);
        const auto size = boxed_words(scheme_, object);
        if (!size) {
            result_.whole = false;
            return;
        }
        if (boxed_kind(scheme_, words[0]) == BoxedKind::kSubBinary) {
            if (here < otp25::kSubWords) {
                result_.whole = false;
            } else {
                add_sub_binary(words);
            }
            return;
        }
        const auto terms = boxed_terms(scheme_, object).value_or(TermRange{});
        // The empty tuple is one literal of the node, which no copy holds.
        add(boxed_kind(scheme_, words[0]) == BoxedKind::kTuple && *size == 1 ? 0 : *size);
        if (terms.count != 0) {
            pending_.push_back({address + terms.first * kWordBytes, terms.count});
        }
    }

    void add_sub_binary(std::span<const std::uint64_t> words) {
        const std::uint64_t bits =
            (words[otp25::kSubBits] & 0xFFU) + ((words[otp25::kSubBits] >> 8U) & 0xFFU);
        std::uint64_t header = 0;
        if (reader_.read(pointer_of(words[otp25::kSubOriginal]), header) != WordStatus::kHere) {
            result_.whole = false;
            return;
        }
        if (bits != 0) {
            add(otp25::kSubWords);
        }
        if (boxed_kind(scheme_, header) == BoxedKind::kRefcBinary) {
            add(otp25::kRefcWords);
            return;
        }
        const std::uint64_t extra = bits > 8 ? 2 : bits > 0 ? 1 : 0;
        const std::uint64_t bytes = words[otp25::kBinarySize];
        add(otp25::kHeapBinaryData + bytes / kWordBytes +
            (bytes % kWordBytes + extra + kWordBytes - 1) / kWordBytes);
    }

    void add(std::uint64_t words) {
        result_.words = words > limit_ - result_.words ? limit_ : result_.words + words;
        result_.limit_reached = result_.words >= limit_;
    }

    const TagScheme& scheme_;
    WordReader& reader_;
    std::uint64_t limit_;
    FlatSize result_;
    std::vector<Range> pending_;
};

}  // namespace

FlatSize flat_size(const TagScheme& scheme, WordReader& reader, std::uint64_t word,
                   std::uint64_t limit_words) {
    return FlatSizeCount(scheme, reader, std::max<std::uint64_t>(limit_words, 1)).count(word);
}

}  // namespace beamdump
