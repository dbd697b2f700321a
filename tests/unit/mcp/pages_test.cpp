#include <mcp/pages.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::test {
namespace {

using mcp::kPageBytes;
using mcp::Page;
using mcp::page_of;

std::vector<Page> pages_of(const std::string& answer) {
    std::vector<Page> pages;
    for (std::uint64_t number = 1;; ++number) {
        auto page = page_of(answer, number);
        if (!page) {
            break;
        }
        simdjson::dom::parser parser;
        EXPECT_EQ(parser.parse(page->json).error(), simdjson::SUCCESS) << page->json;
        EXPECT_LE(page->json.size(), kPageBytes + 1000);
        pages.push_back(*std::move(page));
    }
    return pages;
}

std::string rows(int count) {
    std::string text = R"({"schema":"s/1","total":)" + std::to_string(count) + R"(,"rows":[)";
    for (int at = 0; at < count; ++at) {
        text += fmt::format(R"({}{{"number":{},"name":"process number {}"}})", at == 0 ? "" : ",",
                            at, at);
    }
    return text + R"(],"last":true})";
}

TEST(McpPages, AShortAnswerIsOnePage) {
    const auto page = page_of("{\n  \"a\": [1, 2],\n  \"b\": {}\n}\n", 1);
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(page->json, R"({"a":[1,2],"b":{}})");
    EXPECT_EQ(page->pages, 1);
    EXPECT_EQ(page->other_bytes, 0);
    EXPECT_EQ(page->begins_at, "");
}

TEST(McpPages, APageHoldsWhatIsAskedFor) {
    const auto whole = page_of(rows(2000), 1, std::size_t{1} << 20U);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(whole->pages, 1);
    EXPECT_EQ(whole->json, rows(2000));
    const auto half = page_of(rows(2000), 1, 2 * kPageBytes);
    ASSERT_TRUE(half.has_value());
    EXPECT_GT(half->json.size(), kPageBytes + 1000);
    EXPECT_GT(half->pages, 1);
}

TEST(McpPages, PagesHaveAllRowsOnceAndInOrder) {
    const int count = 2000;
    const auto pages = pages_of(rows(count));
    ASSERT_GT(pages.size(), 3);
    std::int64_t next = 0;
    for (const Page& page : pages) {
        EXPECT_EQ(page.pages, pages.size());
        EXPECT_GT(page.other_bytes, 0);
        simdjson::dom::parser parser;
        const simdjson::dom::object answer = parser.parse(page.json);
        const simdjson::dom::array list = answer["rows"];
        if (page.number > 1) {
            EXPECT_EQ(page.begins_at, fmt::format("/rows/{}", next));
        }
        for (const simdjson::dom::element row : list) {
            EXPECT_EQ(row["number"].get_int64().value(), next++);
        }
        EXPECT_EQ(answer["schema"].error() == simdjson::SUCCESS, page.number == 1);
        EXPECT_EQ(answer["last"].error() == simdjson::SUCCESS, page.number == pages.size());
    }
    EXPECT_EQ(next, count);
}

TEST(McpPages, ALongTextIsDividedBetweenCharacters) {
    std::string text;
    while (text.size() < 50'000) {
        text += "añ€\"\n";
    }
    std::string joined;
    for (const Page& page : pages_of(text)) {
        simdjson::dom::parser parser;
        const simdjson::dom::object answer = parser.parse(page.json);
        joined += answer["text"].get_string().value();
    }
    EXPECT_EQ(joined, text);
}

TEST(McpPages, DeepAndWideObjectsAreDivided) {
    std::string deep;
    for (int at = 0; at < 200; ++at) {
        deep += fmt::format(R"({{"text":"{}","below":)", std::string(100, 'x'));
    }
    deep += "1" + std::string(200, '}');
    std::size_t texts = 0;
    const auto pages = pages_of(deep);
    EXPECT_GT(pages.size(), 1);
    for (const Page& page : pages) {
        for (auto at = page.json.find("xxxx\""); at != std::string::npos;
             at = page.json.find("xxxx\"", at + 1)) {
            ++texts;
        }
    }
    EXPECT_EQ(texts, 200);
    std::string wide = "{";
    for (int at = 0; at < 3000; ++at) {
        wide += fmt::format(R"({}"a/{}":{})", at == 0 ? "" : ",", at, at);
    }
    wide += "}";
    const auto of_wide = pages_of(wide);
    ASSERT_GT(of_wide.size(), 1);
    EXPECT_EQ(of_wide[1].begins_at.substr(0, 4), "/a~1");
}

TEST(McpPages, RefuseAnUnknownPage) {
    EXPECT_EQ(page_of("{}", 0).error().code, ErrorCode::kUsage);
    EXPECT_EQ(page_of("{}", 2).error().message, "there is no page 2: the answer has 1 page");
    EXPECT_TRUE(page_of("", 1).has_value());
}

}  // namespace
}  // namespace beamdump::test
