#include "dwarf/field_path.h"

#include "dwarf/debug_types.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <dwarf.h>
#include <optional>

namespace beamdump::layout {
namespace {

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

}  // namespace

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

}  // namespace beamdump::layout
