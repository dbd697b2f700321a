#include "input/kept_dumps.h"

#include "program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace beamdump::test {
namespace {

using input::FileIdentity;
using input::KeptDump;
using input::KeptDumps;

class KeptDumpsTest : public ::testing::Test {
  protected:
    KeptDump opened(const std::string& path, const crash::ConvertChoice& choice = {}) {
        auto dump = input::open_dump(path, choice, {}, {}, {});
        EXPECT_TRUE(dump.has_value());
        return {.opened = std::move(*dump),
                .file = *FileIdentity::of(path),
                .choice = choice,
                .stop = {}};
    }

    Program program_;
    std::string path_ = program_.path("sample.beamdump");
    KeptDumps kept_;
};

TEST_F(KeptDumpsTest, ADumpIsTakenByOneQuestionAtATime) {
    EXPECT_FALSE(kept_.take(path_, {}).has_value());
    kept_.keep(opened(path_));
    auto taken = kept_.take(path_, {});
    ASSERT_TRUE(taken.has_value());
    EXPECT_FALSE(kept_.take(path_, {}).has_value());
    kept_.keep(std::move(*taken));
    EXPECT_TRUE(kept_.take(path_, {}).has_value());
    EXPECT_EQ(kept_.taken(), 2);
}

TEST_F(KeptDumpsTest, AFileThatChangedIsClosed) {
    kept_.keep(opened(path_));
    std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now());
    EXPECT_FALSE(kept_.take(path_, {}).has_value());
    EXPECT_EQ(kept_.size(), 0);
    kept_.keep(opened(path_));
    std::filesystem::remove(path_);
    EXPECT_FALSE(kept_.take(path_, {}).has_value());
    EXPECT_EQ(kept_.size(), 0);
}

TEST_F(KeptDumpsTest, AConversionWithOtherRecordsIsNotTaken) {
    crash::ConvertChoice facts;
    facts.other_sections = false;
    const std::string conversion = BEAMDUMP_TESTDATA "/formats/1.0-conversion.beamdump";
    kept_.keep(opened(conversion, facts));
    EXPECT_FALSE(kept_.take(conversion, {}).has_value());
    EXPECT_TRUE(kept_.take(conversion, facts).has_value());
    // Nothing of a capture is converted.
    kept_.keep(opened(path_, facts));
    EXPECT_TRUE(kept_.take(path_, {}).has_value());
}

TEST_F(KeptDumpsTest, AStoppedDumpIsNotKept) {
    auto dump = opened(path_);
    dump.stop.request_stop();
    kept_.keep(std::move(dump));
    EXPECT_EQ(kept_.size(), 0);
}

TEST_F(KeptDumpsTest, ADumpInWhichDamageWasMetIsNotKept) {
    auto dump = opened(path_);
    dump.opened.dump().faults().note(Error{ErrorCode::kCorrupt, "a page is damaged"});
    kept_.keep(std::move(dump));
    EXPECT_EQ(kept_.size(), 0);
}

TEST_F(KeptDumpsTest, TheOneThatWasAskedLongestAgoIsClosed) {
    kept_.keep(opened(path_));
    for (std::size_t number = 0; number < KeptDumps::kMost; ++number) {
        const auto other = program_.path("other" + std::to_string(number) + ".beamdump");
        std::filesystem::copy_file(path_, other);
        kept_.keep(opened(other));
    }
    EXPECT_EQ(kept_.size(), KeptDumps::kMost);
    EXPECT_FALSE(kept_.take(path_, {}).has_value());
}

}  // namespace
}  // namespace beamdump::test
