#include <libvm/fit/variants.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace beamdump::fit {
namespace {

using Fields = std::map<std::string, beam::Field, std::less<>>;
using Constants = std::map<std::string, std::uint64_t, std::less<>>;

Content content(const std::string& from, std::uint32_t bytes, Fields fields,
                Constants constants = {}) {
    Content result;
    result.structs.emplace("Thing", beam::StructLayout{"Thing", bytes, std::move(fields)});
    result.constants = std::move(constants);
    result.from = from;
    return result;
}

const Content kLower = content(
    "otp-1", 24, {{"first", {0, 8}}, {"second", {8, 8}}, {"third", {16, 8}}}, {{"flag", 1}});
const Content kUpper = content(
    "otp-3", 40, {{"first", {0, 8}}, {"second", {24, 8}}, {"third", {32, 8}}}, {{"flag", 4}});

bool holds(const std::vector<Content>& list, const Content& wanted) {
    return std::ranges::any_of(list, [&](const Content& one) { return same(one, wanted); });
}

TEST(OfNeighbours, OneWhereTheyAgree) {
    EXPECT_EQ(of_neighbours({kLower, kLower}).size(), 1U);
    EXPECT_EQ(of_neighbours({kUpper}).size(), 1U);
}

TEST(OfNeighbours, BothAndEachsStructuresWithTheOthersConstants) {
    const auto list = of_neighbours({kUpper, kLower});
    ASSERT_EQ(list.size(), 4U);
    EXPECT_TRUE(same(list[0], kUpper));
    auto mixed = kUpper;
    mixed.constants = kLower.constants;
    EXPECT_TRUE(holds(list, mixed));
}

TEST(OfNeighbours, AConstantThatOnlyOneKnowsMakesNoDifference) {
    auto upper = kUpper;
    upper.constants = {{"flag", 1}, {"unheard_of", 7}};
    for (const auto& candidate : of_neighbours({upper, kLower})) {
        EXPECT_EQ(candidate.constants, kLower.constants);
    }
}

TEST(Shifted, FindsAMemberThatCameBetween) {
    const auto between = content(
        "", 32, {{"first", {0, 8}}, {"second", {16, 8}}, {"third", {24, 8}}}, {{"flag", 1}});
    const auto list = shifted({kUpper, kLower});
    EXPECT_TRUE(holds(list, between));
    const auto found =
        std::ranges::find_if(list, [&](const Content& one) { return same(one, between); });
    EXPECT_EQ(found->from, "otp-1, Thing of otp-3 with 8 bytes less before second");
}

TEST(Shifted, EachOnceAndNoneWhereFieldsOverlap) {
    const auto list = shifted({kUpper, kLower});
    for (auto one = list.begin(); one != list.end(); ++one) {
        EXPECT_TRUE(std::none_of(one + 1, list.end(),
                                 [&](const Content& other) { return same(*one, other); }));
        const auto& body = one->structs.at("Thing");
        EXPECT_LE(body.fields.at("first").offset + 8, body.fields.at("second").offset);
        EXPECT_LE(body.fields.at("second").offset + 8, body.fields.at("third").offset);
        EXPECT_LE(body.fields.at("third").offset + 8, body.bytes);
    }
    EXPECT_GT(list.size(), 20U);
}

TEST(WithTermSchemes, AddsThoseThatCanBeRead) {
    auto terms = kLower;
    terms.constants = {{"term_scheme", 1}};
    const auto list = with_term_schemes({terms});
    ASSERT_EQ(list.size(), 5U);
    EXPECT_EQ(list[1].constants.at("term_scheme"), 7U);
    EXPECT_EQ(list[2].constants.at("term_scheme"), 6U);
    EXPECT_EQ(list[2].from, "otp-1, term scheme 6");
    EXPECT_EQ(list[3].constants.at("term_scheme"), 2U);
    EXPECT_EQ(with_term_schemes({kLower}).size(), 1U);
}

}  // namespace
}  // namespace beamdump::fit
