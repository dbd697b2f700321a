#include "alloc/collection_events.h"

#include "alloc/collection_places.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kRingPages = 64;

}  // namespace

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
    return std::ranges::find(places_, sample.at(Register::kRip)) != places_.end();
}

}  // namespace beamdump::sampler
