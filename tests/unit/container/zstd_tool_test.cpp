#include "support/dump_builder.h"
#include "support/temporary_directory.h"
#include "walk.h"

#include <libdump/coding/record_coding.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

namespace beamdump::test {
namespace {

std::string file_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

int run(const std::string& command) {
    return std::system(command.c_str());
}

/// The flat stream with its coded records decoded.
std::string decoded(std::string flat) {
    const auto content = std::as_writable_bytes(std::span(flat));
    std::vector<std::byte> scratch(flat.size());
    EXPECT_TRUE(coding::decode_records(content, scratch));
    return flat;
}

/// The zstd program sees a dump as what it is: frames, some of them to be skipped.
class ZstdTool : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto bytes =
            DumpBuilder::whole({.frame_bytes = 4096}, {.processes = 50, .heap_words = 2000});
        std::ofstream file(path(), std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    [[nodiscard]] std::filesystem::path path(const std::string& suffix = "") const {
        return directory_.path() / ("dump" + suffix);
    }

  private:
    TemporaryDirectory directory_;
};

TEST_F(ZstdTool, FindsNothingWrong) {
    EXPECT_EQ(run("zstd --quiet --test --format=zstd " + path().string() + " 2>" +
                  path(".errors").string()),
              0)
        << file_text(path(".errors"));
}

TEST_F(ZstdTool, DecompressesTheFlatStream) {
    ASSERT_EQ(run("zstd --quiet --decompress --stdout " + path().string() + " >" +
                  path(".flat").string()),
              0);
    const std::string flat = file_text(path(".flat"));
    auto reader = expect_value(DumpReader::open(path()));
    ASSERT_EQ(flat.size(), reader.flat_bytes());
    std::string read(flat.size(), '\0');
    expect_value(reader.read(0, std::as_writable_bytes(std::span(read))));
    // zstd gives the words as they are coded.
    EXPECT_FALSE(read == flat);
    EXPECT_TRUE(read == decoded(flat));
}

}  // namespace
}  // namespace beamdump::test
