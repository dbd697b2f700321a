#include <libdump/base/return_if_error.h>
#include <libvm/beam/ets/ets_hash_walk.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace beamdump::beam {
namespace {

// The first segment has fewer slots than the others, and they are numbered as if it had as many and
// lacked the first ones.
constexpr std::uint64_t kSegmentSlots = 2048;
constexpr std::uint64_t kMissingSlots = kSegmentSlots - 256;
constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 40U;

constexpr std::size_t kRowsOfAGroup = 64;
constexpr std::size_t kSlotsAhead = 64;
constexpr int kRowsAheadOfASlot = 16;
constexpr std::uint64_t kBytesAheadAtRest = 256;  // most rows are whole in them

std::size_t bytes_of(const EtsGroup& group) {
    std::size_t bytes = 0;
    for (const auto& row : group.rows) {
        bytes += row.bytes;
    }
    return bytes;
}

}  // namespace

Result<std::optional<EtsHashWalk::Shape>> EtsHashWalk::shape() {
    const auto& fields = walk_.fields_;
    const auto raw =
        OwnedStruct::read(walk_.vm_->memory(), walk_.request_.table, fields.hash_bytes);
    if (!raw) {
        return raw.error().code == ErrorCode::kTargetDied
                   ? Result<std::optional<Shape>>(std::unexpected(raw.error()))
                   : std::optional<Shape>();
    }
    const auto view = raw->view();
    const Shape found{view.get(fields.active), view.get(fields.size_mask),
                      view.get(fields.segments), view.get(fields.locks),
                      fields.locks_count ? view.get(*fields.locks_count) : fields.fixed_locks};
    const bool plausible =
        found.active != 0 && found.active <= kMostSlots && std::has_single_bit(found.mask + 1) &&
        found.active <= found.mask + 1 && walk_.vm_->plausible(found.segments, kEtsWord) &&
        (found.locks == 0 ||
         (found.locks_count <= kMostSlots && std::has_single_bit(found.locks_count) &&
          walk_.vm_->plausible(found.locks, found.locks_count * fields.lock_bytes)));
    return plausible ? std::optional(found) : std::nullopt;
}

/// What must stay as it is while a group is read: where the slots and their locks are.
void EtsHashWalk::begin(EtsGroup& group) const {
    const auto& fields = walk_.fields_;
    const auto link = [&](const Field& field, std::uint64_t expected) {
        group.links.push_back({walk_.request_.table + field.offset, field.bytes, expected});
    };
    link(fields.active, shape_.active);
    link(fields.segments, shape_.segments);
    link(fields.locks, shape_.locks);
}

Result<void> EtsHashWalk::walk() {
    ASSIGN_OR_RETURN(const auto found, shape());
    if (!found) {
        walk_.leave_out(EtsGroupReader::Outcome::kUnreadable, 1);
        return {};
    }
    shape_ = *found;
    for (std::uint64_t slot = 0; slot < shape_.active;) {
        // From the second segment on slots begin in its midst, and wrap around.
        const auto number = (slot + kMissingSlots) / kSegmentSlots;
        const auto first = slot % kSegmentSlots;
        const auto here = std::min({(number + 1) * kSegmentSlots - kMissingSlots - slot,
                                    kSegmentSlots - first, shape_.active - slot});
        if (walk_.request_.how.moving) {
            walk_.vm_->forget();
        }
        ASSIGN_OR_RETURN(const auto go_on, segment(slot, here));
        if (!go_on || walk_.counts_.resized) {
            return {};
        }
        slot += here;
    }
    RETURN_IF_ERROR(flush());
    // Rows move to other slots when the table grows or shrinks.
    if (walk_.request_.how.moving) {
        walk_.vm_->forget();
        ASSIGN_OR_RETURN(const auto after, shape());
        walk_.counts_.resized |= !after || after->active != shape_.active;
    }
    return {};
}

Result<bool> EtsHashWalk::segment(std::uint64_t first, std::uint64_t count) {
    ASSIGN_OR_RETURN(const auto go_on, walk_.may_go_on());
    if (!go_on) {
        return false;
    }
    auto& memory = walk_.vm_->memory();
    const auto number = (first + kMissingSlots) / kSegmentSlots;
    const auto base = memory.word(shape_.segments + number * kEtsWord);
    const auto buckets = base ? read_words(memory, *base + first % kSegmentSlots * kEtsWord, count)
                              : Result<std::vector<std::uint64_t>>(std::unexpected(base.error()));
    if (!buckets) {
        walk_.leave_out(EtsGroupReader::Outcome::kUnreadable, 1);
        return true;
    }
    for (std::uint64_t index = 0; index < count; ++index) {
        if (index % kSlotsAhead == 0) {
            RETURN_IF_ERROR(read_ahead(
                std::span(*buckets).subspan(index, std::min(count - index, kSlotsAhead))));
        }
        if ((*buckets)[index] == 0) {
            continue;
        }
        Slot slot{first + index, *base + (first + index) % kSegmentSlots * kEtsWord, 0};
        if (group_.empty()) {
            begin(group_);
        }
        const auto before = group_.rows.size();
        const bool whole = chain(slot, (*buckets)[index], group_);
        slot.rows = group_.rows.size() - before;
        if (!whole || slot.rows > kRowsOfAGroup) {
            group_.rows.resize(before);
            RETURN_IF_ERROR(alone(slot));
        } else {
            slots_.push_back(slot);
        }
        if (group_.rows.size() >= kRowsOfAGroup || bytes_of(group_) >= kEtsGroupBytes) {
            RETURN_IF_ERROR(flush());
        }
        if (walk_.counts_.resized) {
            return false;
        }
    }
    return true;
}

