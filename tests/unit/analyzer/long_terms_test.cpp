// Terms of any size in bounded memory.
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kLevels = 60;

/// `alpha` with a tuple of 2^60 leaves in 3 words a level, in its dictionary and its queue.
std::vector<std::byte> endless_dump() {
    SampleDump dump;
    SampleProcess process;
    process.name = kAlphaAtom;
    std::uint64_t term = atom_word(kLoopAtom);
    for (std::uint64_t level = 0; level < kLevels; ++level) {
        process.heap.insert(process.heap.end(), {tuple_header(2), term, term});
        term = boxed_word(heap_of(1) + level * 24);
    }
    process.heap.insert(process.heap.end(), {tuple_header(2), atom_word(kTrueAtom), term});
    process.dictionary = {boxed_word(heap_of(1) + kLevels * 24)};
    process.messages = {term};
    dump.add(process);
    return dump.finish();
}

TEST(LongTerms, StreamUntilTheReaderLeaves) {
    Program program;
    program.put("endless.beamdump", endless_dump());
    constexpr std::size_t kReaderTakes = 3U << 20U;
    for (const std::string command : {"dictionary", "messages"}) {
        for (const std::string form : {"--sensitive", "--json"}) {
            std::vector<std::string> arguments = {
                command, "endless.beamdump", "alpha", "--term-bytes", "0", form};
            if (command == "messages") {
                arguments.emplace_back("--no-histogram");
            }
            // Held, the text would take the memory of the machine.
            const Ran ran = program.run(arguments, kReaderTakes);
            EXPECT_GT(ran.out.size(), kReaderTakes / 2) << command << form;
            EXPECT_THAT(ran.out, HasSubstr("{{{{{{{{loop,loop},{loop,loop}}")) << command << form;
        }
    }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // which keeps what was freed, and shadows of all
#else
constexpr bool kSanitized = false;
#endif

/// Of this process so far.
std::size_t peak_memory() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    constexpr std::size_t kKilobyte = 1024;
    return static_cast<std::size_t>(usage.ru_maxrss) * kKilobyte;
}

TEST(LongTerms, LongTermsThatAnAnswerListsFirstAreStreamed) {
    Program program;
    program.put("endless.beamdump", endless_dump());
    // More than an answer may hold of its texts.
    constexpr std::size_t kReaderTakes = 80U << 20U;
    for (const std::string command : {"process", "heap"}) {
        for (const std::string form : {"--sensitive", "--json"}) {
            const auto before = peak_memory();
            const auto [text, taken] = program.run_counted(
                {command, "endless.beamdump", "alpha", "--term-bytes", "0", form}, kReaderTakes);
            EXPECT_GT(taken, kReaderTakes / 2) << command << form;
            EXPECT_THAT(text, HasSubstr("{{{{{{{{loop,loop},{loop,loop}}")) << command << form;
            EXPECT_THAT(text, Not(HasSubstr("\"cut\": true"))) << command << form;
            if (!kSanitized) {
                EXPECT_LT(peak_memory() - before, std::size_t{48} << 20U) << command << form;
            }
        }
    }
}

