#include <libdump/crash/import/words/code_parser.h>

#include <gtest/gtest.h>

namespace beamdump::crash {
namespace {

TEST(CodeParser, ReadsFunctionsWithQuotedNames) {
    const auto plain = parse_function("lists:map/2 + 20)");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->module, "lists");
    EXPECT_EQ(plain->function, "map");
    EXPECT_EQ(plain->arity, 2U);
    EXPECT_EQ(plain->rest, " + 20)");
    const auto quoted = parse_function("'Elixir.GenServer':'-a/1-fun:0-'/3");
    ASSERT_TRUE(quoted);
    EXPECT_EQ(quoted->module, "Elixir.GenServer");
    EXPECT_EQ(quoted->function, "-a/1-fun:0-");
    const auto escaped = parse_function(R"('a\'b\\\n\003':c/0)");
    ASSERT_TRUE(escaped);
    EXPECT_EQ(escaped->module, "a'b\\\n\003");
    EXPECT_FALSE(parse_function("unknown function"));
    EXPECT_FALSE(parse_function("lists:map"));
    EXPECT_FALSE(parse_function("lists:map/256"));
    EXPECT_FALSE(parse_function("'lists:map/2"));
}

TEST(CodeParser, NotesWhereFunctionsStand) {
    Names names;
    EXPECT_EQ(note_code("0x00007f0012345678 (lists:map/2 + 24)", 0, names), 0x7F00'1234'5678);
    ASSERT_EQ(names.code().size(), 1U);
    const auto& functions = names.code().begin()->second;
    ASSERT_EQ(functions.size(), 1U);
    // From the function's ErtsCodeInfo to its ErtsCodeMFA are 16 bytes.
    EXPECT_EQ(functions.begin()->first, 0x7F00'1234'5678U - 24 - 16);
    EXPECT_EQ(functions.begin()->second.last, 0x7F00'1234'5678U);
}

TEST(CodeParser, CompletesAddressesOfWhichHalfWasPrinted) {
    Names names;
    EXPECT_EQ(note_code("0x12345678 (<terminate process normally>)", 0x7F00'1300'0000, names),
              0x7F00'1234'5678);
    EXPECT_EQ(names.code_points().at(0x7F00'1234'5678), "<terminate process normally>");
    // Beyond a border of 4 GiB.
    EXPECT_EQ(note_code("0xFFFFFFF0 (unknown function)", 0x7F01'0000'1000, names),
              0x7F00'FFFF'FFF0);
    EXPECT_EQ(note_code("0x10 (unknown function)", 0x7F00'FFFF'0000, names), 0x7F01'0000'0010);
    // Nothing is known to complete it by.
    EXPECT_EQ(note_code("0x12345678 (unknown function)", 0, names), 0x1234'5678);
    EXPECT_FALSE(note_code("nothing", 0, names));
}

}  // namespace
}  // namespace beamdump::crash