/// Reads the first words of the rows in some slots together: rows are scattered, and a page for
/// each of them is forty times as much as they are.
Result<void> EtsHashWalk::read_ahead(std::span<const std::uint64_t> buckets) {
    const auto& fields = walk_.fields_;
    auto& vm = *walk_.vm_;
    const auto head = fields.hash_row.offset + fields.tuple.offset + kEtsWord;
    const auto bytes = walk_.request_.how.moving ? head : std::max(head, kBytesAheadAtRest);
    std::vector<memory::AddressRange> found;
    const auto add = [&](Address row) {
        if (row != 0 && vm.plausible(row, bytes)) {
            found.push_back({row, row + bytes});
        }
    };
    std::ranges::for_each(buckets, add);
    vm.prefetched().drop();
    for (int hop = 0; hop < kRowsAheadOfASlot && !found.empty(); ++hop) {
        RETURN_IF_ERROR(vm.prefetched().add(vm.target().memory(), found));
        for (const auto& row : std::exchange(found, {})) {
            const auto next = vm.prefetched().at(row.begin + fields.hash_next.offset);
            if (next.size() >= kEtsWord) {
                add(StructView(next).get({0, kEtsWord}));
            }
        }
    }
    return {};
}

/// The lock of a row, by its hash value, which must lead to its slot. 0: the table's alone.
std::optional<Address> EtsHashWalk::lock_of(std::uint64_t slot, std::uint64_t mark) const {
    const auto& fields = walk_.fields_;
    const auto hash = mark & fields.hash_mask;
    auto index = hash & shape_.mask;
    if (index >= shape_.active) {
        index &= shape_.mask >> 1U;
    }
    if (index != slot) {
        return std::nullopt;
    }
    return shape_.locks == 0
               ? 0
               : shape_.locks + (hash & (shape_.locks_count - 1)) * fields.lock_bytes +
                     fields.slot_lock.offset;
}

bool EtsHashWalk::chain(const Slot& slot, Address first, EtsGroup& group) {
    const auto& fields = walk_.fields_;
    EtsLink lead{slot.bucket, kEtsWord, first};
    std::uint64_t rows = 0;
    for (auto at = first; at != 0;) {
        if (++rows > walk_.request_.most_rows) {
            return false;
        }
        const auto bytes = walk_.row_bytes(at, fields.hash_row);
        const auto next = walk_.vm_->memory().word(at + fields.hash_next.offset);
        const auto mark = walk_.vm_->memory().word(at + fields.hash_mark.offset);
        const auto lock = mark ? lock_of(slot.number, *mark) : std::nullopt;
        if (!bytes || !next || !lock) {
            return false;
        }
        group.rows.push_back({at, *bytes, *lock, lead, *mark & fields.hash_mask, rows > 1});
        lead = {at + fields.hash_next.offset, kEtsWord, *next};
        at = *next;
    }
    return true;
}

Result<void> EtsHashWalk::flush() {
    if (!group_.rows.empty()) {
        std::uint64_t visited = 0;
        ASSIGN_OR_RETURN(const auto outcome, walk_.take(group_, walk_.fields_.hash_row, visited));
        if (outcome != EtsGroupReader::Outcome::kRead) {
            for (const auto& slot : std::vector(slots_)) {
                RETURN_IF_ERROR(alone(slot));
            }
        }
    }
    group_.clear();
    slots_.clear();
    return {};
}

/// The rows of one slot, found anew as often as it takes.
Result<void> EtsHashWalk::alone(const Slot& slot) {
    using Outcome = EtsGroupReader::Outcome;
    auto outcome = Outcome::kUnreadable;
    std::size_t rows = std::max<std::size_t>(slot.rows, 1);
    for (int attempt = 1; attempt <= walk_.tries(); ++attempt) {
        walk_.wait_a_moment();
        ASSIGN_OR_RETURN(const auto now, shape());
        if (walk_.request_.how.moving && (!now || now->active != shape_.active)) {
            walk_.counts_.resized = true;
            break;
        }
        shape_ = now.value_or(shape_);
        const auto first = walk_.vm_->memory().word(slot.bucket);
        EtsGroup group;
        begin(group);
        if (!first || !chain(slot, *first, group)) {
            outcome = first ? Outcome::kChanged : Outcome::kUnreadable;
            continue;
        }
        rows = group.rows.size();
        std::uint64_t visited = 0;
        ASSIGN_OR_RETURN(outcome, in_parts(group, visited));
        if (outcome == Outcome::kRead) {
            return {};
        }
        if (visited != 0) {
            // Some are in the dump: only the others may be left out.
            rows -= visited;
            break;
        }
    }
    walk_.leave_out(
        walk_.request_.how.moving || outcome == Outcome::kLocked ? outcome : Outcome::kUnreadable,
        rows);
    return {};
}

/// A long chain, a part at a time.
Result<EtsGroupReader::Outcome> EtsHashWalk::in_parts(const EtsGroup& all, std::uint64_t& visited) {
    using Outcome = EtsGroupReader::Outcome;
    for (std::size_t first = 0; first < all.rows.size();) {
        EtsGroup part;
        part.links = all.links;
        std::size_t bytes = 0;
        auto at = first;
        for (; at < all.rows.size() &&
               (at == first || (at - first < kRowsOfAGroup && bytes < kEtsGroupBytes));
             ++at) {
            part.rows.push_back(all.rows[at]);
            bytes += all.rows[at].bytes;
        }
        std::uint64_t rows = 0;
        ASSIGN_OR_RETURN(const auto outcome, walk_.take(part, walk_.fields_.hash_row, rows));
        if (outcome != Outcome::kRead) {
            return outcome;
        }
        visited += at - first;
        first = at;
    }
    return Outcome::kRead;
}

}  // namespace beamdump::beam
