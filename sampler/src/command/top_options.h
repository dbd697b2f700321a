#pragma once

#include "top/top_view.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace beamdump::sampler {

/// How `top` shows a node.
struct TopSettings {
    TopOptions options;
    std::chrono::milliseconds interval{2000};
    std::optional<std::uint64_t> count{};  ///< refreshes, then it ends; nothing: until it is ended
};

/// The options of `top` before validation.
struct RawTop {
    std::string sort{top_sort_name(TopSort::kReductions)};
    std::string interval = "2s";
    std::string filter;
    std::uint64_t limit = TopOptions().limit;
    std::uint64_t count = 0;
    bool once = false;
};

/// Declares what `top` has beside the options of all commands. `raw` must outlive the parsing.
void declare_top(CLI::App& command, RawTop& raw);
/// kUsage.
Result<TopSettings> top_settings(const RawTop& raw);

}  // namespace beamdump::sampler
