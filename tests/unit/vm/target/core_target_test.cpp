#include "support/core_builder.h"
#include "support/memory_file.h"

#include <libvm/target/core/core_arguments.h>
#include <libvm/target/core/core_target.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <fstream>

namespace beamdump::target {
namespace {

using test::CoreBuilder;
using test::MemoryFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kTargetPage = 4096;

Descriptor descriptor_of(const MemoryFile& file) {
    return Descriptor(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
}

std::string read_text(CoreMemory& memory, memory::Address address, std::size_t bytes) {
    std::string text(bytes, '?');
    auto done = memory.read(address, std::as_writable_bytes(std::span(text)));
    return done ? text : done.error().message;
}

/// Three pages of a file, of which the middle one holds zeros, and another file.
class CoreMemoryTest : public ::testing::Test {
  protected:
    CoreMemoryTest() : core_(bytes("a", "\0", "c")), other_(bytes("x", "y", "z")) {
        const auto first = memory_.add_file(descriptor_of(core_), "core");
        const auto second = memory_.add_file(descriptor_of(other_), "other");
        memory_.add({0x10000, 0x13000}, first, 0);
        memory_.add({0x12000, 0x15000}, second, 0);  // its first page is there already
    }
    static MemoryFile bytes(const char* one, const char* two, const char* three) {
        std::string text;
        for (const auto* letter : {one, two, three}) {
            text.append(kTargetPage, *letter);
        }
        return MemoryFile(std::as_bytes(std::span(text)));
    }

    MemoryFile core_;
    MemoryFile other_;
    CoreMemory memory_;
};

TEST_F(CoreMemoryTest, ReadsAcrossParts) {
    EXPECT_EQ(read_text(memory_, 0x10000, 2), "aa");
    EXPECT_EQ(read_text(memory_, 0x12fff, 2), "cy");
    EXPECT_EQ(read_text(memory_, 0x14ffe, 2), "zz");
    EXPECT_EQ(memory_.stats().bytes, 6U);
    EXPECT_EQ(memory_.stats().reads, 4U);
}

TEST_F(CoreMemoryTest, AMissingPageIsAnErrorAndNotZero) {
    memory_.explain_missing("the core was cut off");
    std::array<std::byte, 2> into{};
    for (const memory::Address address : {0xffffU, 0x15000U}) {
        const auto read = memory_.read_some(address, into);
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, ErrorCode::kUnmapped);
        EXPECT_THAT(read.error().message, HasSubstr("the core was cut off"));
    }
    EXPECT_EQ(memory_.read_some(0x14fff, into), 1U);
    core_.resize(kTargetPage);
    EXPECT_EQ(memory_.read_some(0x11000, into).error().code, ErrorCode::kUnmapped);
}

TEST_F(CoreMemoryTest, ZeroPagesAreAbsent) {
    const auto present = memory_.present({0x10800, 0x20000}).value();
    ASSERT_EQ(present.size(), 2U);
    EXPECT_EQ(present[0].begin, 0x10800U);
    EXPECT_EQ(present[0].end, 0x11000U);
    EXPECT_EQ(present[1].begin, 0x12000U);
    EXPECT_EQ(present[1].end, 0x15000U);
    EXPECT_TRUE(memory_.present({0x11000, 0x12000}).value().empty());
    EXPECT_TRUE(memory_.present({0x1000, 0x1000}).value().empty());
}

TEST_F(CoreMemoryTest, KnowsItsGaps) {
    const auto gaps = memory_.gaps({0xf000, 0x16000});
    ASSERT_EQ(gaps.size(), 2U);
    EXPECT_EQ(gaps[0].begin, 0xf000U);
    EXPECT_EQ(gaps[0].end, 0x10000U);
    EXPECT_EQ(gaps[1].begin, 0x15000U);
    EXPECT_TRUE(memory_.gaps({0x10000, 0x15000}).empty());
}

/// A stack as the kernel makes it, and the core that holds it.
class CoreArguments : public ::testing::Test {
  protected:
    static constexpr memory::Address kStack = 0x7f0000;
    static constexpr memory::Address kTexts = kStack + 2048;

