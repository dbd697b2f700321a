#include <libvm/fit/content.h>

#include <gtest/gtest.h>

#include <builtin_layouts.h>

namespace beamdump::fit {
namespace {

beam::StructLayout structure(const std::string& name, std::uint32_t bytes,
                             std::map<std::string, beam::Field, std::less<>> fields) {
    return {name, bytes, std::move(fields)};
}

Content content(beam::StructLayout body,
                std::map<std::string, std::uint64_t, std::less<>> numbers) {
    Content result;
    result.structs.emplace(body.name, std::move(body));
    result.constants = std::move(numbers);
    return result;
}

TEST(Parts, EveryStructureOfEveryReleaseIsInOnePartAndComesBackFromIt) {
    for (const auto& builtin : builtin_layouts()) {
        const auto layout = beam::Layout::parse(builtin.json).value();
        const auto parts = split(layout);
        std::size_t structures = 0;
        std::size_t constants = 0;
        for (const auto& part : parts) {
            structures += part.structs.size();
            constants += part.constants.size();
        }
        EXPECT_EQ(structures, layout.structures().size());
        EXPECT_EQ(constants, layout.constants().size());
        const auto again = compose("otp-1", "1", Architecture::kX86_64,
                                   "put together again from its parts", parts);
        ASSERT_TRUE(again) << again.error().message;
        const auto parts_again = split(*again);
        for (std::size_t part = 0; part < parts.size(); ++part) {
            EXPECT_TRUE(same(parts_again[part], parts[part])) << layout_parts()[part].name;
        }
    }
}

TEST(Agreed, IsWhatStandsAtTheSamePlace) {
    const auto one = content(structure("Moved", 16, {{"a", {0, 8}}, {"b", {8, 8}}}), {{"n", 1}});
    const auto other = content(structure("Moved", 24, {{"a", {0, 8}}, {"b", {16, 8}}}), {{"n", 1}});
    EXPECT_FALSE(agree(one, other));
    EXPECT_TRUE(agreed(one, other).structs.empty());
    EXPECT_EQ(agreed(one, other).constants.size(), 1U);
}

TEST(Agreed, TakesTheSmallerSizeOfAnArrayThatGrew) {
    const auto one = content(structure("Slots", 80, {{"data", {0, 80}}}), {});
    const auto other = content(structure("Slots", 112, {{"data", {0, 112}}}), {});
    ASSERT_TRUE(agree(one, other));
    const auto both = agreed(one, other).structs.at("Slots");
    EXPECT_EQ(both.bytes, 80U);
    EXPECT_EQ(both.fields.at("data").bytes, 80U);
}

TEST(Agreed, ANumberOfAnotherSizeIsAnotherNumber) {
    const auto one = content(structure("Counter", 8, {{"n", {0, 4}}}), {});
    const auto other = content(structure("Counter", 8, {{"n", {0, 8}}}), {});
    EXPECT_FALSE(agree(one, other));
}

TEST(Agreed, TheSizeOfAnArraysElementSaysWhereTheNextOneIs) {
    const auto one = content(structure("IndexTable", 128, {{"size", {108, 4}}}), {});
    const auto other = content(structure("IndexTable", 136, {{"size", {108, 4}}}), {});
    EXPECT_FALSE(agree(one, other));
}

TEST(Agreed, AnotherValueOfAConstantIsADifference) {
    const auto body = structure("Same", 8, {{"n", {0, 8}}});
    EXPECT_FALSE(agree(content(body, {{"flag", 1}}), content(body, {{"flag", 2}})));
    EXPECT_TRUE(agree(content(body, {{"flag", 1}}), content(body, {{"flag", 1}, {"more", 2}})));
}

}  // namespace
}  // namespace beamdump::fit
