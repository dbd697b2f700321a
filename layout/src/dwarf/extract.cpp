#include "dwarf/extract.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <optional>
#include <string_view>

namespace beamdump::layout {
namespace {

/// The member of a structure at a C path such as "u.initial" or "sig_qs.first".
struct Place {
    Field field;
    bool flexible = false;  ///< a flexible array member: `field.bytes` is of one element
};

constexpr int kDeepest = 16;  // nested anonymous members

struct Member {
    Dwarf_Die die{};
    std::uint64_t offset = 0;  ///< bytes from the outermost structure's start
};

std::optional<std::uint64_t> unsigned_attribute(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(&die, name, &attribute), &value) != 0) {
        return std::nullopt;
    }
    return value;
}

bool has_attribute(Dwarf_Die& die, unsigned name) {
    return dwarf_hasattr(&die, name) != 0;
}

Result<Dwarf_Die> type_of(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (dwarf_formref_die(dwarf_attr(&die, DW_AT_type, &attribute), &type) == nullptr) {
        return fail(ErrorCode::kUnsupported, "DWARF names no type for a member");
    }
    return underlying_type(type);
}

/// A union's members have no offset in DWARF; a bit-field's is in bits and not supported here.
Result<std::uint64_t> offset_of(Dwarf_Die& member) {
    if (!has_attribute(member, DW_AT_data_member_location)) {
        return 0;
    }
    if (const auto offset = unsigned_attribute(member, DW_AT_data_member_location)) {
        return *offset;
    }
    return fail(ErrorCode::kUnsupported, "DWARF computes a member's offset at run time");
}

/// kNotFound if neither the structure nor an anonymous member of it has that member.
Result<Member> find_member(Dwarf_Die structure, std::string_view name, int depth = 0) {
    Dwarf_Die die;
    if (depth < kDeepest && dwarf_child(&structure, &die) == 0) {
        do {
            if (dwarf_tag(&die) != DW_TAG_member) {
                continue;
            }
            const char* its_name = dwarf_diename(&die);
            if (its_name != nullptr && name != its_name) {
                continue;
            }
            ASSIGN_OR_RETURN(const auto offset, offset_of(die));
            if (its_name != nullptr) {
                return Member{die, offset};
            }
            const auto type = type_of(die);
            if (!type) {
                continue;  // an unnamed bit-field: padding
            }
            auto inner = find_member(*type, name, depth + 1);
            if (inner) {
                inner->offset += offset;
                return inner;
            }
            if (inner.error().code != ErrorCode::kNotFound) {
                return inner;
            }
        } while (dwarf_siblingof(&die, &die) == 0);
    }
    return fail(ErrorCode::kNotFound, fmt::format("no member {}", name));
}

Result<Place> place_of(Dwarf_Die type, std::uint64_t offset) {
    Dwarf_Word bytes = 0;
    if (dwarf_aggregate_size(&type, &bytes) == 0 && bytes > 0) {
        return Place{{offset, bytes}, false};
    }
    if (dwarf_tag(&type) == DW_TAG_array_type) {
        ASSIGN_OR_RETURN(auto element, type_of(type));
        if (dwarf_aggregate_size(&element, &bytes) == 0 && bytes > 0) {
            return Place{{offset, bytes}, true};
        }
    }
    return fail(ErrorCode::kUnsupported, "DWARF does not say its size");
}

/// Resolves a path of member names separated by dots; anonymous members are searched as in C.
/// Errors: kNotFound for a missing name, kUnsupported for a bit-field (a layout has no bits) and
/// for DWARF without plain offset or size.
Result<Place> find_place(Dwarf_Die structure, std::string_view path) {
    auto type = structure;
    std::uint64_t offset = 0;
    for (auto rest = path;;) {
        const auto dot = rest.find('.');
        auto member = find_member(type, rest.substr(0, dot));
        if (!member) {
            return wrap(path, member.error());
        }
        if (has_attribute(member->die, DW_AT_bit_size)) {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("{}: a bit-field, which layouts do not support", path));
        }
        offset += member->offset;
        const auto member_type = type_of(member->die);
        if (!member_type) {
            return wrap(path, member_type.error());
        }
        type = *member_type;
        if (dot == std::string_view::npos) {
            auto place = place_of(type, offset);
            return place ? place : wrap(path, place.error());
        }
        rest.remove_prefix(dot + 1);
    }
}

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

bool same_structure(const Structure& a, const Structure& b) {
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
        if (first && other && !same_structure(first->structure, other->structure)) {
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
