#include <libdump/base/return_if_error.h>
#include <libvm/beam/ets/ets_hash_walk.h>
#include <libvm/beam/ets/ets_tree_walk.h>
#include <libvm/beam/ets/ets_walk.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxArity = (std::uint64_t{1} << 24U) - 1;  // erl_limits.h: MAX_ARITYVAL

}  // namespace

EtsRowFields::EtsRowFields(LayoutNames& names) {
    off_heap = names.field(runtime::DbRow::first_oh);
    size = names.field(runtime::DbRow::size);
    tuple = names.field(runtime::DbRow::tpl);
    hash_next = names.field(runtime::DbHashRow::next);
    hash_row = names.field(runtime::DbHashRow::dbterm);
    // Two words of four bytes up to OTP 28; one of eight, whose highest bit is the mark, from 29
    // on.
    const auto hash = names.field_if_any(runtime::DbHashRow::hvalue);
    const auto mark = names.field_if_any(runtime::DbHashRow::pseudo_deleted);
    hash_mark = {hash_next.offset + hash_next.bytes, kEtsWord};
    pseudo_deleted = hash && mark ? ~std::uint64_t{0} << 32U : std::uint64_t{1} << 63U;
    hash_mask = ~pseudo_deleted;
    tree_left = names.field(runtime::DbTreeRow::left);
    tree_right = names.field(runtime::DbTreeRow::right);
    tree_row = names.field(runtime::DbTreeRow::dbterm);
    active = names.field(runtime::DbHash::nactive);
    size_mask = names.field(runtime::DbHash::szm);
    segments = names.field(runtime::DbHash::segtab);
    locks = names.field(runtime::DbHash::locks);
    locks_count = names.field_if_any(runtime::DbHash::nlocks);
    tree_root = names.field(runtime::DbTree::root);
    ca_root = names.field(runtime::DbCATree::root);
    hash_bytes = names.bytes(runtime::DbHash::kName);
    const auto flags = names.field(runtime::DbRwLock::flags);
    if (locks_count) {
        lock_bytes = names.bytes(runtime::DbHashLockSlot::kName);
        slot_lock = {names.field(runtime::DbHashLockSlot::lck).offset + flags.offset, flags.bytes};
    } else {
        fixed_locks = names.constant(runtime::constant::ets_hash_locks);
        lock_bytes = names.field(runtime::DbHashLocks::lck_vec).bytes /
                     static_cast<std::uint32_t>(std::max<std::uint64_t>(fixed_locks, 1));
        slot_lock = {names.field(runtime::DbHashLock::lck).offset + flags.offset, flags.bytes};
    }
    is_base = names.field(runtime::DbCATreeNode::is_base_node);
    base_lock = {names.field(runtime::DbCATreeNode::base_lock).offset + flags.offset, flags.bytes};
    base_valid = names.field(runtime::DbCATreeNode::base_is_valid);
    base_root = names.field(runtime::DbCATreeNode::base_root);
    route_valid = names.field(runtime::DbCATreeNode::route_is_valid);
    route_left = names.field(runtime::DbCATreeNode::route_left);
    route_right = names.field(runtime::DbCATreeNode::route_right);
}

Result<EtsWalk> EtsWalk::open(Vm& vm) {
    LayoutNames names(vm.layout());
    ASSIGN_OR_RETURN(auto reader, EtsGroupReader::open(vm));
    EtsWalk walk(vm, names, std::move(reader));
    RETURN_IF_ERROR(names.outcome());
    return walk;
}

Result<EtsWalk::Counts> EtsWalk::walk(const Request& request, const Visit& visit,
                                      const GoOn& go_on) {
    request_ = request;
    visit_ = &visit;
    go_on_ = &go_on;
    counts_ = {};
    moments_ = 0;
    vm_->forget();
    const bool is_ca = (request.status & table_.ca_ordered_set) != 0;
    const bool is_tree = (request.status & table_.ordered_set) != 0;
    if (is_ca || is_tree) {
        EtsTreeWalk tree(*this);
        RETURN_IF_ERROR(is_ca ? tree.ca_tree() : tree.tree());
    } else {
        EtsHashWalk hash(*this);
        const auto walked = hash.walk();
        vm_->prefetched().drop();
        RETURN_IF_ERROR(walked);
    }
    return counts_;
}

