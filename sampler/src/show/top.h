#pragma once

#include "top/top_view.h"

#include <libdump/text/output.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::sampler {

inline constexpr std::size_t kTopColumns = 8;
inline constexpr std::array<std::string_view, kTopColumns> kTopTitles = {
    "PID", "NAME", "REDS/S", "HEAP", "HEAP/S", "QUEUE", "QUEUE/S", "STATUS, FUNCTION"};

/// The cells of a row, each one line without terminal controls; "-" where a value is not known.
std::array<std::string, kTopColumns> top_cells(const TopRow& row);
/// What is said of the node: lines without terminal controls.
std::vector<std::string> top_head(const TopReport& report);

/// A refresh as lines.
void top_text(Output& output, const TopReport& report);
/// A refresh as one line of JSON (schemas/json/sampler/top.schema.json).
void top_json(Output& output, const TopReport& report);

}  // namespace beamdump::sampler
