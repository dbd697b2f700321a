#include "converted.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cstddef>

namespace beamdump::crash {
namespace {

using test::Converted;
using test::with_messages;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ConvertChoice kLazily{
    .heaps = ConvertChoice::Heaps::kOne, .process = "<0.9.1>", .level = 1, .lazily_from = 0};

TEST(LazyTerms, SayWhatTheWholeHeapSays) {
    const auto more = std::string(test::kBinary) + "=visible_node:8063\nName: 'you@there'\n";
    for (const int release : {25, 27, 29}) {
        const auto text = with_messages(release, test::kEveryKind, test::kHeap, more);
        Converted whole(text);
        Converted lazy(text, kLazily);
        EXPECT_EQ(lazy.messages("<0.9.1>"), whole.messages("<0.9.1>")) << release;
        EXPECT_TRUE(lazy.outcome().lazy_terms->met().empty());
    }
}

/// A list of records whose parts lie far from each other, and a tuple of many pages.
struct LargeHeap {
    static constexpr std::uint64_t kRecords = 40'000;
    static constexpr std::uint64_t kCells = 0x7F10'0000'0000;
    static constexpr std::uint64_t kTuples = 0x7F20'0000'0000;
    static constexpr std::uint64_t kWide = 0x7F30'0000'0000;
    static constexpr std::uint64_t kWideArity = 3000;

