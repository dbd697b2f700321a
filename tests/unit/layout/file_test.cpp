#include "file/layout_diff.h"
#include "file/layout_file.h"
#include "file/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace beamdump::layout {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

LayoutFile small_layout() {
    LayoutFile result{"otp-9", "9", 8, "a \"test\"", {{"a_*", "a.h"}}, {{"a_b", ~0ULL}}, {}};
    result.structs = {{"Thing", {16, {{"u.next", {8, 8}}, {"size", {0, 4}}}}}, {"Bare", {1, {}}}};
    return result;
}

std::vector<LayoutFile> kept_layouts() {
    std::vector<LayoutFile> result;
    for (const auto& entry : std::filesystem::directory_iterator(BEAMDUMP_LAYOUTS)) {
        if (entry.path().filename().string().starts_with("otp-")) {
            auto layout = read_layout(entry.path().string());
            EXPECT_TRUE(layout) << layout.error().message;
            result.push_back(std::move(*layout));
        }
    }
    return result;
}

TEST(LayoutFile, IsWrittenAsItIsRead) {
    const auto json = layout_json(small_layout());
    const auto read = parse_layout(json);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_THAT(layout_diff(small_layout(), *read), IsEmpty());
    EXPECT_EQ(read->source, "a \"test\"");
    EXPECT_EQ(read->constants_source, (Named<std::string>{{"a_*", "a.h"}}));
    EXPECT_EQ(layout_json(*read), json);
    EXPECT_THAT(json, HasSubstr("\n        \"u.next\": {\"offset\": 8, \"bytes\": 8},\n"));
}

TEST(LayoutFile, RefusesWhatIsNoLayout) {
    const auto json = layout_json(small_layout());
    const auto with = [&](std::string_view from, std::string_view to) {
        auto text = json;
        text.replace(text.find(from), from.size(), to);
        return parse_layout(text);
    };
    EXPECT_FALSE(parse_layout(""));
    EXPECT_FALSE(parse_layout("[]"));
    EXPECT_FALSE(with("\"structs\"", "\"structures\""));
    EXPECT_FALSE(with("\"constants\"", "\"others\""));
    EXPECT_FALSE(with("18446744073709551615", "-1"));
    EXPECT_FALSE(with("\"bytes\": 16", "\"bytes\": 9999999999"));
    const auto outside = with("\"offset\": 8", "\"offset\": 9");
    ASSERT_FALSE(outside);
    EXPECT_THAT(outside.error().message, HasSubstr("Thing.u.next reaches beyond"));
}

TEST(LayoutFile, TheKeptOnesAreAsTheToolWritesThem) {
    const auto layouts = kept_layouts();
    ASSERT_GE(layouts.size(), 2U);
    for (const auto& layout : layouts) {
        const auto of = layout.architecture == "x86-64" ? "" : "-" + layout.architecture;
        EXPECT_EQ(layout.name, "otp-" + layout.otp_release + of);
        EXPECT_THAT(layout.source, HasSubstr("beamdump-layout")) << layout.name;
        EXPECT_GT(layout.structs.size(), 40U);
        EXPECT_GT(layout.constants.size(), 60U);
    }
}

TEST(Names, ListAllThatTheKeptLayoutsName) {
    const auto builtin = builtin_names();
    ASSERT_TRUE(builtin) << builtin.error().message;
    for (const auto& layout : kept_layouts()) {
        for (const auto& [name, structure] : layout.structs) {
            const auto* names = find(builtin->structures, name);
            ASSERT_NE(names, nullptr) << layout.name << ": " << name;
            for (const auto& [field, place] : structure.fields) {
                EXPECT_NE(find(names->fields, field), nullptr) << layout.name << ": " << field;
            }
        }
        for (const auto& [name, value] : layout.constants) {
            EXPECT_EQ(std::ranges::count(builtin->constants, name), 1)
                << layout.name << ": " << name;
        }
    }
}

TEST(Names, NamesOfALayoutAreAdded) {
    auto names = *parse_names(R"({"structures": {"Thing": {"types": ["struct thing"],
        "fields": {"size": ["u.size"]}}}, "constants": ["c"], "constants_source": {}})");
    add_names_of(small_layout(), names);
    ASSERT_EQ(names.structures.size(), 2U);
    const auto* thing = find(names.structures, "Thing");
    EXPECT_EQ(thing->types, std::vector<std::string>{"struct thing"});
    EXPECT_EQ(*find(thing->fields, "size"), std::vector<std::string>{"u.size"});
    EXPECT_EQ(*find(thing->fields, "u.next"), std::vector<std::string>{"u.next"});
    EXPECT_EQ(find(names.structures, "Bare")->types, std::vector<std::string>{"Bare"});
    EXPECT_EQ(names.constants, (std::vector<std::string>{"c", "a_b"}));
}

TEST(Names, RefusesWhatIsNone) {
    EXPECT_FALSE(parse_names("{}"));
    EXPECT_FALSE(parse_names(R"({"structures": {"T": {"types": "T", "fields": {}}},
        "constants": [], "constants_source": {}})"));
    EXPECT_FALSE(parse_names(R"({"structures": {"T": {"types": ["T"], "fields": {"a": [1]}}},
        "constants": [], "constants_source": {}})"));
}

}  // namespace
}  // namespace beamdump::layout
