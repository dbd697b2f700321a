#include "dwarf/debug_types.h"

#include <libdump/base/architecture.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>

#include <fmt/format.h>
#include <gelf.h>

#include <cerrno>
#include <dwarf.h>
#include <fcntl.h>

namespace beamdump::layout {
namespace {

bool is_complete(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    return dwarf_attr(&die, DW_AT_declaration, &attribute) == nullptr;
}

/// The compiler's name and version, without options.
std::string_view compiler_of(Dwarf_Die& unit) {
    Dwarf_Attribute attribute;
    const char* text = dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attribute));
    const std::string_view all = text == nullptr ? std::string_view{} : text;
    return all.substr(0, all.find(" -"));
}

}  // namespace

Dwarf_Die underlying_type(Dwarf_Die type) {
    Dwarf_Die result{};
    return dwarf_peel_type(&type, &result) == 0 ? result : type;
}

Result<DebugTypes> DebugTypes::open(const std::string& path) {
    DebugTypes types;
    types.file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!types.file_.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot open {}: {}", path, system_error_text(errno)));
    }
    types.dwarf_.reset(dwarf_begin(types.file_.get(), DWARF_C_READ));
    if (types.dwarf_ == nullptr) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} has no DWARF ({}): build it with -g and do not strip it", path,
                                dwarf_errmsg(-1)));
    }
    RETURN_IF_ERROR(types.read_header(path));
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(types.dwarf_.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
        types.read_unit(die);
    }
    if (types.types_.empty()) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} has no types in its DWARF: build it with -g", path));
    }
    return types;
}

Result<void> DebugTypes::read_header(const std::string& path) {
    GElf_Ehdr header;
    if (gelf_getehdr(dwarf_getelf(dwarf_.get()), &header) == nullptr) {
        return fail(ErrorCode::kUnsupported, fmt::format("{} has no ELF header", path));
    }
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} is neither a program nor a shared library: give the linked "
                                "emulator (beam.smp)",
                                path));
    }
    word_bytes_ = header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
    const auto architecture = architecture_of_elf(header.e_machine);
    machine_ = architecture ? std::string(name_of(*architecture))
                            : fmt::format("ELF machine {}", header.e_machine);
    return {};
}

void DebugTypes::read_unit(Dwarf_Die unit) {
    if (compiler_.empty() && dwarf_srclang(&unit) != DW_LANG_Mips_Assembler) {
        compiler_ = compiler_of(unit);
    }
    Dwarf_Die die;
    if (dwarf_child(&unit, &die) != 0) {
        return;
    }
    do {
        const char* name = dwarf_diename(&die);
        if (name == nullptr) {
            continue;
        }
        switch (dwarf_tag(&die)) {
            case DW_TAG_structure_type:
            case DW_TAG_class_type:
                if (is_complete(die)) {
                    add(fmt::format("struct {}", name), die);
                }
                break;
            case DW_TAG_union_type:
                if (is_complete(die)) {
                    add(fmt::format("union {}", name), die);
                }
                break;
            case DW_TAG_typedef:
                add(name, die);
                break;
            default:
                break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

void DebugTypes::add(const std::string& name, const Dwarf_Die& die) {
    types_[name].push_back(die);
}

std::vector<Dwarf_Die> DebugTypes::definitions(std::string_view name) const {
    const auto found = types_.find(name);
    if (found == types_.end()) {
        return {};
    }
    std::vector<Dwarf_Die> result;
    for (const auto& die : found->second) {
        auto type = underlying_type(die);
        const auto tag = dwarf_tag(&type);
        const bool is_structure =
            tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
        if (is_structure && is_complete(type)) {
            result.push_back(type);
            continue;
        }
        // A typedef of a structure that is only declared in this unit: another unit may define it.
        const char* tag_name = is_structure ? dwarf_diename(&type) : nullptr;
        if (tag_name != nullptr) {
            const auto prefix = tag == DW_TAG_union_type ? "union" : "struct";
            const auto elsewhere = types_.find(fmt::format("{} {}", prefix, tag_name));
            if (elsewhere != types_.end()) {
                result.push_back(elsewhere->second.front());
            }
        }
    }
    return result;
}

}  // namespace beamdump::layout
