#include <libdump/base/descriptor.h>
#include <libdump/base/page_size.h>
#include <libdump/base/system_error.h>
#include <libvm/target/image/elf_handle.h>
#include <libvm/target/image/elf_image.h>

#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <set>

namespace beamdump::target {
namespace {

using Symbols = std::map<std::string, Symbol, std::less<>>;
using memory::AddressRange;

// Far above any executable's; a file that says more is damaged.
constexpr std::size_t kMaxSymbols = 10'000'000;
constexpr std::size_t kMaxProgramHeaders = 10'000;

bool names_memory(const GElf_Sym& symbol) {
    const auto type = GELF_ST_TYPE(symbol.st_info);
    const bool kind = type == STT_OBJECT || type == STT_FUNC || type == STT_NOTYPE;
    return kind && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
           symbol.st_value != 0;
}

/// Adds one symbol table. Global names win over file-static ones; of file-static ones of the same
/// name none is better than the other, so they go to `ambiguous`.
void add_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::string_view table,
                 Symbols& symbols, std::set<std::string, std::less<>>& ambiguous) {
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) {
        return;
    }
    const auto count = std::min<std::size_t>(data->d_size / header.sh_entsize, kMaxSymbols);
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Sym entry{};
        if (gelf_getsym(data, static_cast<int>(i), &entry) == nullptr || !names_memory(entry)) {
            continue;
        }
        const char* name = elf_strptr(elf, header.sh_link, entry.st_name);
        if (name == nullptr || *name == '\0') {
            continue;
        }
        const Symbol symbol{entry.st_value, entry.st_size, table};
        if (GELF_ST_BIND(entry.st_info) != STB_LOCAL) {
            symbols.insert_or_assign(name, symbol);
            ambiguous.erase(name);
            continue;
        }
        const auto [known, added] = symbols.emplace(name, symbol);
        if (!added && known->second.address != symbol.address) {
            ambiguous.emplace(name);
        }
    }
}

Symbols read_symbols(Elf* elf) {
    Symbols locals_and_globals;
    std::set<std::string, std::less<>> ambiguous;
    // .dynsym last: it has globals only, which replace the same ones of .symtab.
    for (const auto& [type, table] : {std::pair{SHT_SYMTAB, "symtab"}, {SHT_DYNSYM, "dynsym"}}) {
        Elf_Scn* section = nullptr;
        while ((section = elf_nextscn(elf, section)) != nullptr) {
            GElf_Shdr header{};
            if (gelf_getshdr(section, &header) != nullptr &&
                header.sh_type == static_cast<GElf_Word>(type)) {
                add_symbols(elf, section, header, table, locals_and_globals, ambiguous);
            }
        }
    }
    for (const auto& name : ambiguous) {
        locals_and_globals.erase(name);
    }
    return locals_and_globals;
}

/// The GNU build id in a PT_NOTE segment; empty where it has none.
std::string build_id_in(Elf* elf, const GElf_Phdr& segment) {
    const auto type = segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(segment.p_offset),
                                          segment.p_filesz, type);
    if (data == nullptr) {
        return {};
    }
    GElf_Nhdr note{};
    std::size_t name_at = 0;
    std::size_t text_at = 0;
    std::size_t at = 0;
    while ((at = gelf_getnote(data, at, &note, &name_at, &text_at)) > 0) {
        const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
        const bool gnu =
            note.n_namesz == sizeof "GNU" && std::memcmp(bytes + name_at, "GNU", sizeof "GNU") == 0;
        if (!gnu || note.n_type != NT_GNU_BUILD_ID || note.n_descsz > 64) {
            continue;
        }
        std::string hex;
        for (std::size_t i = 0; i < note.n_descsz; ++i) {
            hex += fmt::format("{:02x}", bytes[text_at + i]);
        }
        return hex;
    }
    return {};
}

Segment segment_of(const GElf_Phdr& header) {
    return {header.p_type,  header.p_flags,  header.p_offset,
            header.p_vaddr, header.p_filesz, header.p_memsz};
}

/// The first bytes of an ELF file as libelf reads them.
class MemoryElf {
  public:
    // elf_memory() wants to be able to write, and does not as long as nothing is updated.
    explicit MemoryElf(std::span<const std::byte> head)
        : bytes_(reinterpret_cast<const char*>(head.data()),
                 reinterpret_cast<const char*>(head.data()) + head.size()) {
        elf_version(EV_CURRENT);
        elf_ = ElfHandle(elf_memory(bytes_.data(), bytes_.size()));
    }
    [[nodiscard]] Elf* get() const { return elf_.get(); }

    /// None if they are not all there.
    [[nodiscard]] std::vector<GElf_Phdr> program_headers() const {
        std::size_t count = 0;
        if (elf_ == nullptr || elf_kind(elf_.get()) != ELF_K_ELF ||
            elf_getphdrnum(elf_.get(), &count) != 0 || count > kMaxProgramHeaders) {
            return {};
        }
        std::vector<GElf_Phdr> headers(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (gelf_getphdr(elf_.get(), static_cast<int>(i), &headers[i]) == nullptr) {
                return {};
            }
        }
        return headers;
    }

