#pragma once

#include "query/node/dump_facts.h"
#include "query/process/every_process.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

enum class ModuleSort : std::uint8_t { kCode, kLiterals, kFunctions, kName };

/// code, literals, functions or name. kUsage.
Result<ModuleSort> parse_module_sort(std::string_view name);

struct ModulesOptions {
    ModuleSort sort = ModuleSort::kCode;
    std::vector<std::string> filters;  ///< texts that a name must contain
    std::uint64_t limit = 20;          ///< 0: all
    bool old = false;                  ///< only old instances
    bool users = false;                ///< find the processes that run old code
    bool sensitive = false;            ///< ... also those flagged sensitive
    bool applications = true;          ///< find the applications that they belong to
    ReadProgress progress = {};        ///< of looking for users
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

struct ModuleReport {
    DumpFacts dump;
    std::uint64_t total = 0;
    std::uint64_t matching = 0;
    std::uint64_t old = 0;  ///< instances
    /// Sums over the instances that match; nothing where one of them is not known.
    std::optional<std::uint64_t> code_bytes;
    std::optional<std::uint64_t> literal_bytes;
    std::vector<ModuleLine> modules;
    /// Why applications are missing, though the dump has rows of their table.
    std::optional<Error> no_applications;
    std::optional<ProcessesRead> read;  ///< where users were asked for
};

/// Reads the record of each module instance (some hundred bytes each), the rows of ac_tab, and, for
/// users, all stacks. kNotFound of a crash dump without sections of modules.
Result<ModuleReport> module_report(Dump& dump, const std::string& file,
                                   const ModulesOptions& options);

}  // namespace beamdump::query
