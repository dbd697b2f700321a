#include "support/core_builder.h"
#include "support/memory_file.h"

#include <libdump/base/page_size.h>
#include <libvm/target/core/core_file.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <functional>
#include <numeric>
#include <unistd.h>

namespace beamdump::target {
namespace {

using test::CoreBuilder;
using test::MemoryFile;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::uint64_t kPage = 4096;

Result<CoreFile> opened(std::string_view bytes) {
    const MemoryFile file(std::as_bytes(std::span(bytes)));
    return CoreFile::open(file.path());
}

Error refused(const CoreBuilder& builder) {
    auto core = opened(builder.build());
    return core ? Error{ErrorCode::kUsage, "was accepted"} : core.error();
}

/// Two segments, the higher one first, and all notes.
CoreBuilder small_core() {
    CoreBuilder builder;
    builder.process(4242, "beam.smp", "beam.smp -- -root /usr/lib/erlang")
        .thread(4242, 0x1000, 0x7ff0)
        .auxiliary({{AT_PHDR, 0x10040}, {AT_ENTRY, 0x10100}})
        .files({{0x20000, 0x21000, 3, "/lib/b.so"}, {0x10000, 0x12000, 0, "/bin/a"}})
        .note(NT_X86_XSTATE, "state", "LINUX")
        .thread(4243, 0x2000, 0x8ff0)
        .segment({0x40000, 2 * kPage, std::string(2 * kPage, 'b'), PF_R | PF_W})
        .segment({0x10000, 2 * kPage, std::string(kPage, 'a'), PF_R | PF_X});
    return builder;
}

TEST(CoreFile, ReadsSegmentsAndNotes) {
    const auto core = opened(small_core().build()).value();
    ASSERT_THAT(core.segments(), SizeIs(2));
    const auto& code = core.segments()[0];
    EXPECT_EQ(code.range.begin, 0x10000U);
    EXPECT_EQ(code.range.end, 0x12000U);
    EXPECT_EQ(code.dumped_bytes, kPage);
    EXPECT_EQ(code.here_bytes, kPage);
    EXPECT_TRUE(code.readable && code.executable && !code.writable);
    EXPECT_TRUE(core.segments()[1].writable);
    EXPECT_EQ(core.dumped_bytes(), 3 * kPage);
    EXPECT_EQ(core.missing_bytes(), 0U);

    EXPECT_EQ(core.process().pid, 4242);
    EXPECT_EQ(core.process().name, "beam.smp");
    EXPECT_EQ(core.process().arguments, "beam.smp -- -root /usr/lib/erlang");
    ASSERT_THAT(core.threads(), SizeIs(2));
    EXPECT_EQ(core.threads()[1].thread, 4243);
    EXPECT_EQ(core.threads()[1].instruction, 0x2000U);
    EXPECT_EQ(core.threads()[1].stack_pointer, 0x8ff0U);
    EXPECT_EQ(core.threads()[1].jit.process, 0x200dU);
    EXPECT_EQ(core.threads()[1].jit.heap_top, 0x200fU);
    EXPECT_EQ(core.auxiliary(AT_ENTRY), 0x10100U);
    EXPECT_EQ(core.auxiliary(AT_EXECFN), std::nullopt);
    ASSERT_THAT(core.files(), SizeIs(2));
    EXPECT_EQ(core.files()[0].path, "/bin/a");
    EXPECT_EQ(core.files()[1].path, "/lib/b.so");
    EXPECT_EQ(core.files()[1].file_offset, 3 * kPage);
}

std::array<std::uint64_t, 31> numbered(std::uint64_t first) {
    std::array<std::uint64_t, 31> x{};
    std::iota(x.begin(), x.end(), first);
    return x;
}

/// A core may be of a machine with other pages than this one's.
TEST(CoreFile, PagesAreThoseOfItsMachine) {
    const auto pages = [](std::vector<std::pair<std::uint64_t, std::uint64_t>> auxiliary) {
        CoreBuilder builder;
        builder.process(7, "beam.smp", "beam.smp").auxiliary(auxiliary).files({});
        return opened(builder.build()).value().page_bytes();
    };
    EXPECT_EQ(pages({{AT_PAGESZ, 4096}}), 4096U);
    EXPECT_EQ(pages({{AT_PAGESZ, 65536}}), 65536U);
    EXPECT_EQ(pages({{AT_ENTRY, 0x10100}}), kLeastPageBytes) << "it is not told";
    EXPECT_EQ(pages({{AT_PAGESZ, 0}}), kLeastPageBytes);
    EXPECT_EQ(pages({{AT_PAGESZ, 12288}}), kLeastPageBytes);
    EXPECT_EQ(pages({{AT_PAGESZ, 1U << 30U}}), kLeastPageBytes);
}

TEST(CoreFile, ReadsThreadsOfTheOtherArchitecture) {
    CoreBuilder builder;
    builder.header.e_machine = EM_AARCH64;
    builder.process(7, "beam.smp", "beam.smp")
        .aarch64_thread(7, numbered(1000), 0x7ff0, 0x1000, -1)
        .aarch64_thread(8, numbered(2000), 0x8ff0, 0x2000, 63)
        .files({{0x10000, 0x12000, 0, "/bin/a"}})
        .segment({0x10000, 2 * kPage, std::string(kPage, 'a'), PF_R | PF_X});
    const auto core = opened(builder.build()).value();
    EXPECT_EQ(core.architecture(), Architecture::kAarch64);
    ASSERT_THAT(core.threads(), SizeIs(2));
    const auto& runs = core.threads()[0];
    EXPECT_EQ(runs.thread, 7);
    EXPECT_EQ(runs.instruction, 0x1000U);
    EXPECT_EQ(runs.stack_pointer, 0x7ff0U);
    EXPECT_EQ(runs.jit.process, 1021U);
    EXPECT_EQ(runs.jit.stack_top, 1020U);
    EXPECT_EQ(runs.jit.heap_top, 1023U);
    EXPECT_FALSE(runs.in_system_call());
    ASSERT_THAT(runs.general(), SizeIs(32));
    EXPECT_EQ(runs.general()[30], 1030U);
    EXPECT_EQ(runs.general()[31], 0x7ff0U);
    const auto& waits = core.threads()[1];
    EXPECT_EQ(waits.system_call, 63);
    EXPECT_EQ(waits.first_argument, 2000U);
    EXPECT_EQ(opened(small_core().build())->architecture(), Architecture::kX86_64);
}

siginfo_t fault(int signal, int code, std::uint64_t address) {
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = code;
    info.si_addr = reinterpret_cast<void*>(address);
    return info;
}

TEST(CoreFile, TellsTheSignal) {
    auto builder = small_core();
    builder.signal(fault(SIGSEGV, SEGV_MAPERR, 0x10)).signal(fault(SIGBUS, BUS_ADRERR, 0x20));
    const auto core = opened(builder.build()).value();
    ASSERT_TRUE(core.signal());
    EXPECT_EQ(core.signal()->number, SIGSEGV);
    EXPECT_EQ(core.signal()->code, SEGV_MAPERR);
    EXPECT_EQ(core.signal()->address, 0x10U);
    EXPECT_EQ(core.signal()->sender, std::nullopt);
    EXPECT_TRUE(core.signal()->ends_process());
    EXPECT_EQ(opened(small_core().build())->signal(), std::nullopt);
}

/// The kernel does not tell the address of a general protection fault: the 0 that is there is none.
TEST(CoreFile, AFaultWithoutAddressHasNone) {
    const auto core = opened(small_core().signal(fault(SIGSEGV, SI_KERNEL, 0)).build()).value();
    EXPECT_EQ(core.signal()->address, std::nullopt);
}

TEST(CoreFile, ASignalThatWasSentHasASender) {
    siginfo_t info{};
    info.si_signo = SIGABRT;
    info.si_code = SI_TKILL;
    info.si_pid = 4242;
    info.si_uid = 1000;
    const auto core = opened(small_core().signal(info).build()).value();
    EXPECT_EQ(core.signal()->sender, 4242);
    EXPECT_EQ(core.signal()->sender_user, 1000U);
    EXPECT_EQ(core.signal()->address, std::nullopt);
}

TEST(CoreFile, ADebuggersStopEndsNothing) {
    const std::vector<std::pair<CoreSignal, bool>> signals = {
        {{.number = SIGSTOP, .code = SI_USER}, false},
        {{.number = SIGTRAP, .code = SI_USER}, false},
        {{.number = SIGTRAP, .code = SI_KERNEL}, true},
        {{.number = SIGILL, .code = ILL_ILLOPN}, true}};
    for (const auto& [signal, ends] : signals) {
        EXPECT_EQ(signal.ends_process(), ends) << signal.number << " " << signal.code;
    }
}

/// Both ends of a pipe.
class Pipe {
  public:
    Pipe() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        reading_ = Descriptor(ends[0]);
        writing_ = Descriptor(ends[1]);
    }
    /// As much as fits; closes the writing end.
    void fill(std::string_view bytes) {
        EXPECT_GT(::fcntl(writing_.get(), F_SETPIPE_SZ, 1 << 20), 0);
        EXPECT_EQ(::write(writing_.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        writing_ = Descriptor();
    }
    [[nodiscard]] int end() const { return reading_.get(); }

  private:
    Descriptor reading_, writing_;
};

TEST(CoreHead, IsReadFromAPipeAndTheRestStays) {
    const auto bytes = small_core().signal(fault(SIGSEGV, SEGV_MAPERR, 0x10)).build();
    Pipe pipe;
    pipe.fill(bytes);
    std::vector<std::byte> head;
    ASSERT_TRUE(read_core_head(pipe.end(), head));
    EXPECT_EQ(head.size(), bytes.size() - 3 * kPage);
    EXPECT_EQ(std::memcmp(head.data(), bytes.data(), head.size()), 0);
    std::string rest(bytes.size(), '?');
    const auto left = ::read(pipe.end(), rest.data(), rest.size());
    EXPECT_EQ(rest.substr(0, static_cast<std::size_t>(left)), bytes.substr(head.size()));
    const auto core = CoreFile::of_head(head, "piped").value();
    EXPECT_EQ(core.signal()->number, SIGSEGV);
    EXPECT_THAT(core.threads(), SizeIs(2));
    EXPECT_THAT(core.files(), SizeIs(2));
}

/// What was read of something else is kept: it is passed on.
TEST(CoreHead, KeepsWhatIsNoCore) {
    const auto whole = small_core().build();
    for (const auto& [bytes, code] : {std::pair{std::string(100, 'x'), ErrorCode::kNotABeam},
                                      std::pair{std::string("short"), ErrorCode::kTruncated},
                                      std::pair{whole.substr(0, 200), ErrorCode::kTruncated}}) {
        Pipe pipe;
        pipe.fill(bytes);
        std::vector<std::byte> head;
        const auto read = read_core_head(pipe.end(), head);
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, code) << read.error().message;
        std::string rest(bytes.size(), '?');
        const auto left = ::read(pipe.end(), rest.data(), rest.size());
        EXPECT_EQ(head.size() + static_cast<std::size_t>(std::max<ssize_t>(left, 0)), bytes.size());
        EXPECT_EQ(std::memcmp(head.data(), bytes.data(), head.size()), 0);
    }
}

/// The kernel says so of a process with more mappings than fit (PN_XNUM), and writes how many
/// behind the memory, which is never read.
TEST(CoreHead, ReadsTheNotesOfACoreWithManySegments) {
    auto bytes = small_core().build();
    const auto many = static_cast<std::uint16_t>(PN_XNUM);
    std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_phnum), &many, sizeof many);
    Pipe pipe;
    pipe.fill(bytes);
    std::vector<std::byte> head;
    ASSERT_TRUE(read_core_head(pipe.end(), head));
    EXPECT_EQ(std::memcmp(head.data(), bytes.data(), head.size()), 0);
    EXPECT_THAT(CoreFile::of_head(head, "piped")->threads(), SizeIs(2));
}

