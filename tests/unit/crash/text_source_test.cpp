#include "crash_text.h"

#include <libdump/crash/text/crash_dump.h>

#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>

#include <sys/stat.h>
#include <thread>

namespace beamdump::crash {
namespace {

namespace io = boost::iostreams;

std::string text_of(const TextSource& source) {
    std::string text(source.size() + 10, '\0');
    auto got = source.read(0, text);
    EXPECT_TRUE(got);
    text.resize(got.value_or(0));
    return text;
}

std::string sample() {
    std::string text = "=erl_crash_dump:0.5\n";
    for (int line = 0; line < 100'000; ++line) {
        text += std::to_string(line * 7919) + "\n";
    }
    return text;
}

template <typename Compressor>
std::string packed(const std::string& text, const Compressor& compressor) {
    std::string bytes;
    io::filtering_ostream stream;
    stream.push(compressor);
    stream.push(io::back_inserter(bytes));
    io::copy(io::array_source(text.data(), text.size()), stream);
    return bytes;
}

TEST(TextSource, ReadsPlainAndPackedFiles) {
    const auto text = sample();
    for (const auto& bytes :
         {text, packed(text, io::gzip_compressor()), packed(text, io::lzma_compressor()),
          packed(text, io::zstd_compressor())}) {
        const test::TextFile file(bytes);
        const auto source = file.source();
        EXPECT_EQ(source.size(), text.size());
        EXPECT_EQ(text_of(source), text);
        EXPECT_EQ(source.broken(), "");
        std::array<char, 4> part{};
        EXPECT_EQ(source.read(1, part).value_or(0), part.size());
        EXPECT_EQ(std::string_view(part.data(), part.size()), "erl_");
    }
}

TEST(TextSource, UnpacksUpToWhereAFileBreaksOff) {
    const auto text = sample();
    const auto bytes = packed(text, io::gzip_compressor());
    const test::TextFile file(bytes.substr(0, bytes.size() / 2));
    const auto source = file.source();
    EXPECT_GT(source.size(), text.size() / 4);
    EXPECT_LT(source.size(), text.size());
    EXPECT_EQ(text_of(source), text.substr(0, source.size()));
    EXPECT_NE(source.broken(), "");
}

TEST(TextSource, ATarArchiveThatIsCompressedIsNamed) {
    std::string tar = "erl_crash.dump" + std::string(498, '\0');
    tar.replace(257, 5, "ustar");
    const test::TextFile file(packed(tar + "=erl_crash_dump:0.5\n=end\n", io::gzip_compressor()));
    const auto dump = CrashDump::open(file.path(), {});
    ASSERT_FALSE(dump);
    EXPECT_EQ(dump.error().code, ErrorCode::kNotADump);
    EXPECT_TRUE(
        dump.error().message.ends_with("is a tar archive; take the dump out of it first (tar -xf)"))
        << dump.error().message;
}

TEST(TextSource, ReadsAPipe) {
    const auto text = sample();
    const test::TextFile file("");
    const auto path = file.folder() / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::jthread writer([&] { std::ofstream(path, std::ios::binary) << text; });
    auto source = TextSource::open(path);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(text_of(*source), text);
}

TEST(TextSource, SaysWhatItCannotOpen) {
    const test::TextFile file("\x1f\x8b not packed at all");
    auto source = TextSource::open(file.path());
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(TextSource::open(file.folder() / "none").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(TextSource::open(file.folder()).error().code, ErrorCode::kNotADump);
}

}  // namespace
}  // namespace beamdump::crash
