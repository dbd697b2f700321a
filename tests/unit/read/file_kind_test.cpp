#include <libdump/read/file/file_kind.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace beamdump {
namespace {

using namespace std::string_view_literals;
using ::testing::HasSubstr;

std::string described(std::string_view bytes) {
    return describe_other_file(std::as_bytes(std::span(bytes)));
}

TEST(FileKind, NamesWhatIsEasilyKnown) {
    EXPECT_EQ(described(""), "is empty");
    EXPECT_THAT(described("=erl_crash_dump:0.5\nThu Jan"), HasSubstr("Erlang crash dump"));
    EXPECT_THAT(described("\x1f\x8b\x08\x00"sv), HasSubstr("gzip -d"));
    EXPECT_THAT(described("\x28\xb5\x2f\xfd\x24"sv), HasSubstr("zstd -d"));
    EXPECT_THAT(described("\xfd"
                          "7zXZ\0\0"sv),
                HasSubstr("xz -d"));
    EXPECT_THAT(described("BZh91AY"), HasSubstr("bzip2"));
    EXPECT_THAT(described("PK\x03\x04"), HasSubstr("zip"));
    EXPECT_THAT(described("FOR1\0\0"sv), HasSubstr(".beam"));
    std::string elf =
        "\x7f"
        "ELF" +
        std::string(60, '\0');
    elf[16] = 4;
    EXPECT_THAT(described(elf), HasSubstr("ELF core"));
    elf[16] = 3;
    EXPECT_THAT(described(elf), HasSubstr("executable or library"));
    EXPECT_THAT(described("\xff\xfe=\0e\0r\0"sv), HasSubstr("iconv -f UTF-16"));
    EXPECT_THAT(described("\xfe\xff\0=\0e\0r"sv), HasSubstr("iconv -f UTF-16"));
    std::string tar = "erl_crash.dump" + std::string(498, '\0');
    tar.replace(257, 5, "ustar");
    EXPECT_THAT(described(tar), HasSubstr("tar -xf"));
    EXPECT_EQ(described("hello\nworld\n"), "is a text file");
    EXPECT_EQ(described("\x01\x02\x03"), "does not begin as a dump does");
}

}  // namespace
}  // namespace beamdump
