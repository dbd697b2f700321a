#include "waits/unmoved.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>

namespace beamdump::sampler {

Result<Unmoved> Unmoved::open(ObservedNode& node) {
    auto& vm = node.vm();
    ASSIGN_OR_RETURN(auto proof, beam::ProcessProof::open(vm.layout(), vm.bulk()));
    Unmoved unmoved(std::move(proof));
    beam::LayoutNames names(vm.layout());
    unmoved.id_ = names.field("Process", "common.id");
    unmoved.reds_ = names.field("Process", "reds");
    unmoved.place_ = names.field("Process", "i");
    unmoved.stop_ = names.field("Process", "stop");
    unmoved.htop_ = names.field("Process", "htop");
    RETURN_IF_ERROR(names.outcome());
    return unmoved;
}

Result<std::vector<std::optional<RunMark>>> Unmoved::read(std::span<const beam::IdSlot> slots) {
    addresses_.clear();
    std::ranges::transform(slots, std::back_inserter(addresses_), &beam::IdSlot::address);
    readings_.resize(slots.size());
    RETURN_IF_ERROR(proof_.read(addresses_, readings_));
    std::vector<std::optional<RunMark>> marks;
    marks.reserve(slots.size());
    for (const auto& reading : readings_) {
        const auto busy = reading.here ? proof_.busy(reading) : records::VOID_REASON_EXITING;
        // A lock is held to send to it, too.
        if (busy != records::VOID_REASON_NONE && busy != records::VOID_REASON_LOCKED) {
            marks.emplace_back();
            continue;
        }
        const beam::StructView view(reading.structure);
        marks.emplace_back(RunMark{.id = view.get(id_),
                                   .reds = view.get(reds_),
                                   .place = view.get(place_),
                                   .stop = view.get(stop_),
                                   .htop = view.get(htop_)});
    }
    return marks;
}

void Unmoved::begin() {
    std::erase_if(seen_, [&](const auto& entry) { return entry.second.reading != reading_; });
    ++reading_;
    not_followed_ = 0;
}

void Unmoved::see(std::uint32_t slot, const std::optional<RunMark>& mark, std::int64_t now_ns) {
    if (!mark) {
        seen_.erase(slot);
        return;
    }
    const auto known = seen_.find(slot);
    if (known == seen_.end()) {
        if (seen_.size() >= kMostProcesses) {
            ++not_followed_;
            return;
        }
        seen_.emplace(slot, Seen{*mark, now_ns, reading_});
        return;
    }
    if (known->second.mark != *mark) {
        known->second.mark = *mark;
        known->second.since_ns = now_ns;
    }
    known->second.reading = reading_;
}

std::optional<std::int64_t> Unmoved::since(std::uint32_t slot, const RunMark& mark) const {
    const auto known = seen_.find(slot);
    return known != seen_.end() && known->second.mark == mark
               ? std::optional(known->second.since_ns)
               : std::nullopt;
}

}  // namespace beamdump::sampler
