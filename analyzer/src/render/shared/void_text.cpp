#include "render/shared/void_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::render {

std::string_view void_clause(std::string_view reason) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kClauses = {{
        {"running", "was running when it was captured"},
        {"garbage_collecting", "was collecting garbage when it was captured"},
        {"exiting", "was exiting when it was captured"},
        {"locked", "had its main lock held when it was captured"},
        {"changed", "changed while it was being copied"},
        {"unreadable", "had memory that could not be read"},
        {"left_out", "was not selected for capture"},
        {"implausible", "had an inconsistent structure when it was captured"},
        {"limit", "was skipped: the capture reached a time or size limit"},
    }};
    const auto* clause =
        std::ranges::find(kClauses, reason, [](const auto& one) { return one.first; });
    return clause == kClauses.end() ? "was not copied" : clause->second;
}

std::string void_advice(const query::DumpFacts& dump, std::string_view reason,
                        std::string_view pid) {
    constexpr std::array<std::string_view, 4> kOfAMoment = {"running", "garbage_collecting",
                                                            "locked", "changed"};
    if (!dump.of_running_node || std::ranges::find(kOfAMoment, reason) == kOfAMoment.end()) {
        return {};
    }
    return fmt::format(
        "beamdump-capture --mode freeze --process '{}' stops the node for as long as copying it "
        "takes, and again if it cannot be captured at that moment\n",
        pid);
}

}  // namespace beamdump::render
