#pragma once

#include <libdump/base/architecture.h>
#include <libdump/base/descriptor.h>
#include <libvm/memory/present_pages.h>
#include <libvm/target/process/threads.h>

#include <libelf.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// A PT_LOAD segment of a core: one mapping of the process.
struct CoreSegment {
    memory::AddressRange range;
    std::uint64_t file_offset = 0;
    std::uint64_t dumped_bytes = 0;  ///< from the range's start on, as the header says
    std::uint64_t here_bytes = 0;    ///< of those, what the file holds
    /// gdb's gcore marks as readable also what was closed to reading.
    bool readable = false;
    bool writable = false;
    bool executable = false;
};

/// An entry of NT_FILE: a mapping of a file, dumped or not.
struct CoreMappedFile {
    memory::AddressRange range;
    std::uint64_t file_offset = 0;
    std::string path;
};

/// NT_PRPSINFO.
struct CoreProcess {
    pid_t pid = 0;
    std::string name;       ///< at most 15 bytes
    std::string arguments;  ///< with blanks between, at most 79 bytes
};

/// NT_SIGINFO: the signal that ended the process, or that a debugger had stopped it by.
struct CoreSignal {
    int number = 0;
    int code = 0;                            ///< si_code (sigaction(2))
    std::optional<std::uint64_t> address{};  ///< si_addr, of a fault at a known address
    /// Who sent it, where a process did.
    std::optional<pid_t> sender{};
    std::optional<uid_t> sender_user{};
    /// Whether it ends a process with a core (signal(7)), and not a debugger's stop.
    [[nodiscard]] bool ends_process() const;
};

struct AuxiliaryValue {
    std::uint64_t type = 0;  ///< AT_PHDR, AT_ENTRY, ... (getauxval(3))
    std::uint64_t value = 0;
};

/// An ELF core of a process, as the kernel writes it (core(5), Linux' fs/binfmt_elf.c) or gdb's
/// gcore: headers and notes, read and checked; the memory stays in the file.
class CoreFile {
  public:
    /// kIo, kPermission. kNotABeam: no ELF file, or no core. kUnsupported: of another kind of
    /// machine, or without the notes that say which files were mapped (Linux before 3.7).
    /// kTruncated: cut off before the end of its headers or notes. kCorrupt: a bound does not hold.
    static Result<CoreFile> open(const std::filesystem::path& file);
    /// Reads the first bytes of a core, with all of its notes (read_core_head()): its memory is in
    /// no file. `name`: for sentences. Errors as open().
    static Result<CoreFile> of_head(std::vector<std::byte> head, const std::filesystem::path& name);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] const Descriptor& descriptor() const { return descriptor_; }
    [[nodiscard]] Architecture architecture() const { return architecture_; }
    /// Ascending; none overlaps another.
    [[nodiscard]] const std::vector<CoreSegment>& segments() const { return segments_; }
    /// Ascending; none overlaps another.
    [[nodiscard]] const std::vector<CoreMappedFile>& files() const { return files_; }
    [[nodiscard]] const std::vector<ThreadRegisters>& threads() const { return threads_; }
    [[nodiscard]] const CoreProcess& process() const { return process_; }
    /// Nothing: no note says it (gcore, Linux before 3.7).
    [[nodiscard]] const std::optional<CoreSignal>& signal() const { return signal_; }
    /// In their order on the stack, the final AT_NULL left out.
    [[nodiscard]] const std::vector<AuxiliaryValue>& auxiliary() const { return auxiliary_; }
    [[nodiscard]] std::optional<std::uint64_t> auxiliary(std::uint64_t type) const;
    /// Of a page of the process (AT_PAGESZ), which need not be this machine's. kLeastPageBytes
    /// where the core does not tell it, or tells what no page has.
    [[nodiscard]] std::uint64_t page_bytes() const;

    /// Bytes of memory that the headers promise: more than missing_bytes().
    [[nodiscard]] std::uint64_t dumped_bytes() const { return dumped_bytes_; }
    /// The part of those that the file ends before: it was cut off (ulimit -c, a full disk).
    [[nodiscard]] std::uint64_t missing_bytes() const { return missing_bytes_; }

  private:
    static Result<CoreFile> read(Elf* elf, std::uint64_t bytes, const std::filesystem::path& file);

    std::filesystem::path path_;
    Descriptor descriptor_;
    Architecture architecture_ = kOwnArchitecture;
    std::vector<CoreSegment> segments_;
    std::vector<CoreMappedFile> files_;
    std::vector<ThreadRegisters> threads_;
    CoreProcess process_;
    std::optional<CoreSignal> signal_;
    std::vector<AuxiliaryValue> auxiliary_;
    std::uint64_t dumped_bytes_ = 0;
    std::uint64_t missing_bytes_ = 0;
};

/// Reads a core from its begin to the end of its notes from a pipe, as the kernel writes it to the
/// handler of core_pattern (core(5)); what follows stays in the pipe. `head` gets what was read,
/// also where that is no core. kNotABeam, kTruncated, kCorrupt, kUnsupported: as CoreFile::open().
/// kIo.
Result<void> read_core_head(int pipe, std::vector<std::byte>& head);

}  // namespace beamdump::target
