#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/arch/aarch64/registers.h>
#include <libvm/arch/x86_64/registers.h>
#include <libvm/target/core/core_file.h>
#include <libvm/target/image/elf_handle.h>

#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string_view>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

/// What the notes of a core say of its process.
struct CoreNotes {
    Architecture architecture = Architecture::kX86_64;
    std::vector<CoreMappedFile> files;
    std::vector<ThreadRegisters> threads;  ///< of NT_PRSTATUS
    CoreProcess process;
    std::optional<CoreSignal> signal;
    std::vector<AuxiliaryValue> auxiliary;
    bool has_files = false;
    bool has_process = false;
};

/// A value at an offset that is known to be inside; notes are aligned to 4 bytes only.
template <typename T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::unexpected<Error> too_short(std::string_view note, std::size_t bytes, std::size_t expected) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the core's note {} has {} bytes, expected {}", note, bytes, expected));
}

std::string text_of(std::span<const char> field) {
    return {field.begin(), std::ranges::find(field, '\0')};
}

/// A note's registers begin at the same place on both architectures, and its last word says whether
/// floating-point registers are in another note (struct elf_prstatus, Linux'
/// include/linux/elfcore.h).
template <typename KernelRegisters>
Result<KernelRegisters> kernel_registers(std::span<const std::byte> contents) {
    constexpr std::size_t kAt = 112;
    constexpr auto kBytes = kAt + sizeof(KernelRegisters) + sizeof(std::uint64_t);
    static_assert(offsetof(elf_prstatus, pr_reg) == kAt);
    if (contents.size() < kBytes) {
        return too_short("NT_PRSTATUS", contents.size(), kBytes);
    }
    return value_at<KernelRegisters>(contents, kAt);
}

Result<void> take_thread(std::span<const std::byte> contents, CoreNotes& notes) {
    constexpr std::size_t kThreadAt = 32;
    static_assert(offsetof(elf_prstatus, pr_pid) == kThreadAt);
    const auto take = [&]<typename Registers>(const Registers& registers, const auto& convert) {
        notes.threads.push_back(convert(value_at<pid_t>(contents, kThreadAt), registers));
    };
    if (notes.architecture == Architecture::kX86_64) {
        ASSIGN_OR_RETURN(const auto registers,
                         kernel_registers<arch::x86_64::KernelRegisters>(contents));
        take(registers, arch::x86_64::thread_registers);
    } else {
        ASSIGN_OR_RETURN(const auto registers,
                         kernel_registers<arch::aarch64::KernelRegisters>(contents));
        // The system call is in a note of its own, which follows.
        take(registers, [](pid_t thread, const arch::aarch64::KernelRegisters& all) {
            return arch::aarch64::thread_registers(thread, all, -1);
        });
    }
    return {};
}

/// Linux' arch/arm64/kernel/ptrace.c, system_call_get(): a number, -1 for none, of the thread whose
/// registers came before.
Result<void> take_system_call(std::span<const std::byte> contents, CoreNotes& notes) {
    if (contents.size() < sizeof(std::int32_t)) {
        return too_short("NT_ARM_SYSTEM_CALL", contents.size(), sizeof(std::int32_t));
    }
    if (!notes.threads.empty()) {
        arch::aarch64::set_system_call(notes.threads.back(), value_at<std::int32_t>(contents, 0));
    }
    return {};
}

Result<void> take_process(std::span<const std::byte> contents, CoreNotes& notes) {
    if (contents.size() < sizeof(elf_prpsinfo)) {
        return too_short("NT_PRPSINFO", contents.size(), sizeof(elf_prpsinfo));
    }
    const auto info = value_at<elf_prpsinfo>(contents, 0);
    notes.process = {info.pr_pid, text_of(info.pr_fname), text_of(info.pr_psargs)};
    notes.has_process = true;
    return {};
}

/// Faults of which si_addr is the address: by the kernel, with a code of their own (SI_KERNEL is
/// one without address: x86 does not tell that of a general protection fault).
bool has_address(int number, int code) {
    return (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE) &&
           code > 0 && code != SI_KERNEL;
}

Result<void> take_signal(std::span<const std::byte> contents, CoreNotes& notes) {
    if (contents.size() < sizeof(siginfo_t)) {
        return too_short("NT_SIGINFO", contents.size(), sizeof(siginfo_t));
    }
    const auto info = value_at<siginfo_t>(contents, 0);
    CoreSignal signal{.number = info.si_signo, .code = info.si_code};
    if (has_address(signal.number, signal.code)) {
        signal.address = reinterpret_cast<std::uint64_t>(info.si_addr);
    } else if (signal.code == SI_USER || signal.code == SI_TKILL || signal.code == SI_QUEUE) {
        signal.sender = info.si_pid;
        signal.sender_user = info.si_uid;
    }
    notes.signal = signal;
    return {};
}

