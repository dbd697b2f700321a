#include "query/rows/row_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace beamdump::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::array<Column, 3> kColumns = {
    {{"name", "NAME"}, {"size", "SIZE", ColumnKind::kBytes}, {"busy", "BUSY", ColumnKind::kFlag}}};

Row row(const std::string& name, Cell size, Cell busy) {
    return {name, std::move(size), std::move(busy)};
}

std::vector<std::string> names(const RowQuery& query) {
    auto list = RowList::make(kColumns, query).value();
    list.add(row("b", std::uint64_t{20}, false));
    list.add(row("d", std::uint64_t{300}, true));
    list.add(row("a", std::monostate(), true));
    list.add(row("c", std::uint64_t{20}, std::monostate()));
    EXPECT_EQ(list.total(), 4U);
    std::vector<std::string> result;
    for (const Row& one : list.take()) {
        result.push_back(cell_text(one[0]));
    }
    return result;
}

TEST(RowList, SortsNumbersAndFlagsDescendingTextsAscendingAbsentLast) {
    EXPECT_THAT(names({.sort = "name", .filters = {}}), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(names({.sort = "size", .filters = {}}), ElementsAre("d", "b", "c", "a"));
    EXPECT_THAT(names({.sort = "busy", .filters = {}}), ElementsAre("d", "a", "b", "c"));
    EXPECT_THAT(names({.sort = "-size", .filters = {}}), ElementsAre("b", "c", "d", "a"));
    EXPECT_THAT(names({.sort = "size,-name", .filters = {}}), ElementsAre("d", "c", "b", "a"));
}

TEST(RowList, FiltersByAnyFieldOrByOne) {
    EXPECT_THAT(names({.sort = "name", .filters = {"20"}}), ElementsAre("b", "c"));
    EXPECT_THAT(names({.sort = "name", .filters = {"size=300"}}), ElementsAre("d"));
    EXPECT_THAT(names({.sort = "name", .filters = {"size~3"}}), ElementsAre("d"));
    EXPECT_THAT(names({.sort = "name", .filters = {"size<1K", "size > 20"}}), ElementsAre("d"));
    // What is not known is not unequal.
    EXPECT_THAT(names({.sort = "name", .filters = {"size!=20"}}), ElementsAre("d"));
    EXPECT_THAT(names({.sort = "name", .filters = {"busy!=true"}}), ElementsAre("b"));
    EXPECT_THAT(names({.sort = "name", .filters = {"name=20"}}), IsEmpty());
    EXPECT_THAT(names({.sort = "name", .filters = {"=20"}}), IsEmpty());
}

TEST(RowList, ModulesOfElixirAreFoundByBothFormsOfTheirNames) {
    const auto matching = [](const std::string& filter) {
        auto list = RowList::make(kColumns, {.sort = "name", .filters = {filter}}).value();
        list.add(row("'Elixir.Shop.Cart'", std::uint64_t{1}, false));
        list.add(row("'Elixir.Shop.Line'", std::uint64_t{2}, false));
        return list.matching();
    };
    EXPECT_EQ(matching("name=Shop.Cart"), 1U);
    EXPECT_EQ(matching("name='Elixir.Shop.Cart'"), 1U);
    EXPECT_EQ(matching("name!=Shop.Cart"), 1U);
    EXPECT_EQ(matching("name!='Elixir.Shop.Cart'"), 1U);
    EXPECT_EQ(matching("name~Elixir.Shop"), 2U);
    EXPECT_EQ(matching("Shop.Line"), 1U);
    EXPECT_EQ(matching("name=Cart"), 0U);
}

TEST(RowList, GroupsByValuesWithSums) {
    RowQuery query{.sort = "name", .filters = {}};
    query.group_by = {"busy"};
    auto list = RowList::make(kColumns, query).value();
    list.add(row("b", std::uint64_t{20}, false));
    list.add(row("d", std::uint64_t{300}, true));
    list.add(row("a", std::monostate(), true));
    list.add(row("c", std::uint64_t{500}, std::monostate()));
    EXPECT_EQ(list.matching(), 4U);
    EXPECT_EQ(list.group_count(), 3U);
    const auto texts = [](std::vector<RowGroup> groups) {
        std::vector<std::string> all;
        for (const auto& group : groups) {
            all.push_back(cell_text(group.values.at(0)) + " " + std::to_string(group.count) + " " +
                          cell_text(group.sums.at(1)));
        }
        return all;
    };
    EXPECT_THAT(texts(list.take_groups("name")), ElementsAre("true 2 300", " 1 500", "false 1 20"));
    query.sort = "size";
    query.limit = 2;
    auto by_size = RowList::make(kColumns, query).value();
    by_size.add(row("d", std::uint64_t{300}, true));
    by_size.add(row("a", std::monostate(), true));
    by_size.add(row("c", std::uint64_t{500}, false));
    by_size.add(row("c", std::monostate(), std::monostate()));
    EXPECT_THAT(texts(by_size.take_groups("name")), ElementsAre("false 1 500", "true 2 300"));
    query.group_by = {"colour"};
    EXPECT_EQ(RowList::make(kColumns, query).error().code, ErrorCode::kUsage);
}

TEST(RowList, KeepsAsManyAsTheLimit) {
    EXPECT_THAT(names({.sort = "size", .filters = {}, .limit = 1}), ElementsAre("d"));
    EXPECT_THAT(names({.sort = "size", .filters = {}, .limit = 3}), ElementsAre("d", "b", "c"));
    EXPECT_EQ(names({.sort = "size", .filters = {}, .limit = 0}).size(), 4U);
    auto list = RowList::make(kColumns, {.sort = "size", .filters = {"x"}, .limit = 5}).value();
    for (std::uint64_t number = 0; number < 1000; ++number) {
        list.add(row(number % 2 == 0 ? "x" : "y", number, false));
    }
    EXPECT_EQ(list.total(), 1000U);
    EXPECT_EQ(list.matching(), 500U);
    const auto rows = list.take();
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_EQ(cell_text(rows.front()[1]), "998");
    EXPECT_EQ(cell_text(rows.back()[1]), "990");
}

TEST(RowList, SaysWhereAWholeValueIsOnlyAPart) {
    auto list = RowList::make(kColumns, {.sort = "name", .filters = {"name=rab"}}).value();
    list.add(row("rabbit", std::uint64_t{1}, false));
    list.add(row("fox", std::uint64_t{1}, false));
    EXPECT_EQ(list.matching(), 0U);
    EXPECT_EQ(list.matching_in_other_case(), 0U);
    EXPECT_EQ(list.matching_anywhere(), 1U);
}

TEST(RowFilter, PatternsHaveAnyTextBetweenParts) {
    EXPECT_TRUE(has_pattern("rabbit_queue", "rab*que", Case::kMatters));
    EXPECT_TRUE(has_pattern("rabbit_queue", "", Case::kMatters));
    EXPECT_TRUE(has_pattern("rabbit", "bit*", Case::kMatters));
    EXPECT_FALSE(has_pattern("rabbit_queue", "que*rab", Case::kMatters));
    EXPECT_FALSE(has_pattern("rabbit", "rabbit*t", Case::kMatters));
    EXPECT_FALSE(has_pattern("rabbit", "RAB", Case::kMatters));
    EXPECT_TRUE(has_pattern("rabbit", "RAB*T", Case::kIgnored));
}

TEST(RowFilter, NamesOfColumnsMayHaveDigits) {
    EXPECT_EQ(split_filter("md5=01ab").column, "md5");
    EXPECT_EQ(split_filter("md5=01ab").value, "01ab");
    EXPECT_EQ(split_filter("5=x").column, "");
    EXPECT_EQ(split_filter("5=x").value, "5=x");
}

TEST(RowFilter, SharesAndAddressesAreNumbers) {
    constexpr std::array<Column, 2> kOf = {
        {{.name = "used", .title = "", .kind = ColumnKind::kTenths},
         {.name = "at", .title = "", .kind = ColumnKind::kAddress}}};
    const auto passes = [&](const char* filter) {
        return RowFilter::parse(kOf, filter)
            .value()
            .passes({std::uint64_t{905}, std::uint64_t{0x7f00}}, Case::kMatters);
    };
    EXPECT_TRUE(passes("used>90"));
    EXPECT_TRUE(passes("used<=90.5%"));
    EXPECT_FALSE(passes("used>90.5"));
    EXPECT_TRUE(passes("at=0x7f00"));
    EXPECT_TRUE(passes("at~7f0"));
    EXPECT_FALSE(RowFilter::parse(kOf, "used>9.05").has_value());
    EXPECT_FALSE(RowFilter::parse(kOf, "at=7f00").has_value());
}

TEST(RowList, NamesTheFieldsThatThereAre) {
    const auto sort = RowList::make(kColumns, {.sort = "sise", .filters = {}});
    ASSERT_FALSE(sort);
    EXPECT_EQ(sort.error().code, ErrorCode::kUsage);
    EXPECT_THAT(sort.error().message, HasSubstr("use name, size, busy; did you mean \"size\"?"));
    const auto filter = RowList::make(kColumns, {.sort = "size", .filters = {"nam=b"}});
    ASSERT_FALSE(filter);
    EXPECT_THAT(filter.error().message, HasSubstr("there is no field \"nam\""));
}

}  // namespace
}  // namespace beamdump::query
