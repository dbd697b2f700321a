#pragma once

#include "query/tables/module_version.h"
#include "query/tables/modules.h"

#include <libdump/model/dump.h>

#include <string>
#include <vector>

namespace beamdump::query {

/// The module instances of a crash dump, as its sections `=mod:` say (break.c, loaded(); OTP 25 to
/// 29): names, sizes of code, versions. Empty where it has no such sections. `versions` may be
/// null: no versions. Memory: all of them.
Result<std::vector<ModuleLine>> modules_of_sections(Dump& dump, const std::string& file,
                                                    ModuleVersions* versions);

}  // namespace beamdump::query