TEST(CoreFile, NotesMayStandAtTheEnd) {
    auto builder = small_core();
    builder.notes_last = true;
    const auto core = opened(builder.build()).value();
    EXPECT_THAT(core.threads(), SizeIs(2));
    EXPECT_THAT(core.files(), SizeIs(2));
}

TEST(CoreFile, SaysHowMuchIsMissing) {
    auto bytes = small_core().build();
    bytes.resize(bytes.size() - kPage - 100);
    const auto core = opened(bytes).value();
    EXPECT_EQ(core.missing_bytes(), kPage + 100);
    EXPECT_EQ(core.segments()[0].here_bytes, 0U);
    EXPECT_EQ(core.segments()[1].here_bytes, 2 * kPage - 100);
}

TEST(CoreFile, ACutIsSeenWhereverItIs) {
    for (const bool notes_last : {false, true}) {
        auto builder = small_core();
        builder.notes_last = notes_last;
        const auto whole = builder.build();
        std::size_t refusals = 0;
        for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
            const auto core = opened(std::string_view(whole).substr(0, bytes));
            if (core) {
                EXPECT_GT(core->missing_bytes(), 0U) << bytes;
                continue;
            }
            ++refusals;
            EXPECT_THAT(core.error().code,
                        ::testing::AnyOf(ErrorCode::kNotABeam, ErrorCode::kTruncated))
                << bytes << ": " << core.error().message;
        }
        EXPECT_GT(refusals, sizeof(Elf64_Ehdr));
        EXPECT_EQ(refusals == whole.size(), notes_last);
    }
}