void take_auxiliary(std::span<const std::byte> contents, CoreNotes& notes) {
    for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= contents.size();
         at += sizeof(Elf64_auxv_t)) {
        const auto entry = value_at<Elf64_auxv_t>(contents, at);
        if (entry.a_type == AT_NULL) {
            return;
        }
        notes.auxiliary.push_back({entry.a_type, entry.a_un.a_val});
    }
}

/// Count, page size, then begin, end and offset (in pages of that size) of each mapping, then
/// their paths one after another (fill_files_note of Linux' fs/binfmt_elf.c).
Result<void> take_files(std::span<const std::byte> contents, CoreNotes& notes) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    constexpr std::size_t kEntry = 3 * kWord;
    if (contents.size() < 2 * kWord) {
        return too_short("NT_FILE", contents.size(), 2 * kWord);
    }
    const auto count = value_at<std::uint64_t>(contents, 0);
    const auto page = value_at<std::uint64_t>(contents, kWord);
    const auto room = (contents.size() - 2 * kWord) / kEntry;
    if (count > room) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the core's note NT_FILE claims {} mappings, but has room for {}",
                                count, room));
    }
    const auto names = contents.subspan(2 * kWord + count * kEntry);
    std::string_view rest(reinterpret_cast<const char*>(names.data()), names.size());
    for (std::size_t index = 0; index < count; ++index) {
        const auto at = 2 * kWord + index * kEntry;
        CoreMappedFile file;
        file.range = {value_at<std::uint64_t>(contents, at),
                      value_at<std::uint64_t>(contents, at + kWord)};
        const auto pages = value_at<std::uint64_t>(contents, at + 2 * kWord);
        const auto end = rest.find('\0');
        if (end == std::string_view::npos || file.range.begin >= file.range.end ||
            __builtin_mul_overflow(pages, page, &file.file_offset)) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("impossible mapping {} of {} in the core's note NT_FILE: "
                                    "{:#x}-{:#x}, offset {} times {}",
                                    index, count, file.range.begin, file.range.end, pages, page));
        }
        file.path = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        notes.files.push_back(std::move(file));
    }
    notes.has_files = true;
    return {};
}

/// Takes the contents of one note of owner "CORE" into `notes`; those of other types are skipped.
/// The first NT_PRPSINFO, NT_SIGINFO, NT_AUXV and NT_FILE count. kCorrupt: a note is too short for
/// what it is, or says more than it holds.
Result<void> take_core_note(std::uint32_t type, std::span<const std::byte> contents,
                            CoreNotes& notes) {
    switch (type) {
        case NT_PRSTATUS:
            return take_thread(contents, notes);
        case NT_PRPSINFO:
            return notes.has_process ? Result<void>() : take_process(contents, notes);
        case NT_FILE:
            return notes.has_files ? Result<void>() : take_files(contents, notes);
        case NT_SIGINFO:
            return notes.signal ? Result<void>() : take_signal(contents, notes);
        case NT_AUXV:
            if (notes.auxiliary.empty()) {
                take_auxiliary(contents, notes);
            }
            return {};
        default:
            return {};
    }
}

// vm.max_map_count is 65,530 by default; a large node may have a million.
constexpr std::size_t kMaxSegments = 8'000'000;
// A thread's notes take about 3 KiB, a mapped file's about 100 bytes.
constexpr std::uint64_t kMaxNoteBytes = std::uint64_t{256} << 20U;

/// The parts of an open core that are taken from its headers.
struct Headers {
    std::vector<CoreSegment> segments;
    std::vector<GElf_Phdr> notes;
    std::uint64_t end = 0;  ///< how long the file should be at least
};

std::unexpected<Error> cut_short(const std::filesystem::path& file, std::uint64_t bytes,
                                 std::uint64_t expected, std::string_view what) {
    return fail(ErrorCode::kTruncated,
                fmt::format("{} is truncated: it has {} bytes of at least {}, {} are missing; "
                            "write the whole core (ulimit -c unlimited, enough disk space)",
                            file.native(), bytes, expected, what));
}

