#include "capture/modes/available_modes.h"

#include <fmt/format.h>

#include <string_view>

namespace beamdump::capture {

Result<void> check_mode(records::CaptureMode mode, const Abilities& abilities) {
    const auto refusal = [&](std::string_view name, std::string_view what) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("mode {} is not available on {} yet, where this program cannot {}: "
                                "use mode live",
                                name, name_of(abilities.architecture), what));
    };
    if (mode == records::CAPTURE_MODE_FREEZE && !abilities.stops) {
        return refusal("freeze", "stop a node");
    }
    if (mode == records::CAPTURE_MODE_SNAPSHOT && !(abilities.stops && abilities.makes_twins)) {
        return refusal("snapshot", "make a node's twin");
    }
    return {};
}

std::string auto_shortcoming(const Abilities& abilities) {
    return abilities.stops ? ""
                           : fmt::format(
                                 "reads the node as mode live does: on {} this program cannot "
                                 "stop a node yet, so processes that keep changing are left out",
                                 name_of(abilities.architecture));
}

}  // namespace beamdump::capture
