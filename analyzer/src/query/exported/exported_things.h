#pragma once

#include "query/exported/export_file.h"
#include "query/process/process_line.h"
#include "query/tables/ets_tables.h"
#include "query/tables/modules.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

// What the commands' answers hold, of an export.

/// All processes, with their places in the export, from 0 on.
Result<void> each_exported_process(
    const ExportFile& file,
    const std::function<void(std::uint64_t place, const ProcessLine& line)>& visit);
/// Those at these places, in their order. kCorrupt: it has not as many.
Result<std::vector<ProcessLine>> exported_processes_at(const ExportFile& file,
                                                       std::span<const std::uint64_t> places);

/// `index`: the place in the export.
Result<std::vector<EtsTableLine>> exported_tables(const ExportFile& file);

Result<std::vector<ModuleLine>> exported_modules(const ExportFile& file);

/// As erlang:memory/0.
Result<std::vector<std::pair<std::string, std::uint64_t>>> exported_memory(const ExportFile& file);

/// Messages by shape, of a process by its pid; those of more shapes than are listed have none.
/// Nothing: the export does not have them.
using ExportedShapes = std::vector<std::pair<std::optional<std::string>, std::uint64_t>>;
Result<std::map<std::string, ExportedShapes>> exported_shapes(const ExportFile& file,
                                                              std::span<const std::string> pids);

}  // namespace beamdump::query
