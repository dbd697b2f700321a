// Small crash dumps of testdata/crash_dumps, and what is right about each.
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KnownAnswers : public ::testing::Test {
  protected:
    /// What is said of the text, and of its conversion.
    std::vector<std::string> answers(const std::string& name, std::vector<std::string> words) {
        std::ifstream file(BEAMDUMP_TESTDATA "/crash_dumps/" + name, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_FALSE(text.empty()) << name;
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put("text.beamdump", std::vector(bytes, bytes + text.size()));
        EXPECT_EQ(
            program_.run({"convert", "text.beamdump", "-o", "made.beamdump", "--force"}).status, 0);
        std::vector<std::string> said;
        for (const std::string dump : {"text.beamdump", "made.beamdump"}) {
            auto arguments = words;
            arguments.insert(arguments.begin() + 1, dump);
            said.push_back(program_.run(arguments).out);
        }
        return said;
    }

    Program program_;
};

TEST_F(KnownAnswers, AFullAtomTableIsAFinding) {
    for (const auto& said : answers("full-atom-table.dump", {"summary"})) {
        EXPECT_THAT(said, HasSubstr("The atom table is 100% full (1,048,576 of 1,048,576 atoms)"));
        EXPECT_THAT(said, Not(HasSubstr("how many atoms the node may have")));
    }
    for (const auto& said : answers("full-atom-table.dump", {"atoms"})) {
        EXPECT_THAT(said, HasSubstr("1,048,576 atoms of at most 1,048,576, 100.0%"));
    }
}

}  // namespace
}  // namespace beamdump::test
