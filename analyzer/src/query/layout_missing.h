#pragma once

#include <string_view>

namespace beamdump::query {

/// What a dump has nothing of when the layout leaves a structure out ("ErtsDistExternal"), for a
/// person; empty where that is not known.
std::string_view missing_without(std::string_view structure);

}  // namespace beamdump::query
