#include "readings/process_scan.h"

#include <libdump/base/return_if_error.h>
#include <libvm/target/process/clock.h>

#include <algorithm>
#include <set>
#include <utility>

namespace beamdump::watch {
namespace {

std::optional<std::int64_t> growth(std::uint64_t before, std::optional<std::uint64_t> now,
                                   std::uint64_t unknown) {
    return before == unknown || !now ? std::nullopt
                                     : std::optional(static_cast<std::int64_t>(*now - before));
}

}  // namespace

std::optional<std::uint64_t> RankedProcesses::key(const RankedProcess& process, By by) {
    const auto positive = [](std::optional<std::int64_t> number) {
        return number && *number > 0 ? std::optional(static_cast<std::uint64_t>(*number))
                                     : std::nullopt;
    };
    switch (by) {
        case kHeap:
            return process.counts.heap_bytes;
        case kMessages:
            return process.counts.messages.value_or(0) > 0 ? process.counts.messages : std::nullopt;
        case kHeapGrowth:
            return positive(process.heap_growth);
        case kMessagesGrowth:
            return positive(process.messages_growth);
        case kOrders:
            break;
    }
    return std::nullopt;
}

void RankedProcesses::add(const RankedProcess& process) {
    for (std::size_t order = 0; order < first_.size(); ++order) {
        const auto by = static_cast<By>(order);
        const auto own = key(process, by);
        auto& first = first_[order];
        if (!own || (first.size() == kFirst && *own <= key(first.back(), by).value_or(0))) {
            continue;
        }
        const auto at = std::ranges::find_if(
            first, [&](const auto& other) { return key(other, by).value_or(0) < *own; });
        first.insert(at, process);
        first.resize(std::min(first.size(), kFirst));
    }
}

std::vector<RankedProcess> RankedProcesses::take() {
    std::vector<RankedProcess> all;
    std::set<std::uint64_t> seen;
    for (auto& first : first_) {
        for (const auto& process : std::exchange(first, {})) {
            if (seen.insert(process.counts.owner_id).second) {
                all.push_back(process);
            }
        }
    }
    std::ranges::stable_sort(all, std::ranges::greater(), [](const RankedProcess& process) {
        return process.counts.heap_bytes.value_or(0);
    });
    return all;
}

RankedProcess ProcessScan::ranked(const sampler::ProcessCounts& counts) {
    while (compared_ < before_.size() && before_[compared_].first < counts.slot.slot) {
        ++compared_;
    }
    RankedProcess process{.counts = counts};
    if (compared_ < before_.size() && before_[compared_].first == counts.slot.slot &&
        before_[compared_].second.owner_id == counts.owner_id) {
        const auto& before = before_[compared_].second;
        process.heap_growth = growth(before.heap_bytes, counts.heap_bytes, kUnknown);
        process.messages_growth = growth(before.messages, counts.messages, kUnknown);
    }
    return process;
}

Result<std::optional<records::HistoryScan>> ProcessScan::go_on(beam::Vm& vm, std::uint32_t slots,
                                                               const std::atomic<bool>& cancelled) {
    if (next_slot_ == 0) {
        scan_.set_began_us(target::clock_ns(CLOCK_REALTIME) / 1000);
    }
    sampler::ProcessesRead read;
    RETURN_IF_ERROR(counts_.read_some(next_slot_, slots, cancelled, read));
    for (const auto& counts : read.processes) {
        ranked_.add(ranked(counts));
        scan_.set_processes(scan_.processes() + 1);
        scan_.set_messages(scan_.messages() + counts.messages.value_or(0));
        now_.emplace_back(counts.slot.slot,
                          Before{counts.owner_id, counts.heap_bytes.value_or(kUnknown),
                                 counts.messages.value_or(kUnknown)});
    }
    if (slots < counts_.slots() - next_slot_) {
        next_slot_ += slots;
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(auto scan, finish(vm));
    return scan;
}

Result<records::HistoryScan> ProcessScan::finish(beam::Vm& vm) {
    if (!names_) {
        // A node that starts has not all of its tables: the next reading names them.
        if (auto names = ProcessNames::open(vm)) {
            names_.emplace(std::move(*names));
        }
    }
    for (const auto& ranked : ranked_.take()) {
        auto& process = *scan_.add_process();
        process.set_owner_id(ranked.counts.owner_id);
        if (ranked.counts.heap_bytes) {
            process.set_heap_bytes(*ranked.counts.heap_bytes);
        }
        if (ranked.counts.messages) {
            process.set_messages(*ranked.counts.messages);
        }
        if (ranked.heap_growth) {
            process.set_heap_bytes_growth(*ranked.heap_growth);
        }
        if (ranked.messages_growth) {
            process.set_messages_growth(*ranked.messages_growth);
        }
        if (names_) {
            RETURN_IF_ERROR(names_->name(ranked.counts.slot, process));
        }
    }
    before_ = std::exchange(now_, {});
    compared_ = 0;
    next_slot_ = 0;
    return std::exchange(scan_, {});
}

}  // namespace beamdump::watch