Result<GElf_Ehdr> checked_header(Elf* elf, const std::filesystem::path& file) {
    GElf_Ehdr header{};
    if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) {
        return fail(ErrorCode::kNotABeam, fmt::format("{} is not an ELF core", file.native()));
    }
    if (header.e_type != ET_CORE) {
        return fail(ErrorCode::kNotABeam,
                    fmt::format("{} is an ELF file, but {}, not a core", file.native(),
                                header.e_type == ET_EXEC || header.e_type == ET_DYN
                                    ? "an executable or a library"
                                    : "of another kind"));
    }
    const bool same_machine = header.e_ident[EI_CLASS] == ELFCLASS64 &&
                              header.e_ident[EI_DATA] == ELFDATA2LSB &&
                              architecture_of_elf(header.e_machine).has_value();
    if (!same_machine) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} is a core of a {}-bit process of ELF machine {}: only 64-bit "
                                "x86-64 and aarch64 are supported",
                                file.native(), header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64,
                                header.e_machine));
    }
    return header;
}

/// How many program headers the file should have. Where there are too many for the header's field,
/// the first section's header says so (elf(5), PN_XNUM), which a core cut off no longer has.
Result<std::size_t> header_count(Elf* elf, const GElf_Ehdr& header,
                                 const std::filesystem::path& file, std::uint64_t bytes) {
    std::size_t here = 0;
    const bool known = elf_getphdrnum(elf, &here) == 0;
    const auto table = header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
    if (header.e_phnum == PN_XNUM && (!known || here < PN_XNUM)) {
        return cut_short(file, bytes, std::max(table, header.e_shoff + sizeof(Elf64_Shdr)),
                         "parts of its headers");
    }
    if (!known || (header.e_phnum != PN_XNUM && here < header.e_phnum)) {
        return cut_short(file, bytes, table, "parts of its headers");
    }
    if (here > kMaxSegments) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("{} claims {} segments, which is more than any core has",
                                file.native(), here));
    }
    return here;
}

Result<CoreSegment> segment_of(const GElf_Phdr& header, const std::filesystem::path& file,
                               std::uint64_t bytes) {
    CoreSegment segment;
    segment.range = {header.p_vaddr, header.p_vaddr + header.p_memsz};
    segment.file_offset = header.p_offset;
    segment.dumped_bytes = header.p_filesz;
    const auto end = header.p_offset + header.p_filesz;
    if (segment.range.end < segment.range.begin || header.p_filesz > header.p_memsz ||
        end < header.p_offset) {
        return fail(
            ErrorCode::kCorrupt,
            fmt::format(
                "{}: impossible segment: {} bytes at {:#x}, {} of them at offset {} of the file",
                file.native(), header.p_memsz, header.p_vaddr, header.p_filesz, header.p_offset));
    }
    segment.here_bytes =
        header.p_offset >= bytes ? 0 : std::min(header.p_filesz, bytes - header.p_offset);
    segment.readable = (header.p_flags & PF_R) != 0;
    segment.writable = (header.p_flags & PF_W) != 0;
    segment.executable = (header.p_flags & PF_X) != 0;
    return segment;
}

Result<Headers> read_headers(Elf* elf, std::size_t count, const std::filesystem::path& file,
                             std::uint64_t bytes) {
    Headers headers;
    for (std::size_t index = 0; index < count; ++index) {
        GElf_Phdr header{};
        if (gelf_getphdr(elf, static_cast<int>(index), &header) == nullptr) {
            return fail(ErrorCode::kCorrupt, fmt::format("{}: header {} of {} cannot be read",
                                                         file.native(), index, count));
        }
        if (header.p_type == PT_NOTE) {
            headers.notes.push_back(header);
            headers.end = std::max(headers.end, header.p_offset + header.p_filesz);
        }
        if (header.p_type != PT_LOAD || header.p_memsz == 0) {
            continue;
        }
        ASSIGN_OR_RETURN(auto segment, segment_of(header, file, bytes));
        headers.end = std::max(headers.end, header.p_offset + header.p_filesz);
        headers.segments.push_back(segment);
    }
    return headers;
}

