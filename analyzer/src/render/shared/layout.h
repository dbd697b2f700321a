#pragma once

#include "query/facts/layout_facts.h"
#include "render/shared/output.h"

#include <optional>
#include <string_view>

namespace beamdump::render {

/// The first lines of an answer: that the layout is not the release's own, which values no check
/// could verify, and what the dump lacks; then an empty line. Empty without facts. `what` begins
/// the first line: "Layout", or the dump's name for it.
void print_layout_notice(Output& output, const std::optional<query::LayoutFacts>& facts,
                         std::string_view what = "Layout");

}  // namespace beamdump::render
