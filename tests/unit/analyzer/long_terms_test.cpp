// Terms of any size in bounded memory.
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;

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

TEST(LongTerms, OfHeldAnswersAreCutAndMarkedSo) {
    Program program;
    program.put("endless.beamdump", endless_dump());
    const Ran ran =
        program.run({"process", "endless.beamdump", "alpha", "--term-bytes", "0", "--json"});
    EXPECT_LT(ran.out.size(), std::size_t{80} << 20U);
    EXPECT_GT(ran.out.size(), std::size_t{60} << 20U);
    EXPECT_THAT(ran.out.substr(ran.out.size() - 3000), HasSubstr("\"cut\": true"));
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
