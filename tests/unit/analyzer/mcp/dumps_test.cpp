#include "cli/mcp/dumps.h"

#include "support/temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace beamdump::test {
namespace {

namespace fs = std::filesystem;
using cli::Dumps;
using ::testing::HasSubstr;

class McpDumps : public ::testing::Test {
  protected:
    McpDumps() {
        fs::create_directories(root_ / "allowed" / "below");
        fs::create_directories(root_ / "allowed2");
        touch("allowed/one.beamdump");
        touch("allowed/below/two.beamdump");
        touch("allowed2/other.beamdump");
        touch("secret.beamdump");
        fs::create_symlink(root_ / "secret.beamdump", root_ / "allowed" / "link.beamdump");
        fs::create_symlink(root_, root_ / "allowed" / "up");
        auto dumps = Dumps::make({path("allowed")});
        EXPECT_TRUE(dumps.has_value());
        dumps_ = *std::move(dumps);
    }

    void touch(const std::string& name) { std::ofstream(root_ / name) << "x"; }
    [[nodiscard]] std::string path(const std::string& name) const { return root_ / name; }

    TemporaryDirectory directory_;
    fs::path root_ = fs::canonical(directory_.path());
    Dumps dumps_ = *Dumps::make({});
};

TEST_F(McpDumps, OnlyFilesInAllowedFoldersAreAllowed) {
    EXPECT_EQ(dumps_.allowed(path("allowed/one.beamdump")), path("allowed/one.beamdump"));
    EXPECT_EQ(dumps_.allowed(path("allowed/below/../below/two.beamdump")),
              path("allowed/below/two.beamdump"));
    for (const auto* outside :
         {"secret.beamdump", "allowed/../secret.beamdump", "allowed/link.beamdump",
          "allowed/up/secret.beamdump", "allowed2/other.beamdump",
          "allowed/below/../../secret.beamdump", "missing.beamdump"}) {
        const auto refused = dumps_.allowed(path(outside));
        ASSERT_FALSE(refused.has_value()) << outside;
        EXPECT_EQ(refused.error().code, ErrorCode::kPermission) << outside;
        EXPECT_THAT(refused.error().message, HasSubstr("is outside"));
    }
    EXPECT_EQ(dumps_.allowed("/etc/passwd").error().code, ErrorCode::kPermission);
    EXPECT_EQ(dumps_.allowed("").error().code, ErrorCode::kPermission);
    EXPECT_EQ(dumps_.allowed("-").error().code, ErrorCode::kPermission);
    EXPECT_EQ(dumps_.allowed(path("allowed/missing")).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(dumps_.allowed(path("allowed/below")).error().code, ErrorCode::kPermission);
}

TEST_F(McpDumps, APipeIsNotOpened) {
    ASSERT_EQ(::mkfifo(path("allowed/pipe").c_str(), 0600), 0);
    EXPECT_EQ(dumps_.allowed(path("allowed/pipe")).error().code, ErrorCode::kPermission);
}

TEST_F(McpDumps, FilesAreWrittenIntoAllowedFolders) {
    EXPECT_EQ(dumps_.writable(path("allowed/new.json")), path("allowed/new.json"));
    for (const auto* outside : {"new.json", "allowed/../new.json", "allowed/up/new.json"}) {
        EXPECT_EQ(dumps_.writable(path(outside)).error().code, ErrorCode::kPermission) << outside;
    }
    for (const auto* none : {"allowed/", "allowed/.", "allowed/.."}) {
        EXPECT_EQ(dumps_.writable(path(none)).error().code, ErrorCode::kUsage) << none;
    }
    EXPECT_EQ(dumps_.writable("").error().code, ErrorCode::kUsage);
}

TEST_F(McpDumps, WithoutFoldersNothingIsAllowed) {
    const auto none = *Dumps::make({});
    EXPECT_THAT(none.allowed(path("secret.beamdump")).error().message,
                HasSubstr("started without --folder"));
    EXPECT_FALSE(Dumps::make({path("missing")}).has_value());
    EXPECT_FALSE(Dumps::make({path("secret.beamdump")}).has_value());
}

TEST_F(McpDumps, ADumpIsFoundByItsPathAndByANameThatOnlyItHas) {
    EXPECT_THAT(dumps_.find("x").error().message, HasSubstr("no dump is open"));
    ASSERT_TRUE(dumps_.add("/a/one.beamdump").has_value());
    ASSERT_TRUE(dumps_.add("/b/two.beamdump").has_value());
    ASSERT_TRUE(dumps_.add("/b/two.beamdump").has_value());
    EXPECT_EQ(dumps_.paths().size(), 2);
    EXPECT_EQ(dumps_.find("/a/one.beamdump"), "/a/one.beamdump");
    EXPECT_EQ(dumps_.find("two.beamdump"), "/b/two.beamdump");
    EXPECT_THAT(dumps_.find("three").error().message,
                HasSubstr("there are /a/one.beamdump, /b/two.beamdump"));
    ASSERT_TRUE(dumps_.add("/c/one.beamdump").has_value());
    EXPECT_FALSE(dumps_.find("one.beamdump").has_value());
    EXPECT_FALSE(dumps_.find("").has_value());
}

}  // namespace
}  // namespace beamdump::test