    /// `count`: the word below the arguments.
    static std::string core(std::uint64_t count, const std::vector<std::uint64_t>& arguments) {
        const std::vector<std::pair<std::uint64_t, std::uint64_t>> auxiliary = {
            {AT_PHDR, 0x10040}, {AT_EXECFN, kTexts + 100}};
        std::string stack(100 * sizeof(std::uint64_t), '\x11');
        stack += CoreBuilder::bytes_of(count);
        for (const auto pointer : arguments) {
            stack += CoreBuilder::bytes_of(pointer);
        }
        stack += CoreBuilder::bytes_of(std::uint64_t{0});
        stack += CoreBuilder::bytes_of(kTexts + 50);  // environment
        stack += CoreBuilder::bytes_of(std::uint64_t{0});
        stack += CoreBuilder::auxiliary_bytes(auxiliary);
        stack.resize(kTexts - kStack);
        stack += std::string("beam.smp\0-setcookie\0a b\0", 24);
        stack.resize(kTargetPage);
        CoreBuilder builder;
        builder.process(7, "beam.smp", "beam.smp -setcookie a b")
            .auxiliary(auxiliary)
            .files({{0x10000, 0x11000, 0, "/no/such/beam.smp"}})
            .segment({kStack, kTargetPage, stack});
        return builder.build();
    }
    static Result<std::vector<std::string>> arguments(std::string_view bytes) {
        const MemoryFile file(std::as_bytes(std::span(bytes)));
        const auto core = CoreFile::open(file.path()).value();
        CoreMemory memory;
        const auto number = memory.add_file(descriptor_of(file), "core");
        const auto& segment = core.segments().front();
        memory.add({kStack, kStack + segment.here_bytes}, number, segment.file_offset);
        return arguments_on_stack(core, memory);
    }
};

TEST_F(CoreArguments, AreFoundOnTheStack) {
    EXPECT_THAT(arguments(core(3, {kTexts, kTexts + 9, kTexts + 20})).value(),
                ElementsAre("beam.smp", "-setcookie", "a b"));
}

TEST_F(CoreArguments, AreAbsentWhereTheStackIsAnother) {
    EXPECT_EQ(arguments(core(4, {kTexts, kTexts + 9, kTexts + 20})).error().code,
              ErrorCode::kAbsent);
    EXPECT_EQ(arguments(core(1, {0x1234})).error().code, ErrorCode::kUnmapped);
    const auto whole = core(1, {kTexts});
    EXPECT_EQ(
        arguments(std::string_view(whole).substr(0, whole.size() - kTargetPage + 100)).error().code,
        ErrorCode::kUnmapped);
}

/// A core whose program is a file, mapped at kProgram.
class CoreOf : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kProgram = 0x400000;

    static Result<std::unique_ptr<CoreTarget>> open(
        const std::string& path, const std::optional<std::filesystem::path>& executable) {
        std::string page(kTargetPage, '\0');
        std::ifstream("/proc/self/exe", std::ios::binary)
            .read(page.data(), static_cast<std::streamsize>(page.size()));
        CoreBuilder builder;
        builder.process(4242, "program", "program")
            .auxiliary({{AT_PHDR, kProgram + 64}})
            .files({{kProgram, kProgram + 16 * kTargetPage, 0, path}})
            .segment({kProgram, 16 * kTargetPage, page, PF_R});
        const auto bytes = builder.build();
        const MemoryFile file(std::as_bytes(std::span(bytes)));
        return CoreTarget::open(file.path(), executable);
    }
};

TEST_F(CoreOf, AnotherProgramIsNamed) {
    const auto self = std::filesystem::read_symlink("/proc/self/exe").native();
    const auto error = open(self, std::nullopt).error();
    EXPECT_EQ(error.code, ErrorCode::kNotABeam);
    EXPECT_THAT(error.message, HasSubstr(fmt::format("(process 4242) is a core of {}, not of an "
                                                     "Erlang VM",
                                                     self)));
}

TEST_F(CoreOf, AMissingExecutableIsNamed) {
    const auto error = open("/no/such/beam.smp", std::nullopt).error();
    EXPECT_EQ(error.code, ErrorCode::kNotFound);
    EXPECT_THAT(error.message, HasSubstr("is a core of /no/such/beam.smp"));
    EXPECT_THAT(error.message, HasSubstr("--exe"));
}

TEST_F(CoreOf, ANamedExecutableMustBeAVm) {
    EXPECT_EQ(open("/no/such/beam.smp", "/proc/self/exe").error().code, ErrorCode::kNotABeam);
    EXPECT_EQ(open("/no/such/beam.smp", "/no/such/file").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace beamdump::target
