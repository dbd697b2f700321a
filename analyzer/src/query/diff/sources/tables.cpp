#include "query/diff/diff_source.h"
#include "query/exported/exported_things.h"
#include "query/process/process_names.h"
#include "query/tables/atoms.h"
#include "query/tables/ets_tables.h"
#include "query/tables/modules.h"
#include "query/tables/persistent_terms.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>
#include <libdump/term/atom_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace beamdump::query {

namespace {

/// All ETS tables of a dump or an export; none where it does not tell them.
Result<std::vector<EtsTableLine>> compared_tables(const ComparedDump& dump) {
    if (dump.exported != nullptr) {
        return exported_tables(*dump.exported);
    }
    auto tables = ets_tables(*dump.dump);
    if (!tables && tables.error().code == ErrorCode::kNotFound) {
        return std::vector<EtsTableLine>();
    }
    return tables;
}

/// A named table by its name. Others by their reference within one run, else by name and owner,
/// which several may share.
std::string key_of(const DiffContext& context, const EtsTableLine& table) {
    std::string name = table.name.value_or("(unknown)");
    if (table.named_table.value_or(false)) {
        return name;
    }
    if (context.same_run && table.id) {
        return fmt::format("{} {}", name, *table.id);
    }
    const auto& owner = table.owner_name || !context.same_run ? table.owner_name : table.owner;
    return fmt::format("{} of {}", name, owner.value_or("unregistered processes"));
}

Result<void> read_tables(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    ASSIGN_OR_RETURN(const auto tables, compared_tables(dump));
    // A crash dump that ends before its tables, or a node without tables, tells of none.
    if (tables.empty()) {
        return {};
    }
    table.begin(number, dump.whole);
    for (const EtsTableLine& line : tables) {
        table.add(key_of(context, line),
                  {.size = line.memory_bytes, .count = line.size, .place = line.index},
                  line.name.value_or("(unknown)"));
    }
    return {};
}

/// What tables call the owner, or its pid.
Result<std::optional<std::string>> shown_owner(const ComparedDump& dump, const EtsTableLine& line) {
    const auto owner = parse_pid(line.owner.value_or(""));
    if (owner && dump.dump != nullptr) {
        ASSIGN_OR_RETURN(auto names, ProcessNames(*dump.dump).of({*owner}));
        if (const auto name = names.find(*owner); name != names.end()) {
            return std::optional(std::move(name->second));
        }
    }
    return line.owner_name ? line.owner_name : line.owner;
}

Result<void> describe_tables(DiffContext& context, const ThingTable& table,
                             std::span<ThingChange*> things) {
    for (std::size_t number = 0; number < context.dumps.size(); ++number) {
        std::vector<EtsTableLine> lines;
        for (ThingChange* change : things) {
            const auto& thing = table.things()[change->number];
            if (thing.last_dump != number) {
                continue;
            }
            if (lines.empty()) {
                ASSIGN_OR_RETURN(lines, compared_tables(context.dumps[number]));
            }
            const EtsTableLine& line = lines.at(thing.place);
            change->add_detail("id", line.id);
            change->add_detail("name", line.name);
            change->add_detail("type", line.type);
            change->add_detail("owner", line.owner);
            change->add_detail("owner_name", line.owner_name);
            ASSIGN_OR_RETURN(const auto owner, shown_owner(context.dumps[number], line));
            if (owner) {
                change->title = fmt::format("{}, owner {}", change->key, *owner);
            }
        }
    }
    return {};
}

constexpr DiffSource kTableSource = {
    .kind = {.name = "ets_tables",
             .title = "ETS tables",
             .thing = "TABLE",
             .size = "memory",
             .count = "rows",
             .members = "tables",
             .appeared = "created",
             .gone = "deleted",
             .ranked = true,
             .container = "ets_names"},
    .read = read_tables,
    .describe = describe_tables,
};

}  // namespace

const DiffSource& ets_tables_diff_source() {
    return kTableSource;
}

