#include "dwarf/constants_object.h"

#include <libdump/base/bytes.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <span>

namespace beamdump::layout {
namespace {

constexpr std::string_view kConstantPrefix = "beamdump_layout_constant_";
constexpr std::string_view kTextPrefix = "beamdump_layout_text_";

struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfFile = std::unique_ptr<Elf, EndElf>;

std::unexpected<Error> bad(const std::string& path, std::string_view what) {
    return fail(ErrorCode::kUnsupported, fmt::format("{}: {}", path, what));
}

/// The bytes of a data symbol; empty if the file has none.
std::span<const std::byte> symbol_bytes(Elf* elf, const GElf_Sym& symbol, bool relocatable) {
    auto* section = elf_getscn(elf, symbol.st_shndx);
    GElf_Shdr header;
    if (section == nullptr || gelf_getshdr(section, &header) == nullptr) {
        return {};
    }
    const auto* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr || header.sh_type == SHT_NOBITS) {
        return {};
    }
    const auto offset = relocatable ? symbol.st_value : symbol.st_value - header.sh_addr;
    if (offset > data->d_size || data->d_size - offset < symbol.st_size) {
        return {};
    }
    return std::span(static_cast<const std::byte*>(data->d_buf), data->d_size)
        .subspan(offset, symbol.st_size);
}

Result<void> keep(std::string_view name, std::span<const std::byte> bytes, const std::string& path,
                  ConstantsObject& result) {
    if (name.starts_with(kConstantPrefix)) {
        const auto value = load<std::uint64_t>(bytes);
        if (!value || bytes.size() != sizeof(std::uint64_t)) {
            return bad(path, fmt::format("symbol {} does not hold 8 bytes of data", name));
        }
        result.constants.emplace_back(name.substr(kConstantPrefix.size()), *value);
    } else if (name.starts_with(kTextPrefix)) {
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        const auto end = text.find('\0');
        if (end == std::string_view::npos) {
            return bad(path, fmt::format("symbol {} holds no text", name));
        }
        result.texts.emplace_back(name.substr(kTextPrefix.size()), text.substr(0, end));
    }
    return {};
}

Result<void> read_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& table, bool relocatable,
                          const std::string& path, ConstantsObject& result) {
    auto* data = elf_getdata(section, nullptr);
    if (data == nullptr || table.sh_entsize == 0) {
        return bad(path, "its symbol table cannot be read");
    }
    const auto count = data->d_size / table.sh_entsize;
    for (std::size_t index = 0; index < count; ++index) {
        GElf_Sym symbol;
        if (gelf_getsym(data, static_cast<int>(index), &symbol) == nullptr) {
            return bad(path, fmt::format("symbol {} cannot be read", index));
        }
        const char* name = elf_strptr(elf, table.sh_link, symbol.st_name);
        if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT) {
            continue;
        }
        RETURN_IF_ERROR(keep(name, symbol_bytes(elf, symbol, relocatable), path, result));
    }
    return {};
}

}  // namespace

Result<ConstantsObject> read_constants(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot open {}: {}", path, system_error_text(errno)));
    }
    elf_version(EV_CURRENT);
    const ElfFile elf(elf_begin(file.get(), ELF_C_READ, nullptr));
    GElf_Ehdr header;
    if (elf == nullptr || gelf_getehdr(elf.get(), &header) == nullptr) {
        return bad(path, "not an ELF file");
    }
    if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_ident[EI_CLASS] != ELFCLASS64) {
        return bad(path, "only little-endian 64-bit files are read");
    }
    ConstantsObject result;
    for (auto* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
         section = elf_nextscn(elf.get(), section)) {
        GElf_Shdr table;
        if (gelf_getshdr(section, &table) == nullptr || table.sh_type != SHT_SYMTAB) {
            continue;
        }
        RETURN_IF_ERROR(
            read_symbols(elf.get(), section, table, header.e_type == ET_REL, path, result));
    }
    if (result.constants.empty()) {
        return bad(path, fmt::format("no symbol begins with {}: compile layout/constants.c",
                                     kConstantPrefix));
    }
    std::ranges::sort(result.constants);
    std::ranges::sort(result.texts);
    return result;
}

}  // namespace beamdump::layout
