#include <libsample/node/shared_code.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kInstructionBytes = 8;

Address normal_exit_of(const std::vector<beam::Found>& code_points) {
    const auto found =
        std::ranges::find(code_points, std::string_view("beam_normal_exit"), &beam::Found::name);
    return found == code_points.end() ? 0 : found->address;
}

}  // namespace

SharedCode::SharedCode(const beam::JitSelf& jit, const std::vector<beam::Found>& code_points)
    : normal_exit_(jit.normal_exit != 0 ? jit.normal_exit : normal_exit_of(code_points)) {
    for (const auto& module : jit.modules) {
        parts_.push_back({module.begin, module.begin + module.bytes});
        ranges_.insert(ranges_.end(), module.ranges.begin(), module.ranges.end());
    }
    std::ranges::sort(ranges_, {}, &beam::JitRange::begin);
}

SharedCode::SharedCode(const std::vector<beam::Found>& code_points)
    : normal_exit_(normal_exit_of(code_points)) {
    for (const auto& point : code_points) {
        const auto end = point.address + kInstructionBytes;
        parts_.push_back({point.address, end});
        ranges_.push_back({.name = point.name, .begin = point.address, .end = end});
    }
    std::ranges::sort(ranges_, {}, &beam::JitRange::begin);
}

bool SharedCode::holds(Address pc) const {
    return std::ranges::any_of(parts_, [pc](const auto& part) { return part.contains(pc); });
}

const beam::JitRange* SharedCode::range_at(Address pc) const {
    const auto after = std::ranges::upper_bound(ranges_, pc, {}, &beam::JitRange::begin);
    if (after == ranges_.begin()) {
        return nullptr;
    }
    const auto& range = *std::prev(after);
    return pc < range.end ? &range : nullptr;
}

std::optional<std::string> SharedCode::name_at(Address pc) const {
    const auto* range = range_at(pc);
    if (range == nullptr) {
        return std::nullopt;
    }
    // "global::garbage_collect", "erts_beamasm:normal_exit/0"
    const auto colon = range->name.rfind(':');
    return colon == std::string::npos ? range->name : range->name.substr(colon + 1);
}

std::optional<Address> SharedCode::begin_of(std::string_view name) const {
    for (const auto& range : ranges_) {
        if (name_at(range.begin) == name) {
            return range.begin;
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::sampler