namespace {

/// Tables by their name alone: of those that are made again and again.
Result<void> read_names(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    ASSIGN_OR_RETURN(const auto tables, compared_tables(dump));
    if (tables.empty() || !dump.whole) {
        return {};
    }
    table.begin(number);
    for (const EtsTableLine& line : tables) {
        table.add(line.name.value_or("(unknown)"), {.size = line.memory_bytes, .count = line.size});
    }
    return {};
}

constexpr DiffSource kNameSource = {
    .kind = {.name = "ets_names",
             .title = "ETS tables by name",
             .thing = "NAME",
             .size = "memory",
             .count = "rows",
             .members = "tables",
             .ranked = true,
             .members_ranked = true},
    .read = read_names,
};

}  // namespace

const DiffSource& ets_names_diff_source() {
    return kNameSource;
}

namespace {

/// The bytes of a key's text.
constexpr std::size_t kLongestTermKey = 200;

/// By their keys' texts. An export does not have them; of a crash dump the words of their keys are
/// not read.
Result<void> read_terms(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    if (dump.exported != nullptr || dump.of_crash_dump) {
        return {};
    }
    const RowQuery query{.sort = "memory", .filters = {}, .limit = 0};
    auto answer = list_persistent_terms(*dump.dump, query, kLongestTermKey);
    if (!answer && answer.error().code == ErrorCode::kNotFound) {
        return {};
    }
    if (!answer) {
        return std::unexpected(std::move(answer.error()));
    }
    table.begin(number, dump.whole && answer->counts.is_whole());
    const auto place_of = [](std::string_view name) {
        return column_place(persistent_term_columns(), name);
    };
    const auto key = place_of("key");
    const auto memory = place_of("memory");
    for (const Row& row : answer->list.take()) {
        const auto* text = std::get_if<std::string>(&row.at(key));
        const auto* bytes = std::get_if<std::uint64_t>(&row.at(memory));
        table.add(text != nullptr ? *text : "(unknown)",
                  {.size = bytes != nullptr ? std::optional(*bytes) : std::nullopt});
    }
    return {};
}

constexpr DiffSource kTermSource = {
    .kind = {.name = "persistent_terms",
             .title = "Persistent terms",
             .thing = "KEY",
             .size = "memory",
             .members = "terms",
             .gone = "erased",
             .ranked = true},
    .read = read_terms,
};

}  // namespace

const DiffSource& persistent_terms_diff_source() {
    return kTermSource;
}

