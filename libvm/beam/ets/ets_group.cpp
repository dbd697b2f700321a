#include <libdump/base/return_if_error.h>
#include <libvm/beam/ets/ets_group.h>

#include <algorithm>
#include <cstring>

namespace beamdump::beam {
namespace {

constexpr std::size_t kLinkBytes = 8;
constexpr std::size_t kLocksOfARow = 4;  // two before it and two after

std::uint64_t number_at(std::span<const std::byte> bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
}

}  // namespace

Result<EtsGroupReader> EtsGroupReader::open(Vm& vm) {
    return EtsGroupReader(vm);
}

void EtsGroupReader::add(Address address, std::span<std::byte> into) {
    reads_.push_back({address, into, false});
}

/// The links of a group come first, then each row's.
void EtsGroupReader::add_link(const EtsLink& link, std::size_t index) {
    add(link.address, std::span(links_).subspan(index * kLinkBytes, link.bytes));
}

/// Where each row's bytes go.
void EtsGroupReader::place(const EtsGroup& group) {
    starts_.clear();
    sizes_.clear();
    std::size_t total = 0;
    for (const auto& row : group.rows) {
        starts_.push_back(total);
        sizes_.push_back(row.bytes);
        total += (row.bytes + kLinkBytes - 1) / kLinkBytes * kLinkBytes;
    }
    bytes_.resize(total);
    again_.resize(total);
    links_.assign((group.links.size() + group.rows.size()) * 2 * kLinkBytes, std::byte{0});
    locks_.assign(group.rows.size() * kLocksOfARow, 0);
    reads_.clear();
}

Result<EtsGroupReader::Outcome> EtsGroupReader::read(const EtsGroup& group, const How& how) {
    place(group);
    return how.moving && how.validate ? proven(group, how) : at_rest(group, how);
}

Result<EtsGroupReader::Outcome> EtsGroupReader::at_rest(const EtsGroup& group, const How& how) {
    auto& memory = vm_->memory();
    for (std::size_t index = 0; index < group.rows.size(); ++index) {
        const auto& row = group.rows[index];
        for (const auto lock : {how.table_lock, row.lock}) {
            if (!how.validate || how.table_lock == 0 || lock == 0) {
                continue;
            }
            const auto flags = memory.value<std::uint32_t>(lock);
            if (!flags || is_written(*flags)) {
                return flags ? Outcome::kLocked : Outcome::kUnreadable;
            }
        }
        const auto into = std::span(bytes_).subspan(starts_[index], row.bytes);
        if (const auto held = vm_->prefetched().at(row.address); held.size() >= into.size()) {
            std::ranges::copy(held.first(into.size()), into.begin());
        } else {
            add(row.address, into);
        }
    }
    RETURN_IF_ERROR(vm_->target().memory().read_batch(reads_));
    return std::ranges::all_of(reads_, &memory::BatchRead::done) ? Outcome::kRead
                                                                 : Outcome::kUnreadable;
}

Result<EtsGroupReader::Outcome> EtsGroupReader::proven(const EtsGroup& group, const How& how) {
    const auto lock_into = [&](std::size_t index) {
        return std::as_writable_bytes(std::span(locks_).subspan(index, 1));
    };
    const auto half = group.links.size() + group.rows.size();
    const auto add_links = [&](std::size_t before) {
        for (std::size_t index = 0; index < group.links.size(); ++index) {
            add_link(group.links[index], before + index);
        }
    };
    const auto add_lead = [&](std::size_t row, std::size_t before) {
        add_link(group.rows[row].lead, before + group.links.size() + row);
    };
    add_links(0);
    const auto add_locks = [&](std::size_t row, std::size_t first) {
        if (how.table_lock == 0) {
            return;
        }
        add(how.table_lock, lock_into(row * kLocksOfARow + first));
        if (group.rows[row].lock != 0) {
            add(group.rows[row].lock, lock_into(row * kLocksOfARow + first + 1));
        }
    };
    for (std::size_t first = 0; first < group.rows.size();) {
        auto end = first + 1;
        while (end < group.rows.size() && group.rows[end].follows) {
            ++end;
        }
        for (auto row = first; row < end; ++row) {
            add_locks(row, 0);
        }
        for (auto row = first; row < end; ++row) {
            add_lead(row, 0);
        }
        for (auto* into : {&bytes_, &again_}) {
            for (auto row = first; row < end; ++row) {
                const auto& place = group.rows[row];
                add(place.address, std::span(*into).subspan(starts_[row], place.bytes));
            }
        }
        for (auto row = first; row < end; ++row) {
            add_lead(row, half);
        }
        for (auto row = first; row < end; ++row) {
            add_locks(row, 2);
        }
        first = end;
    }
    add_links(half);
    if (how.table_lock == 0) {
        ASSIGN_OR_RETURN(const auto quiet,
                         how.quiet != nullptr ? how.quiet->begin() : Result<bool>(false));
        if (!quiet) {
            return Outcome::kLocked;
        }
    }
    RETURN_IF_ERROR(vm_->target().memory().read_batch(reads_));
    if (how.table_lock == 0) {
        ASSIGN_OR_RETURN(const auto quiet, how.quiet->end());
        if (!quiet) {
            return Outcome::kChanged;
        }
    }
    return judge(group);
}

EtsGroupReader::Outcome EtsGroupReader::judge(const EtsGroup& group) const {
    if (!std::ranges::all_of(reads_, &memory::BatchRead::done)) {
        return Outcome::kUnreadable;
    }
    if (std::ranges::any_of(locks_, is_written)) {
        return Outcome::kLocked;
    }
    const auto half = group.links.size() + group.rows.size();
    for (std::size_t index = 0; index < 2 * half; ++index) {
        const auto at = index % half;
        const auto& link =
            at < group.links.size() ? group.links[at] : group.rows[at - group.links.size()].lead;
        if (number_at(std::span(links_).subspan(index * kLinkBytes, kLinkBytes)) != link.expected) {
            return Outcome::kChanged;
        }
    }
    for (std::size_t index = 0; index < sizes_.size(); ++index) {
        const auto first = row(index);
        if (std::memcmp(first.data(), again_.data() + starts_[index], first.size()) != 0) {
            return Outcome::kChanged;
        }
    }
    return Outcome::kRead;
}

}  // namespace beamdump::beam