    static std::string lines() {
        std::string text;
        for (std::uint64_t number = 0; number < kRecords; ++number) {
            const auto tail = number + 1 == kRecords
                                  ? std::string("N")
                                  : fmt::format("H{:X}", kCells + (number + 1) * 16);
            text +=
                fmt::format("{:X}:lH{:X}|{}\n", kCells + number * 16, kTuples + number * 48, tail);
            text += fmt::format("{:X}:t3:A4:user,I{},H{:X}\n", kTuples + number * 48, number,
                                kTuples + number * 48 + 32);
            text += fmt::format("{:X}:lI{}|A{:x}:late{}\n", kTuples + number * 48 + 32, number,
                                fmt::formatted_size("late{}", number), number);
        }
        text += fmt::format("{:X}:t{:X}:", kWide, kWideArity);
        for (std::uint64_t element = 0; element < kWideArity; ++element) {
            text += fmt::format("{}I{}", element == 0 ? "" : ",", element);
        }
        return text + "\n";
    }
    static std::string messages() {
        return fmt::format("H{:X}:N\nH{:X}:N\nH{:X}:N\n", kTuples + 20'000 * 48, kWide, kCells);
    }
};

TEST(LazyTerms, AreThoseOfAHeapOfManyPartsAndPages) {
    const auto text = with_messages(27, LargeHeap::messages(), LargeHeap::lines());
    Converted whole(text);
    Converted lazy(text, kLazily);
    const auto texts = lazy.messages("<0.9.1>");
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts[0], "{user,20000,[20000|late20000]}");
    EXPECT_TRUE(texts[1].ends_with(",2998,2999}"));
    EXPECT_TRUE(texts[2].ends_with(",{user,39999,[39999|late39999]}]"));
    EXPECT_EQ(texts, whole.messages("<0.9.1>"));
}

TEST(LazyTerms, AreThoseOfHeapsOfAGivenSizeAndMore) {
    const auto text = with_messages(27, LargeHeap::messages(), LargeHeap::lines());
    auto choice = kLazily;
    choice.lazily_from = LargeHeap::lines().size();
    Converted lazy(text, choice);
    EXPECT_NE(lazy.outcome().lazy_terms, nullptr);
    EXPECT_FALSE(lazy.run("<0.9.1>").end.has_words_captured());
    ++choice.lazily_from;
    Converted whole(text, choice);
    EXPECT_EQ(whole.outcome().lazy_terms, nullptr);
    EXPECT_GT(whole.run("<0.9.1>").end.words_captured(), 3 * LargeHeap::kRecords);
    EXPECT_EQ(lazy.messages("<0.9.1>"), whole.messages("<0.9.1>"));
}

TEST(LazyTerms, ReadTheLinesThatTheyNeedAndThoseOnce) {
    const auto heap = LargeHeap::lines();
    Converted lazy(with_messages(27, LargeHeap::messages(), heap), kLazily);
    const auto run = lazy.run("<0.9.1>");
    const auto context = lazy.dump().context_of(run);
    const auto before = lazy.text().bytes_read();
    std::array<std::uint64_t, 4> tuple{};
    ASSERT_EQ(context->words(LargeHeap::kTuples + 20'000 * 48, tuple), tuple.size());
    const auto one = lazy.text().bytes_read() - before;
    EXPECT_GT(one, 0U);
    EXPECT_LT(one, heap.size() / 10);
    lazy.messages("<0.9.1>");
    const auto all = lazy.text().bytes_read() - before;
    EXPECT_LE(all, heap.size());
    lazy.messages("<0.9.1>");
    EXPECT_EQ(lazy.text().bytes_read() - before, all);
}

TEST(LazyTerms, CountWhatTermsLeadToAndTheTextHasNoSenseOf) {
    const auto text = with_messages(27, "H7FCA00000200:N\nH7FCA00000200:N\n",
                                    "7FCA00000200:t2:I9\n7FCA00000300:tI\nnonsense\n");
    Converted lazy(text, kLazily);
    auto& terms = *lazy.outcome().lazy_terms;
    EXPECT_TRUE(terms.met().empty());
    EXPECT_THAT(lazy.messages("<0.9.1>"), ElementsAre(HasSubstr("#Absent"), HasSubstr("#Absent")));
    EXPECT_EQ(terms.met().malformed, 1U);
    EXPECT_EQ(terms.met().first_malformed, text.find("7FCA00000200:t2"));
    // As the conversion of the text says.
    Converted whole(text);
    const auto end = whole.run("<0.9.1>").end;
    whole.dump().text_damage().tell_process(whole.dump().trailer(), end, false);
    EXPECT_TRUE(whole.dump().text_damage().counts().empty());
    whole.messages("<0.9.1>");
    EXPECT_EQ(whole.dump().text_damage().counts().sentences(), terms.met().sentences());
    // All of the heap, and all of the text.
    EXPECT_EQ(end.left_out().malformed(), 2U);
    EXPECT_EQ(end.heap_lines().malformed(), 1U);
    EXPECT_EQ(whole.dump().trailer().crash_text().malformed(), 3U);
}

TEST(LazyTerms, LeaveOutAnObjectWhoseLineGoesOn) {
    Converted lazy(with_messages(27, "H7FCA00000200:N\n", "7FCA00000200:lI1|N;lI2|N\n"), kLazily);
    EXPECT_THAT(lazy.messages("<0.9.1>"), ElementsAre(HasSubstr("#Absent")));
    EXPECT_EQ(lazy.outcome().lazy_terms->met().malformed, 1U);
}

TEST(LazyTerms, SayThatNoLineHasAWord) {
    Converted lazy(with_messages(27, "I1:N\n", "7FCA00000200:t1:I9\n"), kLazily);
    auto& terms = *lazy.outcome().lazy_terms;
    std::array<std::uint64_t, 2> words{};
    EXPECT_EQ(terms.words(0x7FCA00000200, words), 2U);
    EXPECT_EQ(terms.words(0x7FCA00000210, words).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(terms.words(0x7FCB00000000, words).error().code, ErrorCode::kUnmapped);
}

TEST(LazyTerms, GiveAnyPartOfABinary) {
    Converted lazy(with_messages(27, "I1:N\n", "", test::kBinary), kLazily);
    auto& terms = *lazy.outcome().lazy_terms;
    constexpr std::uint64_t kAddress = 0x7FCA00009000;
    const auto info = terms.binary_at(kAddress);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->size_bytes, 6U);
    EXPECT_EQ(info->captured_bytes, 6U);
    const std::string whole("\0\1\2abc", 6);
    for (std::size_t from = 0; from <= whole.size(); ++from) {
        for (std::size_t most = 1; most <= whole.size() + 2; ++most) {
            std::string bytes(most, '?');
            const auto got =
                terms.binary_bytes(kAddress, from, std::as_writable_bytes(std::span(bytes)));
            ASSERT_TRUE(got);
            EXPECT_EQ(bytes.substr(0, *got), whole.substr(from, most));
        }
    }
    EXPECT_EQ(terms.binary_at(kAddress + 8).error().code, ErrorCode::kAbsent);
}

/// Of how many bytes the whole conversion knows, and one without heaps; and what a message says of
/// a Binary whose text has another character than those of its bytes.
TEST(LazyTerms, HaveABinarysBytesUpToADamagedCharacter) {
    struct Case {
        std::string_view characters;
        std::uint64_t captured;
        std::string_view text;
    };
    for (const auto& [characters, captured, text] :
         {Case{"AAECYWJj", 6, "<<\"abc\">>"}, Case{"AAEC?WJj", 3, "#Bin<3 bytes>"},
          Case{"?AECYWJj", 0, "#Bin<3 bytes>"}}) {
        const auto dump =
            with_messages(27, "H7FCA00000400:N\n", "7FCA00000400:Yc7FCA00009000:3:3\n",
                          "=binary:7FCA00009000\n6:" + std::string(characters) + "\n");
        Converted whole(dump);
        Converted lazy(dump, kLazily);
        EXPECT_EQ(lazy.messages("<0.9.1>"), whole.messages("<0.9.1>")) << characters;
        EXPECT_THAT(whole.messages("<0.9.1>"), ElementsAre(text));
        EXPECT_EQ(lazy.outcome().lazy_terms->binary_at(0x7FCA00009000)->captured_bytes, captured);
        Converted none(dump, {.heaps = ConvertChoice::Heaps::kNone, .process = "", .level = 1});
        for (auto* made : {&whole, &none}) {
            EXPECT_EQ(made->dump().trailer().totals().binary_bytes_captured(), captured);
            EXPECT_EQ(made->dump().trailer().totals().binary_bytes(), 6U);
        }
        // Nobody has counted them.
        EXPECT_FALSE(lazy.dump().trailer().totals().has_binary_bytes_captured());
    }
}

TEST(LazyTerms, LackAnObjectThatAnotherOneWouldReachOver) {
    // A tuple of three elements up to the last word before, and over, a line without sense.
    for (const std::string_view tuple : {"7FCA00000200:t3:I1,I2,I3\n", "7FCA00000200:t1:I1\n"}) {
        const auto text = with_messages(27, "H7FCA00000210:N\nH7FCA00000200:N\n",
                                        std::string(tuple) + "7FCA00000210:t2:I9\n");
        Converted lazy(text, kLazily);
        Converted whole(text);
        const auto texts = whole.messages("<0.9.1>");
        EXPECT_EQ(lazy.messages("<0.9.1>"), texts);
        ASSERT_EQ(texts.size(), 2U);
        EXPECT_THAT(texts[0], HasSubstr("#Absent"));
        EXPECT_EQ(texts[1] == "{1}", tuple.contains("t1"));
    }
}

TEST(LazyTerms, KeepApartWhatLiteralsAndHeapMadeUpForABinary) {
    // The literals refer to Binaries just below and above the one that the heap refers to.
    const std::string more =
        "=binary:7FCA00009000\n6:AAECYWJj\n=binary:7FCA00009080\n3:YWJj\n"
        "=binary:7FCA00009040\n3:ZGVm\n"
        "=literals\n7FCB00000100:Yc7FCA00009000:0:3\n7FCB00000200:Yc7FCA00009080:0:3\n";
    const auto text = with_messages(27, "H7FCA00000400:N\nH7FCB00000200:N\n",
                                    "7FCA00000400:Yc7FCA00009040:0:3\n", more);
    for (const auto& choice : {ConvertChoice{}, kLazily}) {
        Converted made(text, choice);
        EXPECT_THAT(made.messages("<0.9.1>"), ElementsAre("<<\"def\">>", "<<\"abc\">>"));
    }
}

}  // namespace
}  // namespace beamdump::crash
