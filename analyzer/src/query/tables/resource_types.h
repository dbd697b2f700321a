#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_style.h>

#include <string>
#include <vector>

namespace beamdump::query {

/// The types of NIF resources. Empty: the dump has none.
Result<std::vector<records::ResourceType>> resource_types(Dump& dump);
/// Its name, as module:name.
std::string resource_type_name(Dump& dump, const records::ResourceType& type);
/// The names of all.
Result<ResourceTypeNames> resource_type_names(Dump& dump);

}  // namespace beamdump::query
