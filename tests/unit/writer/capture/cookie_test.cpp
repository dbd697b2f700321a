#include "capture/cookie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <builtin_layouts.h>

namespace beamdump::capture {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kSecret = "TOPSECRETCOOKIE";

Cookies with_secret() {
    std::vector<std::string> arguments = {"-setcookie", std::string(kSecret)};
    Cookies cookies;
    cookies.take_arguments(arguments);
    return cookies;
}

std::uint64_t small(char character) {
    return std::uint64_t(character) << 4U | 0xfU;
}

TEST(Cookies, ArgumentsLoseTheirValues) {
    std::vector<std::string> arguments = {"-sname", "a",     "-setcookie", "abcdef", "-setcookie",
                                          "b@host", "other", "-kernel",    "x",      "1"};
    Cookies cookies;
    cookies.take_arguments(arguments);
    EXPECT_THAT(arguments, ElementsAre("-sname", "a", "-setcookie", "<cookie>", "-setcookie",
                                       "b@host", "<cookie>", "-kernel", "x", "1"));
    EXPECT_TRUE(cookies.is_cookie("abcdef"));
    EXPECT_TRUE(cookies.is_cookie("other"));
    EXPECT_FALSE(cookies.is_cookie("x"));
}

TEST(Cookies, BytesOfABinaryAreOverwritten) {
    std::string heap = "header..TOPSECRETCOOKIE.TOPSECRETCOOKIEtail";
    with_secret().scrub(std::as_writable_bytes(std::span(heap)));
    EXPECT_EQ(heap, "header..***************.***************tail");
}

TEST(Cookies, ListsOfCharactersAreOverwrittenInBothDirections) {
    std::vector<std::uint64_t> ascending;
    for (const char character : kSecret) {
        ascending.push_back(small(character));
        ascending.push_back(0x1001);  // a list pointer
    }
    auto descending = ascending;
    for (std::size_t i = 0; i < kSecret.size(); ++i) {
        descending[2 * i] = small(kSecret[kSecret.size() - 1 - i]);
    }
    for (auto* words : {&ascending, &descending}) {
        with_secret().scrub(std::as_writable_bytes(std::span(*words)));
        for (std::size_t i = 0; i < kSecret.size(); ++i) {
            EXPECT_EQ((*words)[2 * i], small('*')) << i;
            EXPECT_EQ((*words)[2 * i + 1], 0x1001U);
        }
    }
}

TEST(Cookies, TheFastScrubSeesBinariesAtWordsAndLists) {
    std::string heap = "12345678TOPSECRETCOOKIE.TOPSECRETCOOKIE.";
    with_secret().scrub_aligned(std::as_writable_bytes(std::span(heap)));
    EXPECT_EQ(heap, "12345678***************.***************.");
    std::vector<std::uint64_t> list;
    for (const char character : kSecret) {
        list.push_back(small(character));
        list.push_back(0x1001);
    }
    with_secret().scrub_aligned(std::as_writable_bytes(std::span(list)));
    EXPECT_EQ(list[0], small('*'));
    EXPECT_EQ(list[list.size() - 2], small('*'));
}

TEST(Cookies, AValueAtTheVeryEndIsSeenAndNothingBeyondIsRead) {
    std::string heap = "12345678TOPSECRETCOOKIE";
    heap.resize(24, ' ');
    with_secret().scrub_aligned(std::as_writable_bytes(std::span(heap)));
    EXPECT_EQ(heap, "12345678*************** ");
    std::string cut = "12345678TOPSECRE";
    const auto before = cut;
    with_secret().scrub_aligned(std::as_writable_bytes(std::span(cut)));
    EXPECT_EQ(cut, before);
}

TEST(Cookies, OtherTextStays) {
    std::string heap = "TOPSECRETCOOKI and more, TOPSECRET";
    const auto before = heap;
    with_secret().scrub(std::as_writable_bytes(std::span(heap)));
    EXPECT_EQ(heap, before);
}

TEST(Cookies, AuthsStateNamesTheCookie) {
    const auto layout = *beam::Layout::parse(builtin_layouts().front().json);
    const auto atoms = *beam::AtomWords::resolve(layout);
    // garbage, then {state, Cookie, OtherCookies}
    const std::vector<std::uint64_t> heap = {0x3b, 3U << 6U, atoms.word(7), atoms.word(8), 0x3b};
    Cookies cookies;
    cookies.take_auth_heap(heap, atoms, [](std::uint32_t index) -> std::optional<std::string> {
        return index == 7 ? "state" : index == 8 ? "found_it" : "something";
    });
    EXPECT_TRUE(cookies.is_cookie("found_it"));
    EXPECT_FALSE(cookies.is_cookie("state"));
}

TEST(Cookies, NoCookieIsNone) {
    Cookies cookies;
    std::vector<std::string> arguments = {"-setcookie", "nocookie"};
    cookies.take_arguments(arguments);
    EXPECT_TRUE(cookies.empty());
}

}  // namespace
}  // namespace beamdump::capture
