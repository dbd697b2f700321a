#include <libdump/base/return_if_error.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/heap/term_sizes.h>

#include <vector>

namespace beamdump {

namespace {

/// Marks objects that are visited again, and forwards all calls.
class AgainNoter final : public WalkObserver {
  public:
    AgainNoter(AddressMarks& again, WalkObserver* next) : again_(again), next_(next) {}

    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> path) override {
        return next_ == nullptr ? Result<Entered>() : next_->enter(object, path);
    }
    Result<void> again(std::uint64_t address, std::span<WalkLevel> path) override {
        RETURN_IF_ERROR(again_.add(address));
        return next_ == nullptr ? Result<void>() : next_->again(address, path);
    }
    Result<void> leave(std::span<WalkLevel> path) override {
        return next_ == nullptr ? Result<void>() : next_->leave(path);
    }

  private:
    AddressMarks& again_;
    WalkObserver* next_;  ///< non-owning
};

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    return a > kSaturatedSize - b ? kSaturatedSize : a + b;
}

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > kSaturatedSize / b ? kSaturatedSize : a * b;
}

/// Computes flat sizes; those of shared objects are cached.
class FlatSum {
  public:
    FlatSum(const TagScheme& scheme, WordReader& reader, const AddressMarks& again,
            std::unordered_map<std::uint64_t, std::uint64_t>& known)
        : scheme_(scheme), reader_(reader), again_(again), known_(known) {}

    /// The words of the object that a pointer of that kind leads to.
    std::uint64_t of(std::uint64_t address, bool is_cell) {
        std::uint64_t total = 0;
        visit(word_to(scheme_, address, is_cell), total);
        while (!levels_.empty()) {
            Level& top = levels_.back();
            std::uint64_t next = 0;
            if (top.left == 0) {
                const Level done = top;
                levels_.pop_back();
                if (again_.has(done.address)) {
                    known_[done.address] = done.words;
                }
                std::uint64_t& sum = levels_.empty() ? total : levels_.back().words;
                sum = saturating_sum(sum, done.words);
                continue;
            }
            --top.left;
            const std::uint64_t slot = top.slot;
            top.slot += kWordBytes;
            if (reader_.read(slot, next) != WordStatus::kHere) {
                top.left = 0;
            } else if (top.is_cell && top.left == 0 && go_along(top, next)) {
                continue;
            } else {
                visit(next, top.words);
            }
        }
        return total;
    }

  private:
    struct Level {
        std::uint64_t address = 0;
        std::uint64_t slot = 0;
        std::uint64_t left = 0;
        std::uint64_t words = 0;
        bool is_cell = false;
    };

    /// Continues a list's level at its next cell, unless that is shared.
    bool go_along(Level& list, std::uint64_t tail) {
        if (word_kind(scheme_, tail) != WordKind::kList || again_.has(pointer_of(tail)) ||
            !heap_object(scheme_, reader_, tail)) {
            return false;
        }
        list.slot = pointer_of(tail);
        list.left = 2;
        list.words = saturating_sum(list.words, 2);
        return true;
    }

    void visit(std::uint64_t word, std::uint64_t& sum) {
        if (!leads_to_object(scheme_, word)) {
            return;
        }
        const std::uint64_t address = pointer_of(word);
        const bool is_again = again_.has(address);
        if (is_again) {
            if (const auto known = known_.find(address); known != known_.end()) {
                sum = saturating_sum(sum, known->second);
                return;
            }
        }
        const auto object = heap_object(scheme_, reader_, word);
        if (!object) {
            return;
        }
        if (is_again) {
            // 0 while it is being computed, for cycles in a torn heap.
            known_[address] = 0;
        }
        if (object->terms.count == 0 || object->keeps_only()) {
            sum = saturating_sum(sum, object->copy_words);
            if (is_again) {
                known_[address] = object->copy_words;
            }
            return;
        }
        levels_.push_back({address, object->terms_address(), object->terms.count,
                           object->copy_words, object->is_cell});
    }

    const TagScheme& scheme_;
    WordReader& reader_;
    const AddressMarks& again_;
    std::unordered_map<std::uint64_t, std::uint64_t>& known_;
    std::vector<Level> levels_;
};

}  // namespace

Result<TermSizes> TermSizer::sizes(std::uint64_t word, WalkObserver* observer) {
    seen_.clear();
    again_.clear();
    times_.clear();
    AgainNoter noter(again_, observer);
    ASSIGN_OR_RETURN(const auto outcome, walk_.walk(word, noter));
    TermSizes sizes;
    sizes.shared = outcome.words;
    sizes.unreadable = outcome.unreadable;
    sizes.flat = outcome.shared ? flat_words(outcome) : outcome.words;
    return sizes;
}

/// The walk counted each object once: an object that was met again counts as often as that, with
/// all that it refers to.
std::uint64_t TermSizer::flat_words(const TermWalk::Outcome& outcome) {
    flat_of_.clear();
    FlatSum flat(scheme_, reader_, again_, flat_of_);
    std::uint64_t words = outcome.words - outcome.words_after_all;
    for (const auto& [address, times] : times_) {
        std::uint64_t header = 0;
        if (reader_.read(address, header) != WordStatus::kHere) {
            continue;
        }
        const bool is_cell = word_kind(scheme_, header) != WordKind::kHeader;
        words = saturating_sum(words, saturating_product(times, flat.of(address, is_cell)));
    }
    return words;
}

}  // namespace beamdump
