#include "fake_vm/fake_image.h"

#include "support/temporary_directory.h"

#include <array>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <stdexcept>

namespace beamdump::test {
namespace {

constexpr std::uint64_t kSymbolBytes = 8;

template <typename T>
void append(std::string& to, const T& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Elf64_Ehdr file_header(std::size_t segments, std::size_t sections, std::uint64_t sections_at) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_shoff = sections_at;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections);
    header.e_shstrndx = 1;
    return header;
}

Elf64_Shdr section(Elf64_Word name, Elf64_Word type, std::uint64_t at, const std::string& contents,
                   Elf64_Word link, std::uint64_t entry_bytes) {
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = type;
    header.sh_offset = at;
    header.sh_size = contents.size();
    header.sh_link = link;
    header.sh_addralign = 1;
    header.sh_entsize = entry_bytes;
    return header;
}

std::string file_of(const ImagePlan& plan) {
    std::string programs;
    std::size_t segments = 0;
    const auto add = [&](const std::vector<memory::AddressRange>& ranges, Elf64_Word flags) {
        for (const auto& range : ranges) {
            append(programs, Elf64_Phdr{PT_LOAD, flags, 0, range.begin, 0, 0, range.bytes(), 1});
            ++segments;
        }
    };
    add(plan.read_only, PF_R);
    add(plan.writable, PF_R | PF_W);
    add(plan.executable, PF_R | PF_X);

    // One table of strings: the names of symbols and of the two sections that hold something.
    std::string strings(1, '\0');
    const auto name_of = [&](std::string_view text) {
        const auto at = static_cast<Elf64_Word>(strings.size());
        strings.append(text).append(1, '\0');
        return at;
    };
    const auto strings_name = name_of(".strtab");
    const auto symbols_name = name_of(".symtab");
    std::string symbols;
    append(symbols, Elf64_Sym{});
    for (const auto& [name, address] : plan.symbols) {
        append(symbols, Elf64_Sym{name_of(name), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1,
                                  address, kSymbolBytes});
    }
    const std::uint64_t strings_at = sizeof(Elf64_Ehdr) + programs.size();
    const std::uint64_t symbols_at = strings_at + strings.size();
    std::string sections;
    append(sections, Elf64_Shdr{});
    append(sections, section(strings_name, SHT_STRTAB, strings_at, strings, 0, 0));
    const std::size_t count = plan.symbols.empty() ? 2 : 3;
    if (!plan.symbols.empty()) {
        append(sections,
               section(symbols_name, SHT_SYMTAB, symbols_at, symbols, 1, sizeof(Elf64_Sym)));
    }
    std::string file;
    append(file, file_header(segments, count, symbols_at + symbols.size()));
    return file + programs + strings + symbols + sections;
}

}  // namespace

target::ElfImage make_image(const ImagePlan& plan) {
    const TemporaryDirectory directory;
    const auto path = directory.path() / "beam.smp";
    std::ofstream(path, std::ios::binary) << file_of(plan);
    auto image = target::ElfImage::open(path, 0);
    if (!image) {
        throw std::logic_error(image.error().message);
    }
    return std::move(*image);
}

}  // namespace beamdump::test