Result<void> read_notes(Elf* elf, const GElf_Phdr& segment, CoreNotes& notes) {
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(segment.p_offset),
                                          segment.p_filesz, ELF_T_NHDR);
    if (data == nullptr) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the core's notes, {} bytes at offset {}, cannot be read",
                                segment.p_filesz, segment.p_offset));
    }
    const std::span contents(static_cast<const std::byte*>(data->d_buf), data->d_size);
    constexpr std::string_view kOwner("CORE", sizeof "CORE");  // with its zero
    constexpr std::string_view kLinux("LINUX", sizeof "LINUX");
    GElf_Nhdr note{};
    std::size_t name_at = 0;
    std::size_t contents_at = 0;
    std::size_t at = 0;
    while ((at = gelf_getnote(data, at, &note, &name_at, &contents_at)) > 0) {
        const std::string_view owner(
            reinterpret_cast<const char*>(contents.subspan(name_at, note.n_namesz).data()),
            note.n_namesz);
        if (owner == kLinux && note.n_type == NT_ARM_SYSTEM_CALL &&
            notes.architecture == Architecture::kAarch64) {
            RETURN_IF_ERROR(take_system_call(contents.subspan(contents_at, note.n_descsz), notes));
        }
        if (owner != kOwner) {
            continue;
        }
        RETURN_IF_ERROR(
            take_core_note(note.n_type, contents.subspan(contents_at, note.n_descsz), notes));
    }
    return {};
}

Result<CoreNotes> read_all_notes(Elf* elf, Architecture architecture, const Headers& headers,
                                 const std::filesystem::path& file, std::uint64_t bytes) {
    CoreNotes notes;
    notes.architecture = architecture;
    for (const auto& segment : headers.notes) {
        if (segment.p_filesz > kMaxNoteBytes) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("{} claims {} bytes of notes, which is more than any core has",
                                    file.native(), segment.p_filesz));
        }
        if (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset) {
            return cut_short(file, bytes, headers.end, "its notes");
        }
        if (auto done = read_notes(elf, segment, notes); !done) {
            return wrap(file.native(), done.error());
        }
    }
    if (!notes.has_files) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format("{} has no note of the files that {} had mapped (NT_FILE, since Linux "
                        "3.7), so its executable cannot be found",
                        file.native(), notes.has_process ? notes.process.name : "its process"));
    }
    return notes;
}

/// Sorts by address. kCorrupt: one overlaps another.
template <typename Part>
Result<void> sort_parts(std::vector<Part>& parts, std::string_view what) {
    std::ranges::sort(parts, {}, [](const Part& part) { return part.range.begin; });
    const auto overlap = std::ranges::adjacent_find(
        parts, [](const Part& low, const Part& high) { return low.range.end > high.range.begin; });
    if (overlap != parts.end()) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("two {} of the core overlap: {:#x}-{:#x} and the one after it",
                                what, overlap->range.begin, overlap->range.end));
    }
    return {};
}

}  // namespace

bool CoreSignal::ends_process() const {
    static constexpr std::array kWithCore = {SIGQUIT, SIGILL,  SIGABRT, SIGBUS, SIGFPE,
                                             SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
    // A debugger's stop is a SIGTRAP too, with another code than that of the processor's.
    return std::ranges::find(kWithCore, number) != kWithCore.end() ||
           (number == SIGTRAP && code == SI_KERNEL);
}

Result<CoreFile> CoreFile::open(const std::filesystem::path& file) {
    Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!descriptor.valid() || ::fstat(descriptor.get(), &status) != 0) {
        const int error = errno;
        return fail(error == EACCES || error == EPERM ? ErrorCode::kPermission : ErrorCode::kIo,
                    fmt::format("cannot open {}: {}", file.native(), system_error_text(error)));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(
            ErrorCode::kNotABeam,
            fmt::format("{} is not a regular file: a core is read by seeking", file.native()));
    }
    elf_version(EV_CURRENT);
    const ElfHandle elf(elf_begin(descriptor.get(), ELF_C_READ, nullptr));
    auto core = read(elf.get(), static_cast<std::uint64_t>(status.st_size), file);
    if (core) {
        core->descriptor_ = std::move(descriptor);
    }
    return core;
}

Result<CoreFile> CoreFile::of_head(std::vector<std::byte> head, const std::filesystem::path& name) {
    // The number of more than 65,534 segments is behind the memory; the notes are the first one
    // (elf_core_dump(), Linux' fs/binfmt_elf.c).
    if (head.size() >= sizeof(Elf64_Ehdr)) {
        auto header = value_at<Elf64_Ehdr>(head, 0);
        header.e_phnum = header.e_phnum == PN_XNUM ? 1 : header.e_phnum;
        std::memcpy(head.data(), &header, sizeof header);
    }
    elf_version(EV_CURRENT);
    const ElfHandle elf(elf_memory(reinterpret_cast<char*>(head.data()), head.size()));
    return read(elf.get(), head.size(), name);
}

