#include "alloc/collection_events.h"

#include <libdump/base/return_if_error.h>
#include <libsample/stack/process_stacks.h>
#include <libvm/arch/x86_64/call_code.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kMostFragmentBytes = 4096;
constexpr std::size_t kRingPages = 64;

}  // namespace

CollectionPlaces collection_places(ObservedNode& node) {
    CollectionPlaces places;
    const auto begin = node.shared().begin_of(kCollectionFragment);
    if (begin) {
        places.addresses.push_back(*begin);
    }
    for (const auto& fragment : node.shared().fragments()) {
        if (node.shared().name_at(fragment.begin) != kLightBif ||
            fragment.end - fragment.begin > kMostFragmentBytes) {
            continue;
        }
        std::vector<std::byte> code(fragment.end - fragment.begin);
        const auto branch = node.vm().memory().read(fragment.begin, code)
                                ? arch::x86_64::collection_branch(code)
                                : std::nullopt;
        if (branch) {
            places.addresses.push_back(fragment.begin + *branch);
            places.complete = begin.has_value();
        }
    }
    return places;
}

CollectionEvents CollectionEvents::open(ObservedNode& node, std::uint32_t stack_bytes,
                                        std::vector<std::string>& remarks) {
    CollectionEvents opened;
    const auto places = collection_places(node);
    if (!places.complete) {
        remarks.emplace_back(
            "not all collections are seen: the JIT's code that begins them was not found");
    }
    for (const auto place : places.addresses) {
        auto events =
            NodeEvents::open(node.vm().target().pid(), {.period = 1,
                                                        .breakpoint = place,
                                                        .schedulers_only = true,
                                                        .off = true,
                                                        .wakes = false,
                                                        .scheduler_stack_bytes = stack_bytes,
                                                        .ring_pages = kRingPages});
        if (!events) {
            remarks.push_back("not all collections are seen: " + events.error().message);
            break;
        }
        opened.places_.push_back(place);
        opened.events_.push_back(std::move(*events));
    }
    opened.all_ = places.complete && opened.events_.size() == places.addresses.size();
    return opened;
}

Result<void> CollectionEvents::refresh() {
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.refresh());
    }
    return {};
}

Result<void> CollectionEvents::switch_on() {
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.switch_on());
    }
    return {};
}

Result<void> CollectionEvents::switch_off() {
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.switch_off());
    }
    return {};
}

Result<void> CollectionEvents::read(
    const std::function<void(const Sample&, const std::string&)>& visit) {
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.read(visit));
    }
    return {};
}

std::uint64_t CollectionEvents::lost() const {
    std::uint64_t lost = 0;
    for (const auto& events : events_) {
        lost += events.lost();
    }
    return lost;
}

bool CollectionEvents::holds_up(const Sample& sample) const {
    return std::ranges::find(places_, sample.at(Register::kInstruction)) != places_.end();
}

}  // namespace beamdump::sampler
