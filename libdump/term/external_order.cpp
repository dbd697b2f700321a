#include <libdump/term/external_order.h>

#include <algorithm>
#include <compare>

namespace beamdump {

namespace {

constexpr std::size_t kMaxDepth = 100'000;

/// Erlang's order between kinds; float after integer, as exact comparison has it.
int rank(const ExternalItem& item) {
    switch (item.kind) {
        case ExternalKind::kInteger:
        case ExternalKind::kBig:
            return 0;
        case ExternalKind::kFloat:
            return 1;
        case ExternalKind::kAtom:
            return 2;
        case ExternalKind::kReference:
            return 3;
        case ExternalKind::kFun:
        case ExternalKind::kExport:
            return 4;
        case ExternalKind::kPort:
            return 5;
        case ExternalKind::kPid:
            return 6;
        case ExternalKind::kTuple:
            return 7;
        case ExternalKind::kRecord:
            return 8;
        case ExternalKind::kMap:
            return 9;
        case ExternalKind::kNil:
            return 10;
        case ExternalKind::kList:
        case ExternalKind::kString:
            return 11;
        case ExternalKind::kBinary:
            return 12;
    }
    return 13;
}

int sign(std::strong_ordering order) {
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

}  // namespace

ExternalOrder::Step ExternalOrder::differ(int by) {
    difference_ = by;
    return by == 0 ? Step::kEqual : Step::kDiffers;
}

ExternalOrder::Step ExternalOrder::numbers(std::uint64_t left, std::uint64_t right) {
    return differ(sign(left <=> right));
}

bool ExternalOrder::charge(std::uint64_t amount) {
    if (amount > budget_) {
        return false;
    }
    budget_ -= amount;
    return true;
}

std::optional<int> ExternalOrder::compare(std::uint64_t left, std::uint64_t right,
                                          std::uint64_t& budget) {
    frames_.clear();
    frames_.push_back({.terms = 1});
    left_ = left;
    right_ = right;
    budget_ = budget;
    auto outcome = Step::kEqual;
    while (outcome == Step::kEqual && !frames_.empty()) {
        outcome = step();
    }
    budget = budget_;
    if (outcome == Step::kUnknown) {
        return std::nullopt;
    }
    return outcome == Step::kEqual ? 0 : difference_;
}

std::optional<int> ExternalOrder::compare_keys(std::uint64_t left, std::uint64_t right,
                                               std::uint64_t& budget) {
    const auto a = read_external_item(*reader_, left);
    const auto b = read_external_item(*reader_, right);
    if (a.status != ExternalStatus::kHere || a.kind != ExternalKind::kAtom ||
        b.status != ExternalStatus::kHere || b.kind != ExternalKind::kAtom) {
        return compare(left, right, budget);
    }
    const auto first = atoms_->index(a.atom);
    const auto second = atoms_->index(b.atom);
    if (first && second) {
        return sign(*first <=> *second);
    }
    return first ? -1 : second ? 1 : sign(left <=> right);
}

ExternalOrder::Step ExternalOrder::step() {
    if (!charge(1) || frames_.size() > kMaxDepth) {
        return Step::kUnknown;
    }
    Frame& frame = frames_.back();
    if (frame.list) {
        return list_step(frame);
    }
    if (frame.terms == 0) {
        frames_.pop_back();
        return Step::kEqual;
    }
    --frame.terms;
    return items(read_external_item(*reader_, left_), read_external_item(*reader_, right_));
}

std::optional<ExternalOrder::Next> ExternalOrder::next_of(Side& side, std::uint64_t& at) {
    for (;;) {
        Next next;
        if (side.characters && side.left > 0) {
            std::uint8_t character = 0;
            next.item.status = reader_->byte(at, character);
            next.item.kind = ExternalKind::kInteger;
            next.item.value = character;
            next.item.next = at + 1;
            next.element = true;
            --side.left;
            return next;
        }
        if (side.characters) {
            next.item.status = ExternalStatus::kHere;
            next.item.next = at;
            return next;
        }
        next.item = read_external_item(*reader_, at);
        if (side.left > 0) {
            next.element = true;
            --side.left;
            return next;
        }
        const bool list = next.item.kind == ExternalKind::kList;
        const bool string = next.item.kind == ExternalKind::kString;
        if (next.item.status != ExternalStatus::kHere || (!list && !string)) {
            return next;
        }
        // The tail is a list: continue with its elements.
        if (!charge(1)) {
            return std::nullopt;
        }
        side.left = next.item.count;
        side.characters = string;
        at = string ? next.item.content : next.item.next;
    }
}

ExternalOrder::Step ExternalOrder::list_step(Frame& frame) {
    auto left = next_of(frame.left, left_);
    auto right = next_of(frame.right, right_);
    if (!left || !right) {
        return Step::kUnknown;
    }
    if (left->element && right->element) {
        return items(left->item, right->item);
    }
    frames_.pop_back();
    // One of them ends here: its tail is compared with the list on the other side.
    for (Next* next : {&*left, &*right}) {
        if (next->element) {
            next->item = {.status = ExternalStatus::kHere, .kind = ExternalKind::kList};
        }
    }
    return items(left->item, right->item);
}

ExternalOrder::Step ExternalOrder::items(const ExternalItem& left, const ExternalItem& right) {
    if (left.status != ExternalStatus::kHere || right.status != ExternalStatus::kHere) {
        return Step::kUnknown;
    }
    left_ = left.next;
    right_ = right.next;
    const int by = rank(left) - rank(right);
    return by != 0 ? differ(by) : same_kind(left, right);
}

ExternalOrder::Step ExternalOrder::same_kind(const ExternalItem& left, const ExternalItem& right) {
    switch (left.kind) {
        case ExternalKind::kInteger:
        case ExternalKind::kBig:
            return integers(left, right);
        case ExternalKind::kFloat:
            return differ(left.number < right.number ? -1 : left.number > right.number ? 1 : 0);
        case ExternalKind::kAtom:
            return atoms(left.atom, right.atom);
        case ExternalKind::kReference:
            return references(left, right);
        case ExternalKind::kPort: {
            const auto by = nodes(left, right);
            return by == Step::kEqual ? numbers(left.numbers[0], right.numbers[0]) : by;
        }
        case ExternalKind::kPid: {
            for (const std::size_t i : {1U, 0U}) {
                if (left.numbers.at(i) != right.numbers.at(i)) {
                    return numbers(left.numbers.at(i), right.numbers.at(i));
                }
            }
            return nodes(left, right);
        }
        case ExternalKind::kTuple:
            if (left.count == right.count) {
                frames_.push_back({.terms = left.count});
            }
            return numbers(left.count, right.count);
        case ExternalKind::kRecord:
            return records(left, right);
        case ExternalKind::kNil:
            return Step::kEqual;
        case ExternalKind::kList:
        case ExternalKind::kString: {
            const auto side = [](const ExternalItem& item) {
                const bool string = item.kind == ExternalKind::kString;
                return Side{.left = item.count, .characters = string};
            };
            if (left.kind == ExternalKind::kString) {
                left_ = left.content;
            }
            if (right.kind == ExternalKind::kString) {
                right_ = right.content;
            }
            frames_.push_back({.list = true, .left = side(left), .right = side(right)});
            return Step::kEqual;
        }
        case ExternalKind::kBinary:
            return binaries(left, right);
        case ExternalKind::kMap:
            return left.count != right.count ? numbers(left.count, right.count)
                   : left.count == 0         ? Step::kEqual
                                             : Step::kUnknown;
        case ExternalKind::kFun:
        case ExternalKind::kExport:
            break;
    }
    return Step::kUnknown;
}

ExternalOrder::Step ExternalOrder::integers(const ExternalItem& left, const ExternalItem& right) {
    const auto negative = [](const ExternalItem& item) {
        return item.kind == ExternalKind::kBig ? item.negative : item.value < 0;
    };
    if (left.kind == ExternalKind::kInteger && right.kind == ExternalKind::kInteger) {
        return differ(sign(left.value <=> right.value));
    }
    if (negative(left) != negative(right)) {
        return differ(negative(left) ? -1 : 1);
    }
    const int larger = negative(left) ? -1 : 1;
    if (left.kind != right.kind) {
        return differ(left.kind == ExternalKind::kBig ? larger : -larger);
    }
    if (left.count != right.count) {
        return differ(left.count > right.count ? larger : -larger);
    }
    for (auto i = left.count; i-- > 0;) {
        std::uint8_t a = 0;
        std::uint8_t b = 0;
        if (!charge(1) || reader_->byte(left.content + i, a) != ExternalStatus::kHere ||
            reader_->byte(right.content + i, b) != ExternalStatus::kHere) {
            return Step::kUnknown;
        }
        if (a != b) {
            return differ(a > b ? larger : -larger);
        }
    }
    return Step::kEqual;
}

ExternalOrder::Step ExternalOrder::atoms(const ExternalAtom& left, const ExternalAtom& right) {
    const auto a = atoms_->name(left);
    const auto b = atoms_->name(right);
    if (!a || !b || !charge(a->size() + b->size())) {
        return Step::kUnknown;
    }
    return differ(a->compare(*b));
}

ExternalOrder::Step ExternalOrder::nodes(const ExternalItem& left, const ExternalItem& right) {
    const auto by = atoms(left.atom, right.atom);
    return by == Step::kEqual ? numbers(left.creation, right.creation) : by;
}

ExternalOrder::Step ExternalOrder::references(const ExternalItem& left, const ExternalItem& right) {
    if (const auto by = nodes(left, right); by != Step::kEqual) {
        return by;
    }
    // Missing higher numbers count as 0.
    for (std::size_t i = left.numbers.size(); i-- > 0;) {
        if (left.numbers.at(i) != right.numbers.at(i)) {
            return numbers(left.numbers.at(i), right.numbers.at(i));
        }
    }
    return Step::kEqual;
}

/// By definition, then by keys and by values in declaration order (utils.c).
ExternalOrder::Step ExternalOrder::records(const ExternalItem& left, const ExternalItem& right) {
    if (const auto by = atoms(left.atom, right.atom); by != Step::kEqual) {
        return by;
    }
    if (const auto by = atoms(left.name, right.name); by != Step::kEqual) {
        return by;
    }
    if (left.value != right.value) {
        return differ(sign(left.value <=> right.value));
    }
    if (left.count == right.count) {
        frames_.push_back({.terms = left.parts});
    }
    return numbers(left.count, right.count);
}

ExternalOrder::Step ExternalOrder::binaries(const ExternalItem& left, const ExternalItem& right) {
    const auto bits = [](const ExternalItem& item) {
        return item.count * 8 - (item.count == 0 ? 0 : 8U - item.last_bits);
    };
    const auto common = std::min(bits(left), bits(right));
    for (std::uint64_t bit = 0; bit < common; bit += 8) {
        std::uint8_t a = 0;
        std::uint8_t b = 0;
        if (!charge(1) || reader_->byte(left.content + bit / 8, a) != ExternalStatus::kHere ||
            reader_->byte(right.content + bit / 8, b) != ExternalStatus::kHere) {
            return Step::kUnknown;
        }
        const auto counted = std::min<std::uint64_t>(common - bit, 8);
        const auto mask = static_cast<std::uint8_t>(0xFF00U >> counted);
        if ((a & mask) != (b & mask)) {
            return numbers(a & mask, b & mask);
        }
    }
    return numbers(bits(left), bits(right));
}

}  // namespace beamdump