TEST(CoreFile, RefusesOtherFiles) {
    EXPECT_THAT(opened("#!/bin/sh\n").error().message, HasSubstr("is not an ELF core"));
    EXPECT_EQ(opened("").error().code, ErrorCode::kNotABeam);
    EXPECT_THAT(CoreFile::open("/proc/self/exe").error().message,
                HasSubstr("an executable or a library, not a core"));
    EXPECT_EQ(CoreFile::open("/dev/null").error().code, ErrorCode::kNotABeam);
    const auto missing = CoreFile::open("/no/such/core");
    EXPECT_EQ(missing.error().code, ErrorCode::kIo);
    EXPECT_THAT(missing.error().message, HasSubstr("/no/such/core"));
}

TEST(CoreFile, RefusesOtherMachines) {
    auto builder = small_core();
    builder.header.e_machine = EM_RISCV;
    EXPECT_EQ(refused(builder).code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused(builder).message, HasSubstr("ELF machine 243"));
    // Threads of x86-64 are too short for aarch64.
    builder.header.e_machine = EM_AARCH64;
    EXPECT_EQ(refused(builder).code, ErrorCode::kCorrupt);
    EXPECT_THAT(refused(builder).message, HasSubstr("expected 392"));
    Elf32_Ehdr small{};
    std::memcpy(small.e_ident, builder.header.e_ident, sizeof small.e_ident);
    small.e_ident[EI_CLASS] = ELFCLASS32;
    small.e_type = ET_CORE;
    small.e_machine = EM_386;
    small.e_version = EV_CURRENT;
    small.e_ehsize = sizeof small;
    const auto error = opened(CoreBuilder::bytes_of(small)).error();
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr("32-bit"));
}

