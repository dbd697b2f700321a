#include "capture/layout_doubts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beamdump::capture {

std::optional<std::string> LayoutDoubts::sentence(const std::string& release,
                                                  const beam::Layout& layout) const {
    if (unverified_fields.empty() && left_out.empty()) {
        return std::nullopt;
    }
    return fmt::format(
        "no layout for OTP {}: read with {}{}; {} fields unverified, and their values are marked{}",
        release, layout.name(),
        inferred_from.empty()
            ? std::string()
            : fmt::format(", inferred from {}", fmt::join(inferred_from, " and ")),
        unverified_fields.size(),
        left_out.empty() ? std::string()
                         : fmt::format("; left out: {}", fmt::join(left_out, ", ")));
}

}  // namespace beamdump::capture
