#include <program/last_words.h>

#include <gtest/gtest.h>

#include <exception>
#include <thread>

namespace beamdump {
namespace {

TEST(LastWords, AreOneSentenceAndStatusOne) {
    EXPECT_EXIT(
        {
            end_with_a_sentence_on_terminate();
            std::terminate();
        },
        ::testing::ExitedWithCode(1),
        "^program_test: this program failed.*ulimit -v.*threads 1\n$");
}

TEST(LastWords, AreSaidOnceByTwoThreads) {
    EXPECT_EXIT(
        {
            end_with_a_sentence_on_terminate();
            const std::jthread other([] { std::terminate(); });
            std::terminate();
        },
        ::testing::ExitedWithCode(1), "^program_test: this program[^\n]*\n$");
}

}  // namespace
}  // namespace beamdump