TEST(CoreFile, RefusesACoreThatDoesNotNameItsFiles) {
    CoreBuilder builder;
    builder.process(7, "old", "old").segment({0x1000, kPage, std::string(kPage, 'x')});
    EXPECT_EQ(refused(builder).code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused(builder).message, HasSubstr("no note of the files that old had mapped"));
}

TEST(CoreFile, RefusesWhatCannotBe) {
    const std::vector<std::pair<const char*, std::function<void(CoreBuilder&)>>> damages = {
        {"overlap",
         [](CoreBuilder& core) { core.segment({0x41000, kPage, std::string(kPage, 'o')}); }},
        {"impossible segment",  // more in the file than in memory
         [](CoreBuilder& core) { core.segment({0x90000, kPage, std::string(kPage + 1, 'o')}); }},
        {"impossible segment",  // beyond the end of addresses
         [](CoreBuilder& core) { core.segment({~std::uint64_t{0} - 10, kPage, "o"}); }},
    };
    for (const auto& [said, damage] : damages) {
        auto builder = small_core();
        damage(builder);
        EXPECT_EQ(refused(builder).code, ErrorCode::kCorrupt);
        EXPECT_THAT(refused(builder).message, HasSubstr(said));
    }
}

TEST(CoreFile, RefusesDamagedNotes) {
    const std::string count_too_large(CoreBuilder::bytes_of(std::uint64_t{1} << 60U) +
                                      std::string(40, '\0'));
    const std::vector<std::pair<std::uint32_t, std::string>> damages = {
        {NT_PRSTATUS, std::string(sizeof(elf_prstatus) - 1, '\0')},
        {NT_PRPSINFO, std::string(10, '\0')},
        {NT_FILE, std::string(15, '\0')},
        {NT_FILE, count_too_large}};
    for (const auto& [type, contents] : damages) {
        CoreBuilder builder;
        builder.note(type, contents).files({{0x1000, 0x2000, 0, "/bin/a"}});
        EXPECT_EQ(refused(builder).code, ErrorCode::kCorrupt) << type;
    }
    for (const auto& file : {CoreBuilder::File{0x2000, 0x1000, 0, "/bin/a"},
                             CoreBuilder::File{0x1000, 0x2000, ~std::uint64_t{0}, "/bin/a"}}) {
        EXPECT_EQ(refused(CoreBuilder().files({file})).code, ErrorCode::kCorrupt);
    }
    EXPECT_EQ(
        refused(CoreBuilder().files({{0x1000, 0x3000, 0, "/bin/a"}, {0x2000, 0x4000, 0, "/bin/b"}}))
            .code,
        ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace beamdump::target
