#include "extract/extract.h"

#include "dwarf/field_path.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace beamdump::layout {
namespace {

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

struct Measured {
    Structure structure;
    std::vector<std::string> missing;
};

/// The first of the paths that the structure has.
Result<Place> find_first(const Dwarf_Die& die, const std::vector<std::string>& paths) {
    Result<Place> place = fail(ErrorCode::kNotFound, "no path is known");
    for (const auto& path : paths) {
        place = find_place(die, path);
        if (place || place.error().code != ErrorCode::kNotFound) {
            return place;
        }
    }
    return place;
}

Result<Measured> measure(Dwarf_Die die, std::string_view name, const StructureNames& names,
                         std::uint64_t word_bytes) {
    Dwarf_Word bytes = 0;
    if (dwarf_aggregate_size(&die, &bytes) != 0) {
        return fail(ErrorCode::kUnsupported, fmt::format("{}: DWARF does not say its size", name));
    }
    Measured result{{bytes, {}}, {}};
    auto& structure = result.structure;
    for (const auto& [field, paths] : names.fields) {
        const auto place = find_first(die, paths);
        if (!place) {
            const bool absent = place.error().code == ErrorCode::kNotFound;
            result.missing.push_back(
                fmt::format("{}.{}: {}", name, field,
                            absent ? fmt::format("absent (looked for {})", fmt::join(paths, ", "))
                                   : place.error().message));
            continue;
        }
        structure.fields.emplace_back(field, place->field);
        if (place->flexible) {
            const auto end = place->field.offset + place->field.bytes;
            const auto unit = bytes % word_bytes == 0 ? word_bytes : 1;
            structure.bytes = std::max(structure.bytes, round_up(end, unit));
        }
    }
    return result;
}

bool same(const Structure& a, const Structure& b) {
    return a.bytes == b.bytes && a.fields == b.fields;
}

/// Whether a translation unit's source is this one: "erl_db.c" of "beam/erl_db.c".
bool defined_in(Dwarf_Die die, std::string_view source) {
    Dwarf_Die unit{};
    if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) {
        return false;
    }
    const char* name = dwarf_diename(&unit);
    const std::string_view path = name == nullptr ? std::string_view() : name;
    return path.substr(path.rfind('/') + 1) == source;
}

/// Every translation unit must see the same structure.
Result<Measured> measure_all(const std::vector<Dwarf_Die>& definitions, std::string_view name,
                             const StructureNames& names, std::uint64_t word_bytes) {
    auto first = measure(definitions.front(), name, names, word_bytes);
    for (const auto& definition : definitions) {
        const auto other = measure(definition, name, names, word_bytes);
        if (first && other && !same(first->structure, other->structure)) {
            return fail(
                ErrorCode::kImplausible,
                fmt::format(
                    "{} has a definition of {} bytes and another of {} in this program: ambiguous",
                    name, first->structure.bytes, other->structure.bytes));
        }
    }
    return first;
}

Result<void> extract_structure(const DebugTypes& types, const std::string& name,
                               const StructureNames& names, Extracted& result) {
    for (const auto& type : names.types) {
        auto definitions = types.definitions(type);
        if (!names.unit.empty()) {
            std::erase_if(definitions,
                          [&](const Dwarf_Die& die) { return !defined_in(die, names.unit); });
        }
        if (definitions.empty()) {
            continue;
        }
        ASSIGN_OR_RETURN(auto measured, measure_all(definitions, name, names, types.word_bytes()));
        result.structs.emplace_back(name, std::move(measured.structure));
        std::ranges::move(measured.missing, std::back_inserter(result.missing));
        return {};
    }
    result.missing.push_back(
        fmt::format("{}: absent (looked for {}{})", name, fmt::join(names.types, ", "),
                    names.unit.empty() ? "" : fmt::format(" in {}", names.unit)));
    return {};
}

/// In the order of the names; other constants of the object come last.
void extract_constants(const ConstantsObject& object, const Names& names, Extracted& result) {
    for (const auto& name : names.constants) {
        if (const auto* value = find(object.constants, name)) {
            result.constants.emplace_back(name, *value);
        } else if (!object.constants.empty()) {
            result.missing.push_back(fmt::format("constant {}: absent", name));
        }
    }
    for (const auto& [name, value] : object.constants) {
        if (find(result.constants, name) == nullptr) {
            result.constants.emplace_back(name, value);
        }
    }
}

}  // namespace

Result<Extracted> extract(const DebugTypes& types, const ConstantsObject& constants,
                          const Names& names) {
    Extracted result;
    for (const auto& [name, structure] : names.structures) {
        RETURN_IF_ERROR(extract_structure(types, name, structure, result));
    }
    extract_constants(constants, names, result);
    return result;
}

}  // namespace beamdump::layout
