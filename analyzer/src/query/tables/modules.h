#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/every_process.h"
#include "query/rows/fields.h"
#include "query/rows/row_list.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// What is read beside the modules themselves.
struct ModulesOptions {
    bool users = false;          ///< find the processes that run old code
    bool sensitive = false;      ///< ... also those flagged sensitive
    bool applications = true;    ///< find the applications that they belong to
    ReadProgress progress = {};  ///< of looking for users
    /// Users are looked for among these rows of the index of processes only.
    std::optional<std::vector<std::uint64_t>> rows = {};
};

/// A loaded instance of a module.
struct ModuleLine {
    std::string name;
    std::optional<std::string> instance;         ///< current, old, on_load
    std::optional<std::uint64_t> code_start;     ///< a crash dump's sections do not tell it
    std::optional<std::uint64_t> code_bytes;     ///< as the VM counts it
    std::optional<std::uint64_t> literal_bytes;  ///< of its literal area
    std::optional<std::uint64_t> functions;
    std::optional<std::string> md5;      ///< module_info(md5), in hexadecimal digits
    std::optional<std::string> version;  ///< its attribute vsn (module_version.h)
    /// The loaded application whose resource file names the module (applications.h).
    std::optional<std::string> application;
    std::optional<std::string> application_version;
    /// Processes that have the instance's code on their stack; where users were asked for, of old
    /// ones.
    std::optional<std::uint64_t> user_count;
    std::vector<std::string> users;  ///< the first of these pids
};

/// Pids that are listed of the users of one instance.
inline constexpr std::size_t kMaxListedUsers = 20;

struct ModuleLines {
    std::vector<ModuleLine> lines;
    /// Why applications are missing, though the dump has rows of their table.
    std::optional<Error> no_applications;
    std::optional<ProcessesRead> read;  ///< where users were asked for
};

/// Reads the record of each module instance (some hundred bytes each), the rows of ac_tab, and, for
/// users, all stacks. In the order of addresses, or of a crash dump's sections. kNotFound of a
/// crash dump without sections of modules.
Result<ModuleLines> module_lines(Dump& dump, const ModulesOptions& options);

/// The columns of list_modules().
std::span<const Column> module_columns();
/// Those that a list shows, and what it is sorted by, unless others are asked for.
inline constexpr std::string_view kShownModuleColumns =
    "name,instance,code_bytes,literal_bytes,functions,application_directory,vsn,md5";
inline constexpr std::string_view kModuleSort = "code_bytes,name";

struct ModuleList {
    RowList list;
    std::uint64_t old = 0;  ///< instances, of all
    /// Where users were asked for: instances of old code that pass, with who runs them.
    std::vector<ModuleLine> used;
    std::optional<Error> no_applications;
    std::optional<ProcessesRead> read;
};

/// All instances as rows. Errors as of module_lines().
Result<ModuleList> list_modules(Dump& dump, const RowQuery& query, const ModulesOptions& options);
/// The rows alone. Also fails where the applications cannot be read.
Result<RowList> list_all_modules(Dump& dump, const RowQuery& query);

/// The module that has these cells.
ModuleLine module_of(const CellOf& cell_of);

}  // namespace beamdump::query
