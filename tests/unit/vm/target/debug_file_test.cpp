#include <libvm/target/image/debug_file.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <unistd.h>

// Found again through the symbol table of this test's own executable.
extern "C" std::uint64_t beamdump_debug_file_marker;
std::uint64_t beamdump_debug_file_marker = 0x5678;

namespace beamdump::target {
namespace {

namespace fs = std::filesystem;

constexpr auto kOwnProgram = "/proc/self/exe";
constexpr auto kMarker = "beamdump_debug_file_marker";
constexpr std::uint64_t kBias = 0x10000;

class DebugFile : public ::testing::Test {
  protected:
    void SetUp() override {
        // The test is linked with a build id; its copies stand for debug files.
        ASSERT_GT(image_.build_id().size(), 2U);
        fs::create_directories(root_);
    }
    void TearDown() override { fs::remove_all(root_); }

    void put(const fs::path& source, const std::string& place) {
        const fs::path file = root_.native() + place;
        fs::create_directories(file.parent_path());
        fs::copy_file(source, file);
    }
    [[nodiscard]] std::string by_build_id() const {
        const auto& id = image_.build_id();
        return "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
    }
    [[nodiscard]] std::optional<ElfImage> found() const {
        return open_debug_file(image_, "/opt/erlang/beam.smp", root_);
    }

    ElfImage image_ = ElfImage::open(kOwnProgram, kBias).value();
    // Unique to this process: tests run in parallel, each in its own process.
    fs::path root_ =
        fs::path(::testing::TempDir()) / fmt::format("beamdump_debug_file.{}", ::getpid());
};

TEST_F(DebugFile, IsFoundByBuildId) {
    EXPECT_FALSE(found());
    put(kOwnProgram, by_build_id());
    const auto debug = found();
    ASSERT_TRUE(debug);
    EXPECT_EQ(debug->symbol(kMarker).value().address, image_.symbol(kMarker).value().address);
}

TEST_F(DebugFile, IsFoundInAFolderOfTheUser) {
    const auto& id = image_.build_id();
    const auto folder = root_ / "mine";
    const auto in_folder = [&] {
        return open_debug_file(image_, "/opt/erlang/beam.smp", root_, folder).has_value();
    };
    for (const auto& place :
         {fmt::format("/mine/.build-id/{}/{}.debug", id.substr(0, 2), id.substr(2)),
          fmt::format("/mine/{}/debuginfo", id)}) {
        EXPECT_FALSE(in_folder()) << place;
        put("/bin/true", place);
        EXPECT_FALSE(in_folder()) << place;
        fs::remove(root_.native() + place);
        put(kOwnProgram, place);
        EXPECT_TRUE(in_folder()) << place;
        EXPECT_FALSE(found()) << place;
        fs::remove(root_.native() + place);
    }
}

TEST_F(DebugFile, AFileOfAnotherBuildIsNotTaken) {
    put("/bin/true", by_build_id());
    EXPECT_FALSE(found());
}

TEST_F(DebugFile, ThatIsNoFileIsNone) {
    fs::create_directories(root_.native() + by_build_id());
    EXPECT_FALSE(found());
}

/// For a stripped program, by the name of its debug file that the program contains.
class DebugLink : public DebugFile {
  protected:
    static constexpr auto kLinkMarker = "beamdump_debug_link_marker";
    static constexpr auto kBesideIt = "/opt/erlang/sample.debug";
    static constexpr auto kBelowIt = "/opt/erlang/.debug/sample.debug";
    static constexpr auto kBelowUsr = "/usr/lib/debug/opt/erlang/sample.debug";

    void SetUp() override {
        DebugFile::SetUp();
        image_ = ElfImage::open(built_ / "debug_link_stripped", kBias).value();
        ASSERT_EQ(image_.debug_link(), "sample.debug");
        ASSERT_FALSE(image_.symbol(kLinkMarker));
    }

    const fs::path built_ = BEAMDUMP_DEBUG_LINK;
    const fs::path debug_ = built_ / "sample.debug";
};

class DebugLinkPlace : public DebugLink, public ::testing::WithParamInterface<const char*> {
  public:
    static constexpr std::array kPlaces = {kBesideIt, kBelowIt, kBelowUsr};
};

TEST_P(DebugLinkPlace, IsLookedAt) {
    EXPECT_FALSE(found());
    put(debug_, GetParam());
    const auto debug = found();
    ASSERT_TRUE(debug);
    const auto whole = ElfImage::open(built_ / "debug_link_sample", kBias).value();
    EXPECT_EQ(debug->symbol(kLinkMarker).value().address,
              whole.symbol(kLinkMarker).value().address);
}

TEST_P(DebugLinkPlace, SkipsAFileOfAnotherBuild) {
    put("/bin/true", GetParam());
    EXPECT_FALSE(found());
    for (const auto* other : kPlaces) {
        if (other != std::string_view(GetParam())) {
            put(debug_, other);
        }
    }
    EXPECT_TRUE(found());
}

INSTANTIATE_TEST_SUITE_P(All, DebugLinkPlace, ::testing::ValuesIn(DebugLinkPlace::kPlaces));

TEST_F(DebugLink, NeedsToKnowTheExecutablesFolder) {
    put(debug_, kBesideIt);
    put(debug_, "/sample.debug");
    EXPECT_TRUE(open_debug_file(image_, "/opt/erlang/beam.smp", root_));
    EXPECT_FALSE(open_debug_file(image_, "beam.smp", root_));
}

}  // namespace
}  // namespace beamdump::target
