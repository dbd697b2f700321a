#pragma once

#include <string_view>

namespace beamdump::render {

/// Why a process's copy is void, as the end of a sentence about it: "was running when it was
/// captured". `reason` as query::void_reason_text() gives it.
std::string_view void_clause(std::string_view reason);

}  // namespace beamdump::render
