#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace beamdump::query {

/// The types of NIF resources. Empty: the dump has none.
Result<std::vector<records::ResourceType>> resource_types(Dump& dump);
/// Its name, as module:name.
std::string resource_type_name(Dump& dump, const records::ResourceType& type);
/// The names of all, by the address of the type's structure.
Result<std::map<std::uint64_t, std::string>> resource_type_names(Dump& dump);

}  // namespace beamdump::query