std::optional<std::uint32_t> EtsWalk::row_bytes(Address address, const Field& row) {
    const auto tuple = address + row.offset + fields_.tuple.offset;
    if (!vm_->plausible(address, row.offset + fields_.tuple.offset + kEtsWord)) {
        return std::nullopt;
    }
    const auto header = vm_->memory().word(tuple);
    const auto words = vm_->memory().word(address + row.offset + fields_.size.offset);
    if (!header || !words || (*header & kHeaderTagMask) != 0 ||
        *header >> kHeaderArityShift > kMaxArity) {
        return std::nullopt;
    }
    // Larger rows are skipped: a row is read twice into memory.
    const auto most = vm_->sizes().row_bytes;
    const auto arity = *header >> kHeaderArityShift;
    const auto before = std::uint64_t{row.offset} + fields_.tuple.offset;
    std::uint64_t bytes = 0;
    if (request_.compressed) {
        const auto block = vm_->memory().word(tuple + (arity + 1) * kEtsWord);
        bytes = block ? *block : 0;
        if (bytes % kEtsWord != 0 || bytes < before + (arity + 2) * kEtsWord) {
            return std::nullopt;
        }
    } else {
        if (*words < arity + 1 || *words > most / kEtsWord) {
            return std::nullopt;
        }
        bytes = before + *words * kEtsWord;
    }
    return bytes <= most ? std::optional(static_cast<std::uint32_t>(bytes)) : std::nullopt;
}

/// What was read may have been another row by then: its own words must say the same as before.
std::optional<EtsRow> EtsWalk::row_of(std::span<const std::byte> bytes, Address address,
                                      const Field& row) const {
    const auto word = [&](std::uint64_t offset) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + offset, kEtsWord);
        return value;
    };
    const auto before = std::uint64_t{row.offset} + fields_.tuple.offset;
    const auto header = word(before);
    const auto arity = header >> kHeaderArityShift;
    const auto words = (bytes.size() - before) / kEtsWord;
    if ((header & kHeaderTagMask) != 0 || arity + 1 > words) {
        return std::nullopt;
    }
    const bool same =
        request_.compressed
            ? arity + 2 <= words && word(before + (arity + 1) * kEtsWord) == bytes.size()
            : word(row.offset + fields_.size.offset) == words;
    if (!same) {
        return std::nullopt;
    }
    return EtsRow{address + before, bytes.subspan(before),
                  word(row.offset + fields_.off_heap.offset)};
}

Result<EtsGroupReader::Outcome> EtsWalk::take(const EtsGroup& group, const Field& row,
                                              std::uint64_t& visited) {
    using Outcome = EtsGroupReader::Outcome;
    visited = 0;
    ASSIGN_OR_RETURN(const auto outcome, reader_.read(group, request_.how));
    if (outcome != Outcome::kRead) {
        return outcome;
    }
    if (!request_.how.moving) {
        // Only what was read while nothing moved yet counts.
        ASSIGN_OR_RETURN(const auto still, may_go_on());
        if (!still) {
            return Outcome::kChanged;
        }
    }
    std::vector<EtsRow> rows;
    rows.reserve(group.rows.size());
    std::uint64_t deleted = 0;
    for (std::size_t index = 0; index < group.rows.size(); ++index) {
        const auto bytes = reader_.row(index);
        if (&row == &fields_.hash_row) {
            const auto mark = StructView(bytes).get(fields_.hash_mark);
            if ((mark & fields_.hash_mask) != group.rows[index].hash) {
                return Outcome::kChanged;
            }
            if ((mark & fields_.pseudo_deleted) != 0) {
                ++deleted;
                continue;
            }
        }
        const auto found = row_of(bytes, group.rows[index].address, row);
        if (!found) {
            return Outcome::kChanged;
        }
        rows.push_back(*found);
    }
    // A second reader, so that the rows at hand stay as they are.
    const auto same = [&]() -> Result<bool> {
        if (!request_.how.moving || !request_.how.validate) {
            return true;
        }
        ASSIGN_OR_RETURN(auto second, EtsGroupReader::open(*vm_));
        ASSIGN_OR_RETURN(const auto again, second.read(group, request_.how));
        for (std::size_t index = 0; again == Outcome::kRead && index < group.rows.size(); ++index) {
            if (!std::ranges::equal(second.row(index), reader_.row(index))) {
                return false;
            }
        }
        return again == Outcome::kRead;
    };
    ASSIGN_OR_RETURN(const auto taken, (*visit_)(rows, same));
    if (!taken) {
        return Outcome::kChanged;
    }
    visited = rows.size();
    counts_.rows += rows.size();
    counts_.deleted += deleted;
    return Outcome::kRead;
}

void EtsWalk::leave_out(EtsGroupReader::Outcome outcome, std::uint64_t rows) {
    using Outcome = EtsGroupReader::Outcome;
    (outcome == Outcome::kLocked    ? counts_.locked
     : outcome == Outcome::kChanged ? counts_.changed
                                    : counts_.broken) += rows;
}

Result<bool> EtsWalk::may_go_on() {
    ASSIGN_OR_RETURN(const auto go_on, (*go_on_)());
    counts_.stopped = counts_.stopped || !go_on;
    return go_on;
}

void EtsWalk::wait_a_moment() {
    constexpr std::chrono::microseconds kMoment{200};
    constexpr std::uint64_t kMostMoments = 1000;  // of one table
    if (request_.how.moving && ++moments_ < kMostMoments) {
        std::this_thread::sleep_for(kMoment);
    }
    vm_->forget();
}

}  // namespace beamdump::beam
