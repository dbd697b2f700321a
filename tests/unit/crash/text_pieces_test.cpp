#include "crash_text.h"

#include <libdump/crash/text/text_pieces.h>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace beamdump::crash {
namespace {

using Sections = std::vector<std::pair<std::string, std::uint64_t>>;

SectionScanner::Visit into(Sections& sections) {
    return [&sections](const Section& section) -> Result<void> {
        sections.emplace_back(fmt::format("{}:{}", section.tag, section.argument), section.body);
        return {};
    };
}

TEST(TextPieces, GiveEverySectionWhereverAPieceEnds) {
    std::string text;
    for (std::size_t number = 0; text.size() < 5'000'000; ++number) {
        text += fmt::format("={}:{}\n", number % 2 == 0 ? "port" : "timer", number);
        text.append(number * 37 % 4000, number % 3 == 0 ? '=' : 'x');
        text += number % 5 == 0 ? "" : "\n";
        if (number % 5 == 0) {
            text += "==\n";
        }
    }
    Sections at_once;
    SectionScanner all(into(at_once));
    ASSERT_TRUE(all.feed(text));
    ASSERT_TRUE(all.finish());
    ASSERT_GT(at_once.size(), 1000U);

    const test::TextFile file(text);
    const auto source = file.source();
    Sections in_pieces;
    SectionScanner scanner(into(in_pieces));
    TextPieces pieces(source, {0, source.size()});
    std::size_t count = 0;
    for (auto piece = pieces.next(); piece && *piece; piece = pieces.next()) {
        ASSERT_TRUE(scanner.feed((*piece)->text, (*piece)->lines));
        ++count;
    }
    ASSERT_TRUE(scanner.finish());
    EXPECT_EQ(count, 5U);
    EXPECT_EQ(in_pieces, at_once);
}

TEST(TextPieces, EndWhereTheFileDoes) {
    const test::TextFile file(std::string(3'000'000, 'x'));
    const auto source = file.source();
    std::filesystem::resize_file(file.path(), 1'500'000);
    TextPieces pieces(source, {0, source.size()});
    std::uint64_t bytes = 0;
    for (auto piece = pieces.next(); piece && *piece; piece = pieces.next()) {
        bytes += (*piece)->text.size();
    }
    EXPECT_EQ(bytes, 1'500'000U);
}

TEST(TextPieces, MayBeLeftAtAnyTime) {
    const test::TextFile file(std::string(5'000'000, 'x'));
    const auto source = file.source();
    for (int wanted = 0; wanted < 4; ++wanted) {
        TextPieces pieces(source, {0, source.size()});
        for (int taken = 0; taken < wanted; ++taken) {
            const auto piece = pieces.next();
            ASSERT_TRUE(piece && *piece);
        }
    }
}

}  // namespace
}  // namespace beamdump::crash
