#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <map>
#include <string>

namespace beamdump::query {

/// Names of the types of NIF resources, as module:name, by the address of their structure. Empty:
/// the dump has none.
Result<std::map<std::uint64_t, std::string>> resource_type_names(Dump& dump);

}  // namespace beamdump::query
