#pragma once

#include <libdump/model/dump.h>

#include <string>
#include <unordered_map>

namespace beamdump::query {

/// Registered names of a dump's processes, by the pid's text.
Result<std::unordered_map<std::string, std::string>> registered_names(Dump& dump);

}  // namespace beamdump::query
