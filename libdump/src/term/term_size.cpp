#include <libdump/term/heap_object.h>
#include <libdump/term/term_size.h>

#include <algorithm>
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
            case WordKind::kBoxed:
                visit_object(word);
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

    void visit_object(std::uint64_t word) {
        const auto object = heap_object(scheme_, reader_, word);
        if (!object) {
            result_.whole = false;
            return;
        }
        add(object->copy_words);
        result_.whole = result_.whole && object->whole;
        if (object->terms.count != 0 && !object->keeps_only()) {
            pending_.push_back({object->terms_address(), object->terms.count});
        }
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