TEST(LongTerms, AreWholeWhereAnAnswerListsThem) {
    // A list of tuples, longer than what is held of a text, as a register, an entry, two messages.
    SampleDump dump;
    SampleProcess process;
    process.name = kAlphaAtom;
    constexpr std::uint64_t kItems = 30000;
    std::string expected;
    for (std::uint64_t i = 0; i < kItems; ++i) {
        process.heap.push_back(small_word(100000 + i));
        process.heap.push_back(i + 1 == kItems ? kNil : list_word(heap_of(1) + (i + 1) * 16));
        expected += (i == 0 ? "[" : ",") + std::to_string(100000 + i);
    }
    expected += "]";
    const auto list = list_word(heap_of(1));
    process.heap.insert(process.heap.end(), {tuple_header(2), atom_word(kTrueAtom), list});
    process.dictionary = {boxed_word(heap_of(1) + kItems * 16)};
    process.messages = {list, list};
    dump.add(process);
    Program program;
    program.put("long.beamdump", dump.finish());
    const auto ran = [&program](std::vector<std::string> arguments) {
        return program.run(std::move(arguments)).out;
    };
    const auto times = [&expected](const std::string& text) {
        std::size_t count = 0;
        for (auto at = text.find(expected); at != std::string::npos;
             at = text.find(expected, at + 1)) {
            ++count;
        }
        return count;
    };
    const std::string dump_name = "long.beamdump";
    EXPECT_EQ(times(ran({"process", dump_name, "alpha", "--term-bytes", "0"})), 3U);
    EXPECT_EQ(times(ran({"process", dump_name, "alpha", "--term-bytes", "0", "--json"})), 3U);
    EXPECT_THAT(ran({"process", dump_name, "alpha", "--term-bytes", "0"}),
                HasSubstr("\n  true  " + expected + "\n"));
    EXPECT_THAT(ran({"process", dump_name, "alpha", "--term-bytes", "100000"}),
                HasSubstr("  true  " + expected.substr(0, 100000) + "...\n"));
    for (const std::string form : {"--limit", "--json"}) {
        std::vector<std::string> arguments = {"heap", dump_name, "alpha", "--term-bytes", "0"};
        arguments.push_back(form);
        if (form == "--limit") {
            arguments.emplace_back("20");
        }
        EXPECT_GE(times(ran(arguments)), 4U) << form;
    }
}

TEST(LongTerms, ATextIsToldToBeTruncatedOnlyWithTheOptionForIt) {
    SampleDump dump;
    SampleProcess process;
    process.name = kAlphaAtom;
    constexpr std::uint64_t kItems = 300;
    for (std::uint64_t i = 0; i < kItems; ++i) {
        process.heap.push_back(small_word(100000 + i));
        process.heap.push_back(i + 1 == kItems ? kNil : list_word(heap_of(1) + (i + 1) * 16));
    }
    process.messages = {list_word(heap_of(1))};
    dump.add(process);
    Program program;
    program.put("long.beamdump", dump.finish());
    const auto said = [&program](std::vector<std::string> more) {
        std::vector<std::string> arguments = {"term", "long.beamdump", "alpha", "message 0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return program.run(std::move(arguments)).err;
    };
    EXPECT_EQ(said({}), "");
    EXPECT_EQ(said({"--json"}), "");
    EXPECT_THAT(said({"--term-bytes", "100"}),
                HasSubstr("the text was truncated to 100 bytes (--term-bytes)"));
    EXPECT_EQ(said({"--term-bytes", "0"}), "");
}

TEST(LongTerms, PiecesMakeTheSameTextAsAWholeOne) {
    // Longer than several pieces.
    SampleDump dump;
    SampleProcess process;
    process.name = kAlphaAtom;
    constexpr std::uint64_t kItems = 30000;
    for (std::uint64_t i = 0; i < kItems; ++i) {
        process.heap.push_back(atom_word(kQuotedAtom));
        process.heap.push_back(i + 1 == kItems ? kNil : list_word(heap_of(1) + (i + 1) * 16));
    }
    process.messages = {list_word(heap_of(1))};
    process.stack = {kNormalExit};
    dump.add(process);
    Program program;
    program.put("long.beamdump", dump.finish());
    std::string expected = "['Needs Quotes'";
    for (std::uint64_t i = 1; i < kItems; ++i) {
        expected += ",'Needs Quotes'";
    }
    expected += "]\n";
    const auto shown = [&](const std::string& bytes) {
        return program
            .run({"messages", "long.beamdump", "alpha", "--no-histogram", "--term-bytes", bytes})
            .out;
    };
    EXPECT_THAT(shown("0"), HasSubstr("  inner   " + expected));
    EXPECT_THAT(shown("100000"), HasSubstr("  inner   " + expected.substr(0, 100000) + "...\n"));
}

}  // namespace
}  // namespace beamdump::test