  private:
    std::vector<char> bytes_;
    ElfHandle elf_;
};

/// The text at the start of .gnu_debuglink; a checksum follows it.
std::string read_debug_link(Elf* elf) {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return {};
    }
    Elf_Scn* section = nullptr;
    while ((section = elf_nextscn(elf, section)) != nullptr) {
        GElf_Shdr header{};
        const char* name = gelf_getshdr(section, &header) != nullptr
                               ? elf_strptr(elf, names, header.sh_name)
                               : nullptr;
        if (name == nullptr || std::string_view(name) != ".gnu_debuglink") {
            continue;
        }
        const Elf_Data* data = elf_rawdata(section, nullptr);
        if (data == nullptr || data->d_buf == nullptr) {
            return {};
        }
        const std::string_view text(static_cast<const char*>(data->d_buf), data->d_size);
        return std::string(text.substr(0, text.find('\0')));
    }
    return {};
}

}  // namespace

Result<ElfImage> ElfImage::open(const std::filesystem::path& file, std::uint64_t bias) {
    const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor.valid()) {
        const int error = errno;
        const bool forbidden = error == EACCES || error == EPERM;
        return fail(forbidden ? ErrorCode::kPermission : ErrorCode::kIo,
                    fmt::format("cannot open {}: {}", file.native(), system_error_text(error)));
    }
    elf_version(EV_CURRENT);
    const ElfHandle elf(elf_begin(descriptor.get(), ELF_C_READ, nullptr));
    std::size_t segments = 0;
    if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF ||
        elf_getphdrnum(elf.get(), &segments) != 0 || segments > kMaxProgramHeaders) {
        return fail(ErrorCode::kNotABeam,
                    fmt::format("{} is not an ELF executable", file.native()));
    }
    ElfImage image;
    if (GElf_Ehdr header{}; gelf_getehdr(elf.get(), &header) != nullptr) {
        image.entry_ = header.e_entry;
        const auto architecture = architecture_of_elf(header.e_machine);
        if (!architecture || header.e_ident[EI_CLASS] != ELFCLASS64) {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("{} is a {}-bit program of ELF machine {}: only 64-bit x86-64 "
                                    "and aarch64 are supported",
                                    file.native(), header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64,
                                    header.e_machine));
        }
        image.architecture_ = *architecture;
    }
    for (std::size_t i = 0; i < segments; ++i) {
        GElf_Phdr segment{};
        if (gelf_getphdr(elf.get(), static_cast<int>(i), &segment) == nullptr) {
            continue;
        }
        image.segments_.push_back(segment_of(segment));
        if (segment.p_type == PT_NOTE && image.build_id_.empty()) {
            image.build_id_ = build_id_in(elf.get(), segment);
        }
        const AddressRange range{segment.p_vaddr, segment.p_vaddr + segment.p_memsz};
        if (segment.p_type != PT_LOAD || range.end <= range.begin) {
            continue;
        }
        auto& kind = (segment.p_flags & PF_X) != 0   ? image.executable_
                     : (segment.p_flags & PF_W) != 0 ? image.writable_
                                                     : image.read_only_;
        kind.push_back(range);
    }
    // GNU ld puts constants into the code's segment on aarch64 (-z noseparate-code).
    if (image.read_only_.empty()) {
        image.read_only_ = image.executable_;
    }
    image.symbols_ = read_symbols(elf.get());
    image.debug_link_ = read_debug_link(elf.get());
    image.move_by(bias);
    return image;
}

std::optional<Symbol> ElfImage::symbol(std::string_view name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? std::nullopt : std::optional(found->second);
}

memory::Address ElfImage::begin() const {
    memory::Address lowest = ~memory::Address{0};
    for (const auto* kind : {&writable_, &read_only_, &executable_}) {
        for (const auto& range : *kind) {
            lowest = std::min(lowest, range.begin);
        }
    }
    return lowest / kLeastPageBytes * kLeastPageBytes;
}

void ElfImage::move_by(std::uint64_t bias) {
    entry_ += bias;
    for (auto& [name, symbol] : symbols_) {
        symbol.address += bias;
    }
    for (auto* kind : {&writable_, &read_only_, &executable_}) {
        for (auto& range : *kind) {
            range.begin += bias;
            range.end += bias;
        }
    }
}

std::string build_id_of(std::span<const std::byte> head) {
    const MemoryElf memory(head);
    for (const auto& header : memory.program_headers()) {
        if (header.p_type != PT_NOTE) {
            continue;
        }
        if (auto id = build_id_in(memory.get(), header); !id.empty()) {
            return id;
        }
    }
    return {};
}

std::vector<Segment> segments_of(std::span<const std::byte> head) {
    std::vector<Segment> segments;
    for (const auto& header : MemoryElf(head).program_headers()) {
        segments.push_back(segment_of(header));
    }
    return segments;
}

}  // namespace beamdump::target