namespace {

using AtomGroupVisitor = std::function<void(std::string_view name, const Amounts& amounts)>;

/// False: the export does not have all atoms.
Result<bool> each_exported_group(const ComparedDump& dump, const AtomGroupVisitor& visit) {
    std::uint64_t atoms = 0;
    RETURN_IF_ERROR(dump.exported->visit(atom_group_kind(), [&atoms](const ExportLine& line) {
        atoms += line.number("count").value_or(0);
    }));
    if (dump.of_crash_dump || atoms == 0 || dump.exported->fact("atoms") != atoms) {
        return false;
    }
    std::uint64_t place = 0;
    RETURN_IF_ERROR(dump.exported->visit(atom_group_kind(), [&](const ExportLine& line) {
        visit(line.text("pattern").value_or(""), {.size = line.number("bytes"),
                                                  .members = line.number("count").value_or(0),
                                                  .place = place++});
    }));
    return true;
}

/// Calls `visit` with each group's name, digits folded: that of a group of one atom is its own.
/// False: the dump does not have all atoms.
Result<bool> each_atom_group(const ComparedDump& dump, const AtomGroupVisitor& visit) {
    const auto visit_folded = [&visit](std::string_view name, const Amounts& amounts) {
        visit(folded_digits(unquoted_atom(name)), amounts);
    };
    if (!dump.whole) {
        return false;
    }
    if (dump.exported != nullptr) {
        return each_exported_group(dump, visit_folded);
    }
    RowQuery query;
    query.limit = 0;
    ASSIGN_OR_RETURN(auto answer,
                     list_atoms(*dump.dump, dump.facts.file, AtomRows::kGroups, query));
    // A crash dump without its section of atoms has only those that its terms name.
    const auto& counts = answer.counts;
    if (counts.ungrouped != 0 || !counts.count || *counts.count > counts.named) {
        return false;
    }
    for (const Row& group : answer.list.take()) {
        visit_folded(text_at(group, AtomGroupPlace::kName),
                     {.size = number_at(group, AtomGroupPlace::kBytes),
                      .members = number_at(group, AtomGroupPlace::kCount),
                      .place = number_at(group, AtomGroupPlace::kNewestIndex)});
    }
    return true;
}

/// Of all dumps.
Result<AtomNames> read_atom_names(const DiffContext& context) {
    AtomNames names;
    for (std::size_t number = 0; number < context.dumps.size(); ++number) {
        RETURN_IF_ERROR(
            each_atom_group(context.dumps[number], [&](std::string_view name, const Amounts&) {
                names.add_pattern(number, std::string(name));
            }));
    }
    if (!names.has_patterns()) {
        return names;
    }
    for (const auto& dump : context.dumps) {
        RETURN_IF_ERROR(each_atom_group(
            dump, [&](std::string_view name, const Amounts&) { names.tie(std::string(name)); }));
    }
    names.settle(context.dumps.size());
    return names;
}

/// By name pattern. Atoms are never removed: what a pattern has more of is new.
Result<void> read_atoms(DiffContext& context, std::size_t number, ThingTable& table) {
    if (!context.atom_names) {
        ASSIGN_OR_RETURN(context.atom_names, read_atom_names(context));
    }
    const ComparedDump& dump = context.dumps[number];
    bool begun = false;
    ASSIGN_OR_RETURN(const bool has_atoms,
                     each_atom_group(dump, [&](std::string_view name, const Amounts& amounts) {
                         if (!std::exchange(begun, true)) {
                             table.begin(number);
                         }
                         table.add(context.atom_names->of(std::string(name)), amounts);
                     }));
    if (has_atoms && !begun) {
        table.begin(number);
    }
    return {};
}

Result<void> describe_atoms(DiffContext& context, const ThingTable& table,
                            std::span<ThingChange*> things) {
    for (ThingChange* change : things) {
        const auto& thing = table.things()[change->number];
        if (const ExportFile* exported = context.dumps[thing.last_dump].exported) {
            std::uint64_t place = 0;
            RETURN_IF_ERROR(exported->visit(atom_group_kind(), [&](const ExportLine& line) {
                if (place++ == thing.place) {
                    change->add_detail("newest", line.text("newest"));
                }
            }));
            continue;
        }
        Dump& dump = *context.dumps[thing.last_dump].dump;
        if (const auto text = dump.atoms().text(static_cast<std::uint32_t>(thing.place))) {
            change->details.emplace_back("newest",
                                         atom_text(dump, static_cast<std::uint32_t>(thing.place)));
        }
    }
    return {};
}

constexpr DiffSource kAtomSource = {
    .kind = {.name = "atoms",
             .title = "Atoms by name (N: digits, *: parts)",
             .thing = "NAME",
             .size = "text_bytes",
             .members = "atoms",
             .sorted_by = Measure::kMembers,
             .ranked = true,
             .members_ranked = true},
    .read = read_atoms,
    .describe = describe_atoms,
};

}  // namespace

const DiffSource& atoms_diff_source() {
    return kAtomSource;
}

namespace {

/// Nothing: the dump does not have the node's modules. A crash dump without sections of modules
/// has only those that its processes name.
Result<std::optional<std::vector<ModuleLine>>> modules_of(const ComparedDump& dump) {
    if (dump.exported != nullptr) {
        // A crash dump's export has also those that are only named somewhere.
        if (!dump.form.code_instances || dump.exported->count(module_kind()) == 0) {
            return std::optional<std::vector<ModuleLine>>();
        }
        ASSIGN_OR_RETURN(auto modules, exported_modules(*dump.exported));
        return std::optional(std::move(modules));
    }
    ModulesOptions options;
    options.applications = false;
    auto found = module_lines(*dump.dump, options);
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
