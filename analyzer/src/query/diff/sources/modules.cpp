#include "query/tables/modules.h"

#include "query/diff/diff_source.h"
#include "query/exported/exported_things.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

/// Nothing: the dump does not have the node's modules. A crash dump without sections of modules
/// has only those that its processes name.
Result<std::optional<std::vector<ModuleLine>>> modules_of(const ComparedDump& dump) {
    if (dump.exported != nullptr) {
        // Of a crash dump, also those are in it that are only named somewhere.
        if (dump.of_crash_dump || dump.exported->count(module_kind()) == 0) {
            return std::optional<std::vector<ModuleLine>>();
        }
        ASSIGN_OR_RETURN(auto modules, exported_modules(*dump.exported));
        return std::optional(std::move(modules));
    }
    ModulesOptions options;
    options.applications = false;
    auto found = module_lines(*dump.dump, dump.facts.file, options);
    if (!found && found.error().code == ErrorCode::kNotFound) {
        return std::optional<std::vector<ModuleLine>>();
    }
    if (!found) {
        return std::unexpected(std::move(found.error()));
    }
    return std::optional(std::move(found->lines));
}

/// What is told apart: within one run also code that was loaded again unchanged, by its place.
std::optional<std::uint64_t> version_of(const DiffContext& context, const ModuleLine& line) {
    // A crash dump tells neither.
    if (context.same_run ? !line.code_start : !line.md5) {
        return std::nullopt;
    }
    return std::hash<std::string>()(
        context.same_run ? fmt::format("{} {:#x}", line.md5.value_or(""), *line.code_start)
                         : *line.md5);
}

/// Bytes of code. A crash dump's are those of code and literals together (measured on OTP 25, 27
/// and 29: equal for each module of a node), so where one is compared a capture's are added up.
std::optional<std::uint64_t> size_of(const DiffContext& context, bool of_crash_dump,
                                     const ModuleLine& line) {
    if (!context.any_crash_dump || of_crash_dump) {
        return line.code_bytes;
    }
    return line.code_bytes && line.literal_bytes
               ? std::optional(*line.code_bytes + *line.literal_bytes)
               : std::nullopt;
}

Result<void> read_modules(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    ASSIGN_OR_RETURN(const auto modules, modules_of(dump));
    if (!modules) {
        return {};
    }
    table.begin(number, dump.whole);
    for (const ModuleLine& line : *modules) {
        const bool current = line.instance.value_or("current") == "current";
        table.add(current ? line.name : fmt::format("{} ({})", line.name, *line.instance),
                  {.size = size_of(context, dump.of_crash_dump, line),
                   .version = current ? version_of(context, line) : std::nullopt});
    }
    return {};
}

/// MD5 and version of the code in the first and the last dump that have it.
Result<void> describe_modules(DiffContext& context, const ThingTable& /*table*/,
                              std::span<ThingChange*> things) {
    if (things.empty()) {
        return {};
    }
    for (std::size_t number = 0; number < context.dumps.size(); ++number) {
        ASSIGN_OR_RETURN(const auto modules, modules_of(context.dumps[number]));
        for (const ModuleLine& line : modules ? *modules : std::vector<ModuleLine>()) {
            for (ThingChange* change : things) {
                if (line.instance.value_or("current") != "current" || change->key != line.name) {
                    continue;
                }
                const auto detail = [change](const std::string& name,
                                             const std::optional<std::string>& value) {
                    if (!value) {
                        return;
                    }
                    auto& details = change->details;
                    const auto known = std::ranges::find(
                        details, name + "_before", &std::pair<std::string, std::string>::first);
                    if (known == details.end()) {
                        details.emplace_back(name + "_before", *value);
                        details.emplace_back(name + "_after", *value);
                    } else {
                        std::next(known)->second = *value;
                    }
                };
                detail("md5", line.md5);
                detail("vsn", line.version);
            }
        }
    }
    return {};
}

constexpr DiffSource kModuleSource = {
    .kind = {.name = "modules",
             .title = "Modules",
             .thing = "MODULE",
             .size = "code",
             .members = "instances",
             .appeared = "loaded",
             .gone = "deleted"},
    .read = read_modules,
    .describe = describe_modules,
};

}  // namespace

const DiffSource& modules_diff_source() {
    return kModuleSource;
}

}  // namespace beamdump::query
