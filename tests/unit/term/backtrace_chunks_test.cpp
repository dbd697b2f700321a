// What a resumable backtrace promises, whatever its terms: any pieces make the same text, nothing
// is cut, cursors do not disturb each other.

#include "print_term.h"

#include <libdump/term/backtrace_cursor.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

namespace beamdump::testing {
namespace {

class BacktraceChunksTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kStack = 0x7000'0000'0000;

    /// A process whose only frame holds this word in y(0).
    std::unique_ptr<BacktraceCursor> cursor(std::uint64_t word) {
        const std::uint64_t top = kStack + stacks_++ * 0x1000;
        context.add_region(top, {word, 0});
        return std::make_unique<BacktraceCursor>(
            context, otp25_scheme(),
            ProcessStack{.instruction = 0x1000, .top = top, .bottom = top + 16});
    }
    static std::string all_of(BacktraceCursor& cursor, std::size_t chunk) {
        std::string text;
        for (std::size_t got = 1; got != 0;) {
            const std::size_t before = text.size();
            got = cursor.next(chunk, text);
            EXPECT_EQ(text.size() - before, got);
            EXPECT_LE(got, chunk);
        }
        EXPECT_TRUE(cursor.done());
        return text;
    }
    /// Without the addresses of the stack, which differ from cursor to cursor.
    static std::string term_of(const std::string& text) {
        const std::size_t from = text.find("y(0)");
        return text.substr(from, text.find('\n', from) - from);
    }
    std::uint64_t some_term() {
        std::vector<std::uint64_t> users;
        for (int i = 0; i < 300; ++i) {
            users.push_back(b.tuple({b.atom("user"), TermBuilder::small(i),
                                     b.heap_binary("user " + std::to_string(i)),
                                     b.list({b.atom("a b"), TermBuilder::nil()})}));
        }
        return b.list(users);
    }

    FakeTermContext context;
    TermBuilder b{context};

  private:
    std::uint64_t stacks_ = 0;
};

TEST_F(BacktraceChunksTest, AChunkOfOneByteAndOneOfAnySizeMakeTheSameText) {
    const auto term = some_term();
    const std::string whole = term_of(all_of(*cursor(term), 1U << 20U));
    EXPECT_GT(whole.size(), 10'000U);
    std::mt19937 random(7);
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{2}, std::size_t{7},
                                    std::size_t{4095}, std::size_t{4096}, std::size_t{4097}}) {
        EXPECT_EQ(term_of(all_of(*cursor(term), chunk)), whole) << chunk;
    }
    auto ragged = cursor(term);
    std::string text;
    while (!ragged->done()) {
        ragged->next(1 + random() % 100, text);
    }
    EXPECT_EQ(term_of(text), whole);
}

TEST_F(BacktraceChunksTest, ATermLargerThanAnyChunkIsWhole) {
    const std::string bytes(3'000'000, 'x');
    const auto text = term_of(all_of(*cursor(b.refc_binary(bytes)), 1000));
    EXPECT_EQ(text, "y(0)     <<\"" + bytes + "\">>");
}

TEST_F(BacktraceChunksTest, NothingIsCutInAMillionLevels) {
    auto nested = TermBuilder::small(7);
    for (int i = 0; i < 1'000'000; ++i) {
        nested = i % 2 == 0 ? b.tuple({nested}) : b.list({nested});
    }
    const auto text = term_of(all_of(*cursor(nested), 1U << 16U));
    EXPECT_EQ(std::ranges::count(text, '{'), 500'000);
    EXPECT_EQ(std::ranges::count(text, '}'), 500'000);
    EXPECT_EQ(std::ranges::count(text, '['), 500'000);
    EXPECT_TRUE(text.ends_with("]}]"));
    EXPECT_EQ(text.find("..."), std::string::npos);
}

TEST_F(BacktraceChunksTest, SeveralAtOnceDoNotDisturbEachOther) {
    const auto term = some_term();
    const auto other = b.list(std::vector<std::uint64_t>(5000, b.atom("other")));
    const std::string one = term_of(all_of(*cursor(term), 1U << 20U));
    const std::string two = term_of(all_of(*cursor(other), 1U << 20U));
    std::vector<std::unique_ptr<BacktraceCursor>> cursors;
    std::vector<std::string> texts(8);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        cursors.push_back(cursor(i % 2 == 0 ? term : other));
    }
    for (bool more = true; more;) {
        more = false;
        for (std::size_t i = 0; i < cursors.size(); ++i) {
            more = cursors[i]->next(17 + i, texts[i]) != 0 || more;
        }
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(term_of(texts[i]), i % 2 == 0 ? one : two);
    }
}

TEST_F(BacktraceChunksTest, OneDroppedHalfWayLeavesTheNextToBeginAnew) {
    const auto term = some_term();
    const std::string whole = term_of(all_of(*cursor(term), 1U << 20U));
    for (int i = 0; i < 20; ++i) {
        auto dropped = cursor(term);
        std::string text;
        dropped->next(static_cast<std::size_t>(100 * i + 1), text);
    }
    EXPECT_EQ(term_of(all_of(*cursor(term), 100)), whole);
}

}  // namespace
}  // namespace beamdump::testing
