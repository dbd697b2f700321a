#include "query/tables/atoms.h"

#include "query/diff/diff_source.h"

#include <libdump/base/return_if_error.h>
#include <libdump/term/atom_text.h>

namespace beamdump::query {

namespace {

/// Where the export has all atoms by pattern. The name of a group of one atom is its own.
Result<void> read_exported_atoms(const ComparedDump& dump, std::size_t number, ThingTable& table) {
    std::uint64_t atoms = 0;
    RETURN_IF_ERROR(dump.exported->visit(atom_group_kind(), [&atoms](const ExportLine& line) {
        atoms += line.number("count").value_or(0);
    }));
    if (dump.of_crash_dump || atoms == 0 || dump.exported->fact("atoms") != atoms) {
        return {};
    }
    table.begin(number);
    std::uint64_t place = 0;
    return dump.exported->visit(atom_group_kind(), [&](const ExportLine& line) {
        const std::string name = line.text("pattern").value_or("");
        table.add(quoted_atom(folded_digits(unquoted_atom(name))),
                  {.size = line.number("bytes"),
                   .members = line.number("count").value_or(0),
                   .place = place++});
    });
}

/// By name pattern. Atoms are never removed: what a pattern has more of is new.
Result<void> read_atoms(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    if (!dump.whole) {
        return {};
    }
    if (dump.exported != nullptr) {
        return read_exported_atoms(dump, number, table);
    }
    AtomsOptions options;
    options.limit = 0;
    ASSIGN_OR_RETURN(const auto report, atom_report(*dump.dump, dump.facts.file, options));
    // Of a crash dump without its section of atoms only those are known that its terms name.
    if (report.ungrouped != 0 || !report.count || *report.count > report.named) {
        return {};
    }
    table.begin(number);
    for (const AtomGroup& group : report.largest_groups) {
        table.add(group.pattern,
                  {.size = group.bytes, .members = group.count, .place = group.newest_index});
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
             .title = "Atoms by name (N: digits)",
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

}  // namespace beamdump::query
