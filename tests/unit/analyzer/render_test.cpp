#include "program.h"
#include "render/shared/json.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace beamdump::render {
namespace {

using test::KeptOutput;

TEST(Units, ChangesOfBytes) {
    EXPECT_EQ(byte_change_text(-2048), "-2.0 KiB");
    EXPECT_EQ(byte_change_text(0), "0 B");
    EXPECT_EQ(byte_change_text(std::numeric_limits<std::int64_t>::min()), "-8.0 EiB");
}

TEST(Units, ChangesOfCounts) {
    EXPECT_EQ(count_change_text(-1000), "-1,000");
}

TEST(Units, Durations) {
    EXPECT_EQ(duration_text(1500), "2 us");
    EXPECT_EQ(duration_text(9'500'000), "9.5 ms");
    EXPECT_EQ(duration_text(812'000'000), "812 ms");
    EXPECT_EQ(duration_text(1'250'000'000), "1.2 s");
    EXPECT_EQ(duration_text(61'000'000'000), "1 min 1 s");
    EXPECT_EQ(duration_text(3'660'000'000'000), "1 h 1 min");
    EXPECT_EQ(duration_text(90'000'000'000'000), "1 d 1 h");
}

TEST(Units, Times) {
    EXPECT_EQ(time_text(1'700'000'000'000'000), "2023-11-14 22:13:20 UTC");
}

TEST(Table, AlignsByCharactersNotBytes) {
    KeptOutput output;
    Table table({{"NAME"}, {"N", Align::kRight}});
    table.add({"\xC3\xA5\xC3\xA4", "1"});
    table.add({"abcdef", "100"});
    table.print(output, "> ");
    output.flush();
    EXPECT_EQ(output.text(), "> NAME      N\n> \xC3\xA5\xC3\xA4        1\n> abcdef  100\n");
}

TEST(CutText, CountsCharacters) {
    EXPECT_EQ(cut_text("abcdef", 6), "abcdef");
    EXPECT_EQ(cut_text("abcdefg", 6), "abc...");
    EXPECT_EQ(cut_text("\xC3\xA5\xC3\xA5\xC3\xA5\xC3\xA5\xC3\xA5", 4), "\xC3\xA5...");
    EXPECT_EQ(cut_text("abc", 2), "..");
}

TEST(Table, ShrinksColumnsThatMayAndCutsTheRest) {
    KeptOutput output(std::string::npos, 30);
    output.fit_terminal();
    Table table({{"ID"}, {"NAME", Align::kLeft, true}, {"N", Align::kRight}, {"TEXT"}});
    table.add({"<0.1.0>", "a_name_of_25_characters__", "1", "and_more"});
    table.print(output);
    output.flush();
    EXPECT_EQ(output.text(), "ID       NAME        N  TEXT\n<0.1.0>  a_name_...  1  and...\n");
}

TEST(Table, ShrinksNamesLast) {
    KeptOutput output(std::string::npos, 60);
    output.fit_terminal();
    Table table(
        {{"NAME", Align::kLeft, true}, {"N", Align::kRight}, {"FUNCTION", Align::kLeft, true}});
    table.add({"'Elixir.Catalog.Cache.Of.Prices'", "12", "'Elixir.Catalog.Cache':handle_info/2"});
    table.print(output);
    output.flush();
    EXPECT_THAT(
        output.text(),
        ::testing::HasSubstr("'Elixir.Catalog.Cache.Of.Prices'  12  'Elixir.Catalog.Cac...\n"))
        << output.text();
}

TEST(Json, EscapesAnyBytes) {
    EXPECT_EQ(json_escaped("a\"\\\n\x1B"), "a\\\"\\\\\\n\\u001B");
    // Bytes that make no character, alone and cut.
    EXPECT_EQ(json_escaped("\xFFx"), "\\u00FFx");
    EXPECT_EQ(json_escaped("\xE2\x80"), "\\u00E2\\u0080");
    EXPECT_EQ(json_escaped("\xE2\x80\xAE\xC3\xA5"), "\\u202E\xC3\xA5");
}

TEST(Json, WritesTextInPieces) {
    KeptOutput output;
    JsonWriter json(output, "beamdump.test/1");
    json.begin_text("text");
    json.text_piece("a\"b\\\n\x01\xC3");
    json.text_piece("\xA5");
    json.end_text();
    json.member("unknown", std::optional<std::uint64_t>());
    json.hex_member("address", 0xFF00);
    json.member("flag", true);
    json.member("change", std::int64_t{-5});
    json.finish();
    output.flush();
    EXPECT_EQ(output.text(),
              "{\n  \"schema\": \"beamdump.test/1\",\n"
              "  \"text\": \"a\\\"b\\\\\\n\\u0001\xC3\xA5\",\n"
              "  \"address\": \"0xff00\",\n  \"flag\": true,\n  \"change\": -5\n}\n");
}

TEST(Output, DropsEverythingAfterAFailure) {
    KeptOutput output(3);
    output.write("abc");
    output.flush();
    EXPECT_TRUE(output.ok());
    output.write("d");
    output.flush();
    EXPECT_FALSE(output.ok());
    output.write("e");
    output.flush();
    EXPECT_EQ(output.text(), "abc");
}

}  // namespace
}  // namespace beamdump::render
