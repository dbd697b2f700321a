// Record definitions in .beam files: those of the fuzz target's corpus, which erlc of OTP 25.2.3
// made of one module with and without +debug_info and +compressed, and broken ones.

#include <libdump/beam/beam_records.h>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace beamdump {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes beam_file(const std::string& name) {
    std::ifstream file(std::string(BEAMDUMP_BEAM_FILES) + "/" + name, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_GT(bytes.size(), 500U) << name;
    return bytes;
}

void append(Bytes& bytes, std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
}

/// A file with one chunk of that name, whose term is not compressed.
Bytes made_file(std::string_view chunk, std::string_view term) {
    Bytes bytes;
    append(bytes, "FOR1");
    append(bytes, std::string(4, '\0'));
    append(bytes, "BEAM");
    append(bytes, chunk);
    append(bytes, std::string(3, '\0'));
    bytes.push_back(static_cast<std::uint8_t>(term.size()));
    append(bytes, term);
    append(bytes, std::string((4 - term.size() % 4) % 4, '\0'));
    return bytes;
}

void expect_the_two_records(const Bytes& file) {
    const auto read = beam_records(file);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_TRUE(read->has_information);
    ASSERT_EQ(read->records.size(), 2U);
    EXPECT_EQ(read->records[0].tag, "state");
    EXPECT_EQ(read->records[0].fields, (std::vector<std::string>{"users", "odd name", "n"}));
    EXPECT_EQ(read->records[1].tag, "empty");
    EXPECT_TRUE(read->records[1].fields.empty());
}

TEST(BeamRecords, AreReadFromDebugInformation) {
    expect_the_two_records(beam_file("debug_info"));
}

TEST(BeamRecords, AreReadFromACompressedFile) {
    const auto file = beam_file("compressed");
    EXPECT_EQ(file[0], 0x1F);
    expect_the_two_records(file);
}

TEST(BeamRecords, AreUnknownWithoutDebugInformation) {
    const auto read = beam_records(beam_file("without"));
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE(read->has_information);
    EXPECT_TRUE(read->records.empty());
}

TEST(BeamRecords, AreReadFromTheOlderChunk) {
    // {raw_abstract_v1,[{attribute,1,record,{r,[{record_field,1,{atom,1,a}}]}}]}
    const auto atom = [](const std::string& name) {
        return std::string("w") + static_cast<char>(name.size()) + name;
    };
    const auto tuple = [](char arity) { return std::string("h") + arity; };
    const std::string one("\x61\x01");
    const std::string list("l\0\0\0\1", 5);
    const std::string field =
        tuple(3) + atom("record_field") + one + tuple(3) + atom("atom") + one + atom("a");
    const std::string term = "\x83" + tuple(2) + atom("raw_abstract_v1") + list + tuple(4) +
                             atom("attribute") + one + atom("record") + tuple(2) + atom("r") +
                             list + field + "jj";
    const auto read = beam_records(made_file("Abst", term));
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(read->records.size(), 1U);
    EXPECT_EQ(read->records[0].fields, std::vector<std::string>{"a"});
    // The same under a name that means another format.
    EXPECT_FALSE(
        beam_records(made_file("Dbgi", "\x83" + atom("raw_abstract_v1")))->has_information);
    EXPECT_FALSE(beam_records(made_file("Dbgi", ""))->has_information);
}

TEST(BeamRecords, AreRefusedInWhatIsNoBeamFile) {
    EXPECT_FALSE(beam_records(Bytes{}).has_value());
    EXPECT_FALSE(beam_records(Bytes(100, 'x')).has_value());
    EXPECT_FALSE(beam_records(Bytes{0x1F, 0x8B, 1, 2, 3}).has_value());
}

TEST(BeamRecords, EndWhereverAFileIsCut) {
    const auto file = beam_file("debug_info");
    std::size_t refused = 0;
    for (std::size_t size = 0; size < file.size(); ++size) {
        const auto read = beam_records(std::span(file).first(size));
        refused += read ? 0 : 1;
        EXPECT_TRUE(!read || read->records.size() <= 2);
    }
    EXPECT_GT(refused, file.size() / 2);
}

}  // namespace
}  // namespace beamdump
