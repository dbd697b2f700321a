#pragma once

#include <string_view>

namespace beamdump::render {

/// The page without its data, which comes between the two (from page/, embedded at build).
std::string_view report_page_head();
std::string_view report_page_tail();

}  // namespace beamdump::render
