#include <mcp/message.h>
#include <mcp/pages.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::test {
namespace {

using mcp::json_string;
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
        EXPECT_LE(page->json.size() + json_string(page->begins_at).size(), kPageBytes);
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

TEST(McpPages, LongNamesOfWhatIsDividedAreCut) {
    const std::string name = "\\u0001" + std::string(5'000, 'n');
    const std::string value(4'000, 'v');
    const auto pages = pages_of(
        fmt::format(R"({{"rows":[{{"{}a":"{}","{}b":"{}"}}]}})", name, value, name, value));
    ASSERT_EQ(pages.size(), 1);
    simdjson::dom::parser parser;
    const simdjson::dom::element answer = parser.parse(pages.front().json);
    const simdjson::dom::object row = answer.at_pointer("/rows/0");
    ASSERT_EQ(row.size(), 2);
    for (int position = 0; const auto [cut, text] : row) {
        EXPECT_TRUE(cut.starts_with("\u0001nnn"));
        EXPECT_TRUE(cut.ends_with(fmt::format("n…{}", position++)));
        EXPECT_EQ(text.get_string().value(), value);
    }
}

TEST(McpPages, ControlCharactersCountAsTheyAreWritten) {
    std::string text;
    for (int at = 0; at < 20'000; ++at) {
        text += "\\u0001";
    }
    EXPECT_GT(pages_of(fmt::format(R"({{"text":"{}"}})", text)).size(), 10);
}

TEST(McpPages, NamesAndBracketsOfAllLevelsCount) {
    // Each value has ten levels of its own, which begin on its page.
    const std::string open = R"({"a rather long name of a level":)";
    std::string text = "[";
    for (int at = 0; at < 200; ++at) {
        text += at == 0 ? "" : ",";
        for (int level = 0; level < 10; ++level) {
            text += open;
        }
        text += "\"" + std::string(3'100, 'x') + "\"" + std::string(10, '}');
    }
    EXPECT_GT(pages_of(text + "]").size(), 50);
}

TEST(McpPages, RefuseWhatIsNestedTooDeep) {
    std::string deep;
    for (int at = 0; at < 900; ++at) {
        deep += R"({"a long name":)";
    }
    deep += "\"" + std::string(4'000, 'x') + "\"" + std::string(900, '}');
    const auto page = page_of(deep, 1);
    ASSERT_FALSE(page.has_value());
    EXPECT_EQ(page.error().code, ErrorCode::kLimit);
    EXPECT_THAT(page.error().message, testing::HasSubstr("nested too deep"));
}

TEST(McpPages, RefuseAnUnknownPage) {
    EXPECT_EQ(page_of("{}", 0).error().code, ErrorCode::kUsage);
    EXPECT_EQ(page_of("{}", 2).error().message, "there is no page 2: the answer has 1 page");
    EXPECT_TRUE(page_of("", 1).has_value());
}

}  // namespace
}  // namespace beamdump::test
