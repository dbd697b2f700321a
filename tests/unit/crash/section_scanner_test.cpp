#include <libdump/crash/text/section_scanner.h>

#include <gtest/gtest.h>

#include <vector>

namespace beamdump::crash {
namespace {

constexpr std::string_view kText =
    "=erl_crash_dump:0.5\nSlogan: a=b\n=proc:<0.1.0>\nState: Waiting\n"
    "=proc_heap:<0.1.0>\n7F00:Yh2:YQ==\n7F08:t1:N\n=end\n";

struct Seen {
    std::string tag, argument;
    std::uint64_t begin, body, end;
    bool operator==(const Seen&) const = default;
};

std::vector<Seen> scan(std::string_view text, std::size_t piece) {
    std::vector<Seen> seen;
    SectionScanner scanner([&](const Section& section) -> Result<void> {
        seen.push_back({std::string(section.tag), std::string(section.argument), section.begin,
                        section.body, section.end});
        return {};
    });
    for (std::size_t next = 0; next < text.size(); next += piece) {
        EXPECT_TRUE(scanner.feed(text.substr(next, piece)));
    }
    EXPECT_TRUE(scanner.finish());
    EXPECT_EQ(scanner.bytes(), text.size());
    return seen;
}

TEST(SectionScanner, FindsEachSectionsLineAndBody) {
    const auto seen = scan(kText, kText.size());
    ASSERT_EQ(seen.size(), 4U);
    EXPECT_EQ(seen[0].tag, "erl_crash_dump");
    EXPECT_EQ(seen[0].argument, "0.5");
    EXPECT_EQ(kText.substr(seen[0].body, seen[0].end - seen[0].body), "Slogan: a=b\n");
    EXPECT_EQ(seen[1].argument, "<0.1.0>");
    EXPECT_EQ(kText.substr(seen[2].body, seen[2].end - seen[2].body), "7F00:Yh2:YQ==\n7F08:t1:N\n");
    EXPECT_EQ(seen[3].tag, "end");
    EXPECT_EQ(seen[3].argument, "");
    EXPECT_EQ(seen[3].body, kText.size());
}

TEST(SectionScanner, PiecesOfAnySizeGiveTheSame) {
    const auto whole = scan(kText, kText.size());
    for (std::size_t piece = 1; piece < kText.size(); ++piece) {
        EXPECT_EQ(scan(kText, piece), whole) << piece;
    }
}

TEST(SectionScanner, ACutAnywhereLeavesWhatIsBeforeIt) {
    const auto whole = scan(kText, kText.size());
    for (std::size_t cut = 1; cut < kText.size(); ++cut) {
        const auto seen = scan(kText.substr(0, cut), 7);
        ASSERT_LE(seen.size(), whole.size());
        for (std::size_t index = 0; index + 1 < seen.size(); ++index) {
            EXPECT_EQ(seen[index], whole[index]);
        }
        EXPECT_EQ(seen.back().end, cut);
        EXPECT_LE(seen.back().body, cut);
    }
}

TEST(SectionScanner, CarriageReturnsAreNoPartOfATag) {
    const auto seen = scan("=proc:<0.1.0>\r\nState: Waiting\r\n=end\r\n", 5);
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].argument, "<0.1.0>");
    EXPECT_EQ(seen[1].tag, "end");
}

TEST(SectionScanner, ALineWithoutEndIsBounded) {
    std::string text = "=mod:" + std::string(SectionScanner::kMaxHeader * 3, 'm');
    const auto seen = scan(text, 1000);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_LE(seen[0].argument.size(), SectionScanner::kMaxHeader);
    EXPECT_EQ(seen[0].end, text.size());
}

}  // namespace
}  // namespace beamdump::crash
