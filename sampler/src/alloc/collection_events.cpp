#include "alloc/collection_events.h"

#include <libdump/base/return_if_error.h>
#include <libsample/stack/process_stacks.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kMostFragmentBytes = 4096;
/// Jumps to the place: the collection is forced, or the heap or the binaries are full.
constexpr std::size_t kJumps = 3;
/// Bytes of `jcc rel32`, 0F 80 to 0F 8F; and of `call [rip + rel32]`, FF 15.
constexpr std::size_t kJumpBytes = 6;
constexpr std::size_t kCallBytes = 6;

std::ptrdiff_t displacement(std::span<const std::byte> code, std::size_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, code.data() + at, sizeof(value));
    return value;
}

bool jumps_at(std::span<const std::byte> code, std::size_t at) {
    return code[at] == std::byte{0x0f} && (code[at + 1] & std::byte{0xf0}) == std::byte{0x80};
}

bool calls_at(std::span<const std::byte> code, std::size_t at) {
    return code[at] == std::byte{0xff} && code[at + 1] == std::byte{0x15};
}

constexpr std::size_t kRingPages = 64;

}  // namespace

std::optional<std::size_t> collection_branch(std::span<const std::byte> code) {
    std::map<std::size_t, std::size_t> jumps;  // to an offset
    std::vector<std::size_t> calls;
    for (std::size_t at = 0; at + kJumpBytes <= code.size(); ++at) {
        const auto next = static_cast<std::ptrdiff_t>(at + kJumpBytes);
        const auto to = next + (jumps_at(code, at) ? displacement(code, at + 2) : 0);
        if (to > next && to < static_cast<std::ptrdiff_t>(code.size())) {
            ++jumps[static_cast<std::size_t>(to)];
        }
        if (calls_at(code, at)) {
            calls.push_back(at);
        }
    }
    const auto most =
        std::ranges::max_element(jumps, {}, [](const auto& jump) { return jump.second; });
    if (most == jumps.end() || most->second != kJumps || calls.size() != 1 ||
        calls.front() < most->first || calls.front() + kCallBytes >= code.size()) {
        return std::nullopt;
    }
    return most->first;
}

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
        const auto branch =
            node.vm().memory().read(fragment.begin, code) ? collection_branch(code) : std::nullopt;
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
    return std::ranges::find(places_, sample.at(Register::kRip)) != places_.end();
}

}  // namespace beamdump::sampler
