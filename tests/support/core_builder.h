#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/procfs.h>
#include <sys/user.h>
#include <utility>
#include <vector>

namespace beamdump::test {

/// Makes small ELF cores: header, program headers, notes, then the segments' bytes one after
/// another, as the kernel does; or with the notes at the end, as gdb's gcore does.
class CoreBuilder {
  public:
    struct Segment {
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;  ///< in memory
        std::string dumped;       ///< from its begin on
        std::uint32_t flags = PF_R | PF_W;
    };
    struct File {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t pages = 0;  ///< into the file
        std::string path;
    };

    Elf64_Ehdr header = make_header();
    bool notes_last = false;

    CoreBuilder& segment(Segment segment) {
        segments_.push_back(std::move(segment));
        return *this;
    }
    CoreBuilder& note(std::uint32_t type, std::string_view contents,
                      std::string_view owner = "CORE") {
        const Elf64_Nhdr head{static_cast<Elf64_Word>(owner.size() + 1),
                              static_cast<Elf64_Word>(contents.size()), type};
        append(notes_, head);
        notes_.append(owner).append(1, '\0');
        notes_.append(padding(notes_.size()), '\0');
        notes_.append(contents);
        notes_.append(padding(notes_.size()), '\0');
        return *this;
    }
    CoreBuilder& thread(pid_t tid, std::uint64_t rip, std::uint64_t rsp) {
        elf_prstatus status{};
        status.pr_pid = tid;
        user_regs_struct registers{};
        registers.rip = rip;
        registers.rsp = rsp;
        registers.r13 = rip + 13;
        registers.r15 = rip + 15;
        std::memcpy(&status.pr_reg, &registers, sizeof registers);
        return note(NT_PRSTATUS, bytes_of(status));
    }
    /// Of a core of aarch64; what the kernel writes there of a thread, in its order.
    CoreBuilder& aarch64_thread(pid_t tid, const std::array<std::uint64_t, 31>& x, std::uint64_t sp,
                                std::uint64_t pc, std::int32_t system_call) {
        constexpr std::size_t kThreadAt = 32, kRegistersAt = 112, kBytes = 392;
        std::string status(kBytes, '\0');
        const std::array<std::uint64_t, 2> pointers = {sp, pc};
        std::memcpy(status.data() + kThreadAt, &tid, sizeof tid);
        std::memcpy(status.data() + kRegistersAt, x.data(), sizeof x);
        std::memcpy(status.data() + kRegistersAt + sizeof x, pointers.data(), sizeof pointers);
        return note(NT_PRSTATUS, status).note(NT_ARM_SYSTEM_CALL, bytes_of(system_call), "LINUX");
    }
    CoreBuilder& process(pid_t pid, std::string_view name, std::string_view arguments) {
        elf_prpsinfo info{};
        info.pr_pid = pid;
        name.copy(info.pr_fname, sizeof info.pr_fname);
        arguments.copy(info.pr_psargs, sizeof info.pr_psargs);
        return note(NT_PRPSINFO, bytes_of(info));
    }
    CoreBuilder& signal(const siginfo_t& info) { return note(NT_SIGINFO, bytes_of(info)); }
    CoreBuilder& auxiliary(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
        return note(NT_AUXV, auxiliary_bytes(entries));
    }
    CoreBuilder& files(const std::vector<File>& files, std::uint64_t page_bytes = 4096) {
        std::string contents;
        append(contents, std::uint64_t{files.size()});
        append(contents, page_bytes);
        for (const auto& file : files) {
            append(contents, file.begin);
            append(contents, file.end);
            append(contents, file.pages);
        }
        for (const auto& file : files) {
            contents.append(file.path).append(1, '\0');
        }
        return note(NT_FILE, contents);
    }

    [[nodiscard]] std::string build() const {
        auto head = header;
        head.e_phnum = static_cast<Elf64_Half>(segments_.size() + 1);
        std::string dumped;
        for (const auto& one : segments_) {
            dumped += one.dumped;
        }
        const std::uint64_t body = sizeof head + head.e_phnum * sizeof(Elf64_Phdr);
        const std::uint64_t notes_at = body + (notes_last ? dumped.size() : 0);
        std::uint64_t at = body + (notes_last ? 0 : notes_.size());
        std::string core;
        append(core, head);
        append(core, Elf64_Phdr{PT_NOTE, 0, notes_at, 0, 0, notes_.size(), 0, 4});
        for (const auto& one : segments_) {
            append(core, Elf64_Phdr{PT_LOAD, one.flags, at, one.address, 0, one.dumped.size(),
                                    one.bytes, 1});
            at += one.dumped.size();
        }
        return core + (notes_last ? dumped + notes_ : notes_ + dumped);
    }

    template <typename T>
    static std::string bytes_of(const T& value) {
        return {reinterpret_cast<const char*>(&value), sizeof value};
    }
    static std::string auxiliary_bytes(
        const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
        std::string contents;
        for (const auto& [type, value] : entries) {
            append(contents, type);
            append(contents, value);
        }
        contents.append(2 * sizeof(std::uint64_t), '\0');
        return contents;
    }

  private:
    static Elf64_Ehdr make_header() {
        Elf64_Ehdr head{};
        std::memcpy(head.e_ident, ELFMAG, SELFMAG);
        head.e_ident[EI_CLASS] = ELFCLASS64;
        head.e_ident[EI_DATA] = ELFDATA2LSB;
        head.e_ident[EI_VERSION] = EV_CURRENT;
        head.e_type = ET_CORE;
        head.e_machine = EM_X86_64;
        head.e_version = EV_CURRENT;
        head.e_phoff = sizeof head;
        head.e_ehsize = sizeof head;
        head.e_phentsize = sizeof(Elf64_Phdr);
        return head;
    }
    template <typename T>
    static void append(std::string& to, const T& value) {
        to.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    static std::size_t padding(std::size_t size) { return (4 - size % 4) % 4; }

    std::vector<Segment> segments_;
    std::string notes_;
};

}  // namespace beamdump::test
