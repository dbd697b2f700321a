#include "crash_text.h"
#include "support/encrypted_text.h"

#include <libdump/crash/text/decryption.h>

#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <gmock/gmock.h>

namespace beamdump::crash {
namespace {

using beamdump::test::EncryptionKey;
using ::testing::HasSubstr;

std::string sample(std::size_t bytes) {
    std::string text = "=erl_crash_dump:0.5\n";
    while (text.size() < bytes) {
        text += std::to_string(text.size()) + "\n";
    }
    return text.substr(0, bytes);
}

class DecryptionTest : public ::testing::Test {
  protected:
    void SetUp() override { key_file = write("key.pem", key.pem()); }

    std::filesystem::path write(const std::string& name, const std::string& text) {
        const auto path = file.folder() / name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    Result<TextSource> open(const std::string& bytes, const std::filesystem::path& with) {
        return TextSource::open(write("dump", bytes), {.key = with});
    }
    static std::string text_of(const TextSource& source) {
        std::string text(source.size() + 10, '\0');
        text.resize(source.read(0, text).value_or(0));
        return text;
    }
    std::string refused(const std::string& bytes, const std::filesystem::path& with) {
        const auto opened = open(bytes, with);
        return opened ? "" : opened.error().message;
    }

    test::TextFile file{""};
    EncryptionKey key;
    std::filesystem::path key_file;
};

TEST_F(DecryptionTest, TextsOfEachLengthAreDecrypted) {
    for (const std::size_t bytes : {20, 31, 32, 33, 1000, 3'000'000}) {
        const auto text = sample(bytes);
        const auto source = open(key.encrypt(text), key_file);
        ASSERT_TRUE(source) << source.error().message;
        EXPECT_TRUE(text_of(*source) == text) << bytes;
        EXPECT_EQ(source->broken(), "");
        EXPECT_FALSE(source->identity());
    }
}

TEST_F(DecryptionTest, ACompressedTextIsDecrypted) {
    namespace io = boost::iostreams;
    const auto text = sample(100'000);
    const auto encrypted = key.encrypt(text);
    std::string bytes;
    io::filtering_ostream stream;
    stream.push(io::gzip_compressor());
    stream.push(io::back_inserter(bytes));
    io::copy(io::array_source(encrypted.data(), encrypted.size()), stream);
    const auto source = open(bytes, key_file);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_TRUE(text_of(*source) == text);
}

TEST_F(DecryptionTest, ATruncatedFileGivesItsWholeBlocks) {
    const auto text = sample(500);
    const auto bytes = key.encrypt(text);
    const std::size_t head = 4 + 16 + 2 + 256;
    for (std::size_t length = 4; length < bytes.size(); ++length) {
        const auto source = open(bytes.substr(0, length), key_file);
        const auto whole = length < head ? 0 : (length - head) / 16 * 16;
        if (whole == 0) {
            ASSERT_FALSE(source);
            EXPECT_EQ(source.error().code, ErrorCode::kCorrupt) << source.error().message;
            continue;
        }
        ASSERT_TRUE(source) << source.error().message;
        EXPECT_EQ(text_of(*source), text.substr(0, whole));
        EXPECT_THAT(source->broken(), HasSubstr("cut off"));
    }
}

TEST_F(DecryptionTest, KeysOfAnotherKindAreRefusedByName) {
    const auto bytes = key.encrypt(sample(1000));
    EXPECT_THAT(refused(bytes, {}), HasSubstr("is an encrypted crash dump: give the private key"));
    const EncryptionKey other;
    EXPECT_THAT(refused(bytes, write("other.pem", other.pem())),
                HasSubstr("dump was not encrypted for the key in"));
    EXPECT_THAT(refused(bytes, write("public.pem", key.pem(true))), HasSubstr("has a public key"));
    EXPECT_THAT(refused(bytes, write("locked.pem", key.pem(false, "secret"))),
                HasSubstr("needs a passphrase"));
    EXPECT_THAT(refused(bytes, write("no.pem", "no key")), HasSubstr("has no private key"));
    EXPECT_THAT(refused(bytes, file.folder() / "none.pem"), HasSubstr("none.pem"));
    auto changed = bytes;
    changed[30] ^= 1;  // of the secret
    EXPECT_THAT(refused(changed, key_file), HasSubstr("was not encrypted for the key"));
}

}  // namespace
}  // namespace beamdump::crash
