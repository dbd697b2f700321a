#include "capture/secrets/cookie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <builtin_layouts.h>

namespace beamdump::capture {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> scrubbed(const std::vector<std::string>& arguments) {
    Cookies cookies;
    cookies.take_arguments(arguments);
    return cookies.without_cookies(arguments);
}

TEST(Cookies, ArgumentsLoseTheirValues) {
    const std::vector<std::string> arguments = {"-sname",     "a",      "-setcookie", "abcdef",
                                                "-setcookie", "b@host", "other",      "-kernel",
                                                "x",          "1"};
    Cookies cookies;
    cookies.take_arguments(arguments);
    EXPECT_THAT(cookies.without_cookies(arguments),
                ElementsAre("-sname", "a", "-setcookie", "<cookie>", "-setcookie", "b@host",
                            "<cookie>", "-kernel", "x", "1"));
    EXPECT_TRUE(cookies.is_cookie("abcdef"));
    EXPECT_TRUE(cookies.is_cookie("other"));
    EXPECT_FALSE(cookies.is_cookie("x"));
    EXPECT_FALSE(cookies.is_cookie("b@host"));
}

TEST(Cookies, ACookieMayLookLikeANode) {
    EXPECT_THAT(scrubbed({"-setcookie", "Super@SecretCookie43", "-x"}),
                ElementsAre("-setcookie", "<cookie>", "-x"));
    EXPECT_THAT(scrubbed({"-setcookie", "node@host", "Super@SecretCookie43"}),
                ElementsAre("-setcookie", "node@host", "<cookie>"));
    EXPECT_THAT(
        scrubbed({"-setcookie", "one", "two", "three", "--setcookie", "four"}),
        ElementsAre("-setcookie", "<cookie>", "<cookie>", "<cookie>", "--setcookie", "<cookie>"));
    EXPECT_THAT(scrubbed({"-setcookie"}), ElementsAre("-setcookie"));
}

TEST(Cookies, AreRemovedFromOtherArguments) {
    EXPECT_THAT(scrubbed({"-setcookie", "secret-text", "-eval", "f('secret-text')."}),
                ElementsAre("-setcookie", "<cookie>", "-eval", "f('***********')."));
}

TEST(Cookies, TheEnvironmentNamesSome) {
    Cookies cookies;
    cookies.take_environment(std::vector<std::string>{
        "RELEASE_COOKIE=of a release", "RABBITMQ_ERLANG_COOKIE=hare", "PATH=/usr/bin", "COOKIE",
        R"(ERL_ZFLAGS=-x 1  -setcookie 'quo ted' -setcookie a@b "dou\"ble" +K true)"});
    for (const auto* cookie : {"of a release", "hare", "quo ted", "dou\"ble"}) {
        EXPECT_TRUE(cookies.is_cookie(cookie)) << cookie;
    }
    for (const auto* other : {"/usr/bin", "a@b", "true", "1"}) {
        EXPECT_FALSE(cookies.is_cookie(other)) << other;
    }
    std::string spelled = R"(as "dou\"ble" or 'quo ted')";
    cookies.texts().scrub(spelled);
    EXPECT_EQ(spelled.find("ted"), std::string::npos);
    EXPECT_EQ(spelled.find("ble"), std::string::npos);
}

TEST(Cookies, AtomsWithALongCookieInsideLoseIt) {
    Cookies cookies;
    cookies.add("longcookie");
    cookies.add("short");
    EXPECT_EQ(cookies.atom_without_cookies("longcookie"), "<cookie>");
    EXPECT_EQ(cookies.atom_without_cookies("a_longcookie@b"), "a_**********@b");
    EXPECT_EQ(cookies.atom_without_cookies("short"), "<cookie>");
    EXPECT_EQ(cookies.atom_without_cookies("shortest"), "shortest");
}

TEST(Cookies, AWordOfEveryNodeIsNoSecret) {
    Cookies cookies;
    cookies.set_ordinary({"error"});
    EXPECT_FALSE(cookies.any_weak());
    cookies.add("error");
    EXPECT_TRUE(cookies.any_weak());
    EXPECT_EQ(cookies.atom_without_cookies("error"), "error");
    EXPECT_THAT(cookies.without_cookies({"-setcookie", "error", "-a", "error"}),
                ElementsAre("-setcookie", "<cookie>", "-a", "error"));
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
    cookies.take_arguments(std::vector<std::string>{"-setcookie", "nocookie"});
    EXPECT_TRUE(cookies.empty());
}

}  // namespace
}  // namespace beamdump::capture
