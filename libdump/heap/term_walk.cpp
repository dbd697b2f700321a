#include <libdump/base/return_if_error.h>
#include <libdump/heap/term_walk.h>

#include <algorithm>

namespace beamdump {

namespace {

using Kind = WalkLevel::Kind;

Kind level_kind(const HeapObject& object, bool in_hash_map) {
    if (object.is_cell) {
        return in_hash_map ? Kind::kPair : Kind::kList;
    }
    switch (object.kind) {
        case BoxedKind::kFlatMap:
            return Kind::kFlatMap;
        case BoxedKind::kHashMapHead:
        case BoxedKind::kHashMapNode:
            return Kind::kHashMap;
        case BoxedKind::kFun:
            return Kind::kFun;
        case BoxedKind::kRecord:
            return Kind::kRecord;
        case BoxedKind::kSubBinary:
        case BoxedKind::kMatchContext:
            return Kind::kKept;
        default:
            return Kind::kTuple;
    }
}

}  // namespace

Result<TermWalk::Outcome> TermWalk::walk(std::uint64_t root, WalkObserver& observer) {
    outcome_ = {};
    levels_.clear();
    kept_only_.clear();
    counted_after_all_.clear();
    immediates_ = observer.wants_immediates();
    RETURN_IF_ERROR(visit(root, observer, true, false));
    while (!levels_.empty()) {
        ASSIGN_OR_RETURN(const bool stepped, step(observer));
        if (stepped) {
            continue;
        }
        RETURN_IF_ERROR(observer.leave(levels_));
        const std::uint64_t words = levels_.back().words;
        levels_.pop_back();
        add_words(words);
    }
    return outcome_;
}

void TermWalk::add_words(std::uint64_t words) {
    if (levels_.empty()) {
        outcome_.words += words;
        return;
    }
    levels_.back().words += words;
    levels_.back().largest_part = std::max(levels_.back().largest_part, words);
}

Result<void> TermWalk::visit_again(std::uint64_t word, WalkObserver& observer, bool counted) {
    const std::uint64_t address = pointer_of(word);
    outcome_.shared = outcome_.shared || counted;
    if (counted && times_ != nullptr) {
        ++(*times_)[address];
    }
    if (counted && kept_only_.has(address)) {
        ASSIGN_OR_RETURN(const bool is_new, counted_after_all_.add(address));
        const auto object = is_new ? heap_object(scheme_, reader_, word) : std::nullopt;
        if (object) {
            add_words(object->copy_words);
            outcome_.words_after_all += object->copy_words;
        }
    }
    return observer.again(address, levels_);
}

Result<void> TermWalk::visit(std::uint64_t word, WalkObserver& observer, bool counted,
                             bool in_hash_map) {
    if (!leads_to_object(scheme_, word)) {
        const WordKind kind = word_kind(scheme_, word);
        outcome_.unreadable += kind == WordKind::kHeader || kind == WordKind::kUnknown ? 1 : 0;
        return immediates_ ? observer.immediate(word, levels_) : Result<void>();
    }
    if (marks_.has(pointer_of(word))) {
        return visit_again(word, observer, counted);
    }
    const auto object = heap_object(scheme_, reader_, word);
    if (!object) {
        ++outcome_.unreadable;
        return {};
    }
    outcome_.unreadable += object->whole ? 0 : 1;
    RETURN_IF_ERROR(marks_.add(object->address));
    if (!counted) {
        RETURN_IF_ERROR(kept_only_.add(object->address));
    }
    ASSIGN_OR_RETURN(const auto entered, observer.enter(*object, levels_));
    const std::uint64_t words = counted && !entered.uncounted ? words_of(*object) : 0;
    if (!entered.go_on || object->terms.count == 0) {
        add_words(words);
        return {};
    }
    push(*object, words, counted, entered.mark, in_hash_map);
    return {};
}

void TermWalk::push(const HeapObject& object, std::uint64_t words, bool counted, bool mark,
                    bool in_hash_map) {
    WalkLevel level;
    level.address = object.address;
    level.slot = object.terms_address();
    level.left = object.terms.count;
    level.kind = level_kind(object, in_hash_map);
    level.words = words;
    level.counted = counted && (level.kind != Kind::kKept || measure_ == Measure::kHeap);
    level.mark = mark;
    if (level.kind == Kind::kList) {
        level.left = 1;
    } else {
        level.slot -= kWordBytes;
        level.index = ~std::uint64_t{0};  // before the first slot
    }
    levels_.push_back(level);
}

Result<bool> TermWalk::step(WalkObserver& observer) {
    WalkLevel& top = levels_.back();
    if (top.kind == Kind::kList) {
        return step_list(observer);
    }
    if (top.left == 0) {
        return false;
    }
    --top.left;
    ++top.index;
    top.slot += kWordBytes;
    std::uint64_t word = 0;
    if (reader_.read(top.slot, word) != WordStatus::kHere) {
        // Counted once for all missing slots: an untrusted header may claim millions.
        ++outcome_.unreadable;
        top.left = 0;
        return true;
    }
    RETURN_IF_ERROR(visit(word, observer, top.counted, top.kind == Kind::kHashMap));
    return true;
}

Result<bool> TermWalk::step_list(WalkObserver& observer) {
    WalkLevel& top = levels_.back();
    if (top.left == 0) {
        return false;
    }
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    if (reader_.read_pair(top.slot, head, tail) != WordStatus::kHere) {
        ++outcome_.unreadable;
        top.left = 0;
        return true;
    }
    if (top.left == 2) {
        // The element was examined; its cell's tail is next.
        top.left = 0;
        RETURN_IF_ERROR(step_tail(tail, observer));
        return true;
    }
    top.left = 2;
    if (leads_to_object(scheme_, head)) {
        RETURN_IF_ERROR(visit(head, observer, top.counted, false));
    } else if (immediates_) {
        RETURN_IF_ERROR(observer.immediate(head, levels_));
    }
    return true;
}

Result<void> TermWalk::step_tail(std::uint64_t tail, WalkObserver& observer) {
    if (tail == scheme_.nil) {
        return {};
    }
    WalkLevel& top = levels_.back();
    if (word_kind(scheme_, tail) != WordKind::kList || marks_.has(pointer_of(tail))) {
        top.index = WalkLevel::kTail;
        return visit(tail, observer, top.counted, false);
    }
    const auto cell = heap_object(scheme_, reader_, tail);
    if (!cell) {
        ++outcome_.unreadable;
        return {};
    }
    RETURN_IF_ERROR(marks_.add(cell->address));
    ASSIGN_OR_RETURN(const auto entered, observer.enter(*cell, levels_));
    const std::uint64_t words = top.counted && !entered.uncounted ? words_of(*cell) : 0;
    if (entered.own_level && entered.go_on) {
        top.index = WalkLevel::kTail;
        push(*cell, words, top.counted, entered.mark, false);
        return {};
    }
    top.words += words;
    if (entered.go_on) {
        top.slot = cell->address;
        ++top.index;
        top.left = 1;
    }
    return {};
}

}  // namespace beamdump