Result<CoreFile> CoreFile::read(Elf* elf, std::uint64_t bytes, const std::filesystem::path& file) {
    CoreFile core;
    core.path_ = file;
    ASSIGN_OR_RETURN(const auto header, checked_header(elf, file));
    ASSIGN_OR_RETURN(const auto count, header_count(elf, header, file, bytes));
    ASSIGN_OR_RETURN(auto headers, read_headers(elf, count, file, bytes));
    // checked_header() has seen that it is known.
    core.architecture_ = architecture_of_elf(header.e_machine).value_or(kOwnArchitecture);
    ASSIGN_OR_RETURN(auto notes, read_all_notes(elf, core.architecture_, headers, file, bytes));
    core.segments_ = std::move(headers.segments);
    core.files_ = std::move(notes.files);
    for (auto done :
         {sort_parts(core.segments_, "segments"), sort_parts(core.files_, "mapped files")}) {
        if (!done) {
            return wrap(file.native(), done.error());
        }
    }
    core.threads_ = std::move(notes.threads);
    core.process_ = std::move(notes.process);
    core.signal_ = notes.signal;
    core.auxiliary_ = std::move(notes.auxiliary);
    for (const auto& segment : core.segments_) {
        core.dumped_bytes_ += segment.dumped_bytes;
        core.missing_bytes_ += segment.dumped_bytes - segment.here_bytes;
    }
    return core;
}

namespace {

constexpr std::string_view kPipedCore = "the core from the kernel";

/// Reads on until `head` has `bytes` bytes.
Result<void> read_up_to(int pipe, std::uint64_t bytes, std::vector<std::byte>& head) {
    auto at = head.size();
    head.resize(std::max<std::size_t>(at, bytes));
    while (at < head.size()) {
        const auto got = ::read(pipe, head.data() + at, head.size() - at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            const int error = errno;
            head.resize(at);
            return got < 0
                       ? fail(ErrorCode::kIo, fmt::format("cannot read {}: {}", kPipedCore,
                                                          system_error_text(error)))
                       : fail(ErrorCode::kTruncated,
                              fmt::format("{} ends after {} bytes, before the end of its headers "
                                          "and notes ({})",
                                          kPipedCore, at, bytes));
        }
        at += static_cast<std::size_t>(got);
    }
    return {};
}

}  // namespace

Result<void> read_core_head(int pipe, std::vector<std::byte>& head) {
    head.clear();
    RETURN_IF_ERROR(read_up_to(pipe, sizeof(Elf64_Ehdr), head));
    auto header = value_at<Elf64_Ehdr>(head, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_CORE ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
        return fail(ErrorCode::kNotABeam, fmt::format("{} is no 64-bit ELF core", kPipedCore));
    }
    header.e_phnum = header.e_phnum == PN_XNUM ? 1 : header.e_phnum;
    const auto table = header.e_phnum * sizeof(Elf64_Phdr);
    if (header.e_phoff < sizeof header || header.e_phoff > kMaxNoteBytes) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("{} has its segments' headers at {}", kPipedCore, header.e_phoff));
    }
    RETURN_IF_ERROR(read_up_to(pipe, header.e_phoff + table, head));
    std::uint64_t end = head.size();
    for (std::size_t index = 0; index < header.e_phnum; ++index) {
        const auto segment =
            value_at<Elf64_Phdr>(head, header.e_phoff + index * sizeof(Elf64_Phdr));
        if (segment.p_type != PT_NOTE) {
            continue;
        }
        if (segment.p_offset > kMaxNoteBytes || segment.p_filesz > kMaxNoteBytes) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("{} claims {} bytes of notes at {}", kPipedCore,
                                    segment.p_filesz, segment.p_offset));
        }
        end = std::max(end, segment.p_offset + segment.p_filesz);
    }
    return read_up_to(pipe, end, head);
}

std::optional<std::uint64_t> CoreFile::auxiliary(std::uint64_t type) const {
    const auto found = std::ranges::find(auxiliary_, type, &AuxiliaryValue::type);
    return found == auxiliary_.end() ? std::nullopt : std::optional(found->value);
}

std::uint64_t CoreFile::page_bytes() const {
    constexpr std::uint64_t kMostPageBytes = 65536;  // of aarch64
    const auto told = auxiliary(AT_PAGESZ).value_or(0);
    const bool is_one =
        std::has_single_bit(told) && told >= kLeastPageBytes && told <= kMostPageBytes;
    return is_one ? told : kLeastPageBytes;
}

}  // namespace beamdump::target
