#include "capture/secrets/secret_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace beamdump::capture {
namespace {

constexpr std::string_view kSecret = "TOPSECRETCOOKIE";
constexpr memory::Address kWords = 0x10000;
constexpr std::uint64_t kNil = 0x3b;

SecretTexts with_secret() {
    SecretTexts texts;
    texts.add(kSecret);
    return texts;
}

std::uint64_t small(char32_t character) {
    return std::uint64_t{character} << 4U | 0xfU;
}

/// A list of the text whose cells stand so many words apart, from `first` on in `words`.
void put_list(std::vector<std::uint64_t>& words, std::size_t first, std::ptrdiff_t apart,
              std::u32string_view text) {
    auto cell = static_cast<std::ptrdiff_t>(first);
    for (std::size_t index = 0; index < text.size(); ++index, cell += apart) {
        const auto next = kWords + static_cast<std::size_t>(cell + apart) * 8;
        words[static_cast<std::size_t>(cell)] = small(text[index]);
        words[static_cast<std::size_t>(cell) + 1] = index + 1 == text.size() ? kNil : next | 1U;
    }
}

std::size_t stars(const std::vector<std::uint64_t>& words) {
    return static_cast<std::size_t>(std::ranges::count(words, small('*')));
}

void scrub(const SecretTexts& texts, std::vector<std::uint64_t>& words) {
    texts.scrub(std::as_writable_bytes(std::span(words)), kWords);
}

TEST(SecretTexts, BytesAreOverwrittenWhereverTheyStand) {
    std::string heap = "header..TOPSECRETCOOKIE.TOPSECRETCOOKIEtail";
    with_secret().scrub(heap);
    EXPECT_EQ(heap, "header..***************.***************tail");
    std::string cut = "12345678TOPSECRETCOOKI";
    const auto before = cut;
    with_secret().scrub(cut);
    EXPECT_EQ(cut, before);
}

TEST(SecretTexts, ManyAreFoundAtOnceWhateverTheirLengths) {
    SecretTexts texts;
    std::vector<std::string> all;
    for (int number = 0; number < 1000; ++number) {
        all.push_back("s" + std::to_string(number * 7919) + std::string(number % 90U, 'x') + "e");
        texts.add(all.back());
    }
    for (const auto& secret : all) {
        if (secret.size() >= SecretTexts::kShortest) {
            std::string text = "<" + secret + ">";
            texts.scrub(text);
            EXPECT_EQ(text, "<" + std::string(secret.size(), '*') + ">");
        }
    }
}

TEST(SecretTexts, TheLongestOfTwoThatBeginAlikeIsTaken) {
    SecretTexts texts;
    texts.add("cookie_1");
    texts.add("cookie_17");
    std::string text = "cookie_17 cookie_18";
    texts.scrub(text);
    EXPECT_EQ(text, "********* ********8");
}

TEST(SecretTexts, ShortOnesAreNotTaken) {
    SecretTexts texts;
    texts.add("abc");
    EXPECT_TRUE(texts.empty());
    std::string text = "abcabc";
    texts.scrub(text);
    EXPECT_EQ(text, "abcabc");
}

TEST(SecretTexts, ListsOfCharactersAreOverwrittenHoweverTheyLie) {
    const std::u32string secret(kSecret.begin(), kSecret.end());
    const std::u32string reversed(secret.rbegin(), secret.rend());
    for (const auto& text : {secret, reversed}) {
        for (const std::ptrdiff_t apart : {2, -2, 10, -14}) {
            std::vector<std::uint64_t> words(500, 0x1001);
            put_list(words, 250, apart, text);
            scrub(with_secret(), words);
            EXPECT_EQ(stars(words), secret.size()) << apart;
            EXPECT_EQ(words[251], kWords + static_cast<std::size_t>(250 + apart) * 8 + 1);
        }
    }
}

/// The characters of the list at a word, as far as it leads.
std::u32string list_at(const std::vector<std::uint64_t>& words, std::size_t at) {
    std::u32string text;
    for (auto tail = kWords + at * 8 + 1; tail != kNil;) {
        const auto cell = (tail - kWords) / 8;
        text.push_back(static_cast<char32_t>(words[cell] >> 4U));
        tail = words[cell + 1];
    }
    return text;
}

TEST(SecretTexts, AListDoesNotTellHowLongTheTextWas) {
    for (const std::u32string secret : {U"TOPS", U"TOPSECRETCOOKIE"}) {
        SecretTexts texts;
        texts.add(std::string(secret.begin(), secret.end()));
        for (const std::ptrdiff_t apart : {2, -2, 10}) {
            std::vector<std::uint64_t> words(500, 0x1001);
            put_list(words, 250, apart, U"-a " + secret + U" -b");
            scrub(texts, words);
            EXPECT_EQ(list_at(words, 250), U"-a **** -b");
            // From the text's second character on, too.
            EXPECT_EQ(list_at(words, static_cast<std::size_t>(250 + 4 * apart)), U"*** -b");
        }
    }
}

/// A heap binary of the text, and a tuple of one element behind it.
std::vector<std::uint64_t> heap_binary(const TagScheme& scheme, std::string_view text) {
    const auto subtag = static_cast<std::uint64_t>(
        std::ranges::find(scheme.by_subtag, BoxedKind::kHeapBinary) - scheme.by_subtag.begin());
    const auto data_words = (text.size() + 7) / 8;
    std::vector<std::uint64_t> words(2 + data_words);
    words[0] = (data_words + 1) << 6U | subtag << 2U;
    words[1] = scheme.heap_binary_in_bits ? text.size() * 8 : text.size();
    std::memcpy(words.data() + 2, text.data(), text.size());
    words.insert(words.end(), {1U << 6U, kNil});
    return words;
}

TEST(SecretTexts, ABinaryOnAHeapDoesNotTellHowLongTheTextWas) {
    for (const auto id : {format::TermScheme::kOtp25, format::TermScheme::kOtp27}) {
        const auto scheme = scheme_of(id);
        ASSERT_TRUE(scheme);
        const auto marked = heap_binary(*scheme, "****");
        for (const auto* secret :
             {"TOPS", "TOPSECRE", "TOPSECRETCOOKIE", "TOPSECRETCOOKIE.OF.MANY.WORDS"}) {
            SecretTexts texts;
            texts.add(secret);
            auto words = heap_binary(*scheme, secret);
            texts.scrub_words(std::as_writable_bytes(std::span(words)), kWords, &*scheme);
            // Of the same object, then words that are one big integer, then what was behind it.
            EXPECT_TRUE(std::equal(words.begin(), words.begin() + 3, marked.begin())) << secret;
            const auto left = words.size() - 5;
            if (left != 0) {
                EXPECT_EQ(boxed_kind(*scheme, words[3]), BoxedKind::kPositiveBig);
                EXPECT_EQ(header_arity(words[3]), left - 1);
            }
            EXPECT_TRUE(std::equal(words.end() - 2, words.end(), marked.end() - 2));
        }
        // Part of another binary, whose bytes behind it stay where they are.
        auto words = heap_binary(*scheme, "TOPSECRETCOOKIE of it");
        with_secret().scrub_words(std::as_writable_bytes(std::span(words)), kWords, &*scheme);
        EXPECT_EQ(words, heap_binary(*scheme, "*************** of it"));
    }
}

TEST(SecretTexts, TheLongerOneIsOverwrittenWhereAShortOneBeginsAlike) {
    SecretTexts texts;
    texts.add("TOPS");
    texts.add(kSecret);
    std::string text = "<TOPSECRETCOOKIE>";
    texts.scrub(text);
    EXPECT_EQ(text, "<***************>");
}

TEST(SecretTexts, CharactersBeyondLatin1AreFoundAsBytesAndInLists) {
    SecretTexts texts;
    texts.add("k\xc3\xb6k\xe2\x82\xack");
    std::string utf8 = "<k\xc3\xb6k\xe2\x82\xack>";
    texts.scrub(utf8);
    EXPECT_EQ(utf8, "<********>");
    std::vector<std::uint64_t> words(100, kNil);
    put_list(words, 4, 2, U"k\u00f6k\u20ack");
    scrub(texts, words);
    EXPECT_EQ(stars(words), 5U);
    texts.add("k\xc3\xb6kss");
    std::string latin1 = "<k\xf6kss>";
    texts.scrub(latin1);
    EXPECT_EQ(latin1, "<*****>");
}

TEST(SecretTexts, AListIsFollowedIntoOtherMemory) {
    class Rest final : public SecretTexts::Beyond {
      public:
        explicit Rest(std::span<const std::uint64_t> words) : words_(words) {}
        std::optional<std::uint64_t> word(memory::Address address) override {
            const auto index = (address - kWords) / 8;
            return index < words_.size() ? std::optional(words_[index]) : std::nullopt;
        }
        void overwrite(memory::Address address, std::uint64_t from, std::uint64_t to) override {
            EXPECT_EQ(from, word(address));
            if (to == small('*')) {
                ++overwritten;
            } else {
                EXPECT_EQ(to, kNil);
                ++shortened;
            }
        }
        std::size_t overwritten = 0;
        std::size_t shortened = 0;

      private:
        std::span<const std::uint64_t> words_;
    };
    std::vector<std::uint64_t> words(2000, kNil);
    put_list(words, 10, 100, std::u32string(kSecret.begin(), kSecret.end()));
    const auto all = words;
    words.resize(500);
    Rest rest(all);
    with_secret().scrub(std::as_writable_bytes(std::span(words)), kWords, &rest);
    EXPECT_EQ(stars(words), 5U);
    EXPECT_EQ(rest.overwritten, kSecret.size() - 5);
    EXPECT_EQ(rest.shortened, kSecret.size() - 5);
}

TEST(SecretTexts, ATextThatIsCutAtTheEndIsOverwritten) {
    const auto cut = [](std::string text) {
        with_secret().scrub_cut_end(std::as_writable_bytes(std::span(text)));
        return text;
    };
    EXPECT_EQ(cut("some TOPSECR"), "some *******");
    EXPECT_EQ(cut("some TOPS"), "some ****");
    EXPECT_EQ(cut("some TOP"), "some TOP");
    EXPECT_EQ(cut("TOPSECR some"), "TOPSECR some");
}

TEST(SecretTexts, MalformedTextIsHarmless) {
    SecretTexts texts;
    texts.add("\xf7\xbf\xbf\xbf\xf7\xbf");
    texts.add("\xff\xfe\xc0 abc");
    std::string text = "<\xff\xfe\xc0 abc>";
    texts.scrub(text);
    EXPECT_EQ(text, "<*******>");
    std::vector<std::uint64_t> words(100, small(0x10ffff));
    scrub(texts, words);
    EXPECT_EQ(stars(words), 0U);
}

}  // namespace
}  // namespace beamdump::capture
