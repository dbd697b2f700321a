// Terms in external format against the VM's own texts: oracle/make-texts says how they were made.

#include "external_term.h"

#include "oracle_lines.h"
#include "support/external_names.h"

#include <libdump/term/external_term.h>

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>

namespace beamdump::testing {
namespace {

std::string drained(ExternalTermPrinter& printer, std::size_t chunk) {
    std::string text;
    for (;;) {
        const auto before = text.size();
        const auto got = printer.next(chunk, text);
        EXPECT_LE(got, chunk);
        EXPECT_EQ(text.size() - before, got);
        if (got == 0) {
            EXPECT_TRUE(printer.done());
            return text;
        }
    }
}

/// A term's text, and that it comes out the same in pieces of a few bytes.
std::string text_of(const std::string& bytes, FakeExternalNames& names,
                    std::span<const std::uint32_t> cached = {}, std::size_t here = ~std::size_t{0},
                    PrintStatistics* statistics = nullptr,
                    const TagScheme& scheme = otp25_scheme()) {
    StringSource source(bytes, here);
    ExternalTermPrinter printer(names, scheme);
    printer.start({.source = &source, .cached_atoms = cached});
    auto text = drained(printer, 1U << 16U);
    if (statistics != nullptr) {
        *statistics = printer.statistics();
    }
    printer.start({.source = &source, .cached_atoms = cached});
    EXPECT_EQ(drained(printer, 3), text);
    return text;
}

std::string bytes_of(std::initializer_list<int> values) {
    std::string bytes;
    for (const int value : values) {
        bytes.push_back(static_cast<char>(value));
    }
    return bytes;
}

std::string text_of(std::initializer_list<int> values) {
    FakeExternalNames names;
    return text_of(bytes_of(values), names);
}

void expect_oracle(const std::string& file, std::size_t at_least, std::size_t chunk,
                   const TagScheme& scheme = otp25_scheme(),
                   const std::vector<std::string>& atoms = {}) {
    const auto lines = oracle_lines(file);
    ASSERT_GE(lines.size(), at_least);
    FakeExternalNames names;
    names.atoms = atoms;
    ExternalTermPrinter printer(names, scheme);
    for (std::size_t i = 0; i < lines.size(); i += 2) {
        const auto bytes = decode_base64(lines[i]);
        StringSource source(bytes);
        printer.start({.source = &source, .version_byte = true});
        ASSERT_EQ(drained(printer, chunk), lines[i + 1]) << file << ", line " << i + 2;
    }
    EXPECT_EQ(printer.statistics().malformed, 0U);
    EXPECT_EQ(printer.statistics().absent, 0U);
}

TEST(ExternalTermPrinter, PrintsWhatTheVmPrints) {
    expect_oracle("terms.txt", 800, 1U << 20U);
    expect_oracle("terms.txt", 800, 7);
}

TEST(ExternalTermPrinter, SortsTheKeysOfSmallMapsAsTheVmDoes) {
    expect_oracle("shuffled_maps.txt", 300, 1U << 20U);
    expect_oracle("shuffled_maps.txt", 300, 5);
}

TEST(ExternalTermPrinter, PrintsRecordsAsTheVmDoes) {
    const auto scheme = scheme_of(format::TermScheme::kOtp29).value();
    const std::vector<std::string> atoms = {"x", "y", "Mid", "zz_last", "aa_first"};
    expect_oracle("native_records.txt", 8, 1U << 20U, scheme, atoms);
    expect_oracle("native_records.txt", 8, 3, scheme, atoms);
}

TEST(ExternalTermPrinter, PrintsTheFieldsOfACutRecordAsTheyWereDeclared) {
    const auto scheme = scheme_of(format::TermScheme::kOtp29).value();
    FakeExternalNames names;
    names.atoms = {"a", "b", "m"};
    // #m:m{b=1,a="xyz"}
    const auto bytes = bytes_of({67, 0,   0,   0, 2,   0,  119, 1,   'm', 119, 1,   'm', 119,
                                 1,  'b', 119, 1, 'a', 97, 1,   107, 0,   3,   'x', 'y', 'z'});
    const auto text = [&](std::size_t here) {
        return text_of(bytes, names, {}, here, nullptr, scheme);
    };
    EXPECT_EQ(text(bytes.size()), "#m:m{a=\"xyz\",b=1}");
    EXPECT_EQ(text(20), "#m:m{b=1,a=#Absent<byte 20 of 26>}");
    EXPECT_EQ(text(16), "#m:m{#Absent<byte 15 of 26>}");
    EXPECT_EQ(text(11), "#m:#Absent<byte 11 of 26>");
    EXPECT_EQ(text_of(bytes.substr(0, 20), names, {}, bytes.size(), nullptr, scheme),
              "#m:m{b=1,a=#Malformed<byte 20 of 20>}");
    EXPECT_EQ(text_of({67, 0, 0, 0, 1, 0, 119, 1, 'm', 119, 1, 'm', 97, 1, 97, 1}),
              "#m:m{#Malformed<byte 12 of 16>}");
    EXPECT_EQ(text_of({67, 0, 0, 0, 0, 2, 119, 1, 'm', 119, 1, 'm'}), "#Malformed<byte 0 of 12>");
    EXPECT_EQ(text_of({67, 0, 1, 0, 0, 0, 119, 1, 'm', 119, 1, 'm'}), "#Malformed<byte 0 of 12>");
}

TEST(ExternalTermPrinter, SortsAtomKeysByTheAtomTableFromOtp26On) {
    FakeExternalNames names;
    names.atoms = {"zero", "late", "early"};
    const std::vector<std::uint32_t> cached = {2};
    // Unknown, then early (of the cache), late, unknown, and 5.
    const auto bytes =
        bytes_of({116, 0,   0,   0,   5,  119, 1,   'x', 97,  1,  82, 0,  97, 2,  119, 4,
                  'l', 'a', 't', 'e', 97, 3,   119, 1,   'b', 97, 4,  97, 5,  97, 5});
    for (const auto id : {format::TermScheme::kOtp27, format::TermScheme::kOtp29}) {
        EXPECT_EQ(text_of(bytes, names, cached, bytes.size(), nullptr, scheme_of(id).value()),
                  "#{5=>5,late=>3,early=>2,x=>1,b=>4}");
    }
    EXPECT_EQ(text_of(bytes, names, cached), "#{5=>5,b=>4,early=>2,late=>3,x=>1}");
    // {a,1} before {zero,1}, as their texts are: only whole keys compare by the table.
    EXPECT_EQ(
        text_of(bytes_of({116, 0, 0,  0, 2,   104, 2,   119, 4,   'z', 'e', 'r', 'o',
                          97,  1, 97, 1, 104, 2,   119, 1,   'a', 97,  1,   97,  2}),
                names, {}, ~std::size_t{0}, nullptr, scheme_of(format::TermScheme::kOtp27).value()),
        "#{{a,1}=>2,{zero,1}=>1}");
}

TEST(ExternalTermPrinter, KnowsAtomsByTheirPlaceInTheCache) {
    FakeExternalNames names;
    names.atoms = {"zero", "first one", "node@far"};
    const std::vector<std::uint32_t> cached = {2, 1};
    // {'first one', <number.serial of node@far>, unknown}
    const auto bytes =
        bytes_of({104, 3, 82, 1, 88, 82, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 82, 2});
    PrintStatistics statistics;
    EXPECT_EQ(text_of(bytes, names, cached, ~std::size_t{0}, &statistics),
              "{'first one',<2.5.6>,#Absent<atom 2>}");
    EXPECT_EQ(statistics.absent, 1U);
}

TEST(ExternalTermPrinter, FindsTheChannelOfANodeThatIsNamedInFull) {
    FakeExternalNames names;
    names.atoms = {"zero", "n@h"};
    const auto port = bytes_of({120, 119, 3, 'n', '@', 'h', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 9});
    EXPECT_EQ(text_of(port, names), "#Port<1.256>");
    names.this_node = "n@h";
    EXPECT_EQ(text_of(port, names), "#Port<0.256>");
    names.this_node = "other@h";
    names.atoms = {"zero"};
    EXPECT_EQ(text_of(port, names), "#Port<?.256>");
}

TEST(ExternalTermPrinter, PrintsTheOlderTags) {
    EXPECT_EQ(text_of({100, 0, 2, 'a', 0xE9}), "aé");
    EXPECT_EQ(text_of({102, 119, 1, 'n', 0, 0, 0, 7, 1}), "#Port<?.7>");
    EXPECT_EQ(text_of({89, 119, 1, 'n', 0, 0, 0, 7, 0, 0, 0, 1}), "#Port<?.7>");
    EXPECT_EQ(text_of({103, 119, 1, 'n', 0, 0, 0, 7, 0, 0, 0, 8, 1}), "<?.7.8>");
    EXPECT_EQ(text_of({101, 119, 1, 'n', 0, 0, 0, 7, 1}), "#Ref<?.7>");
    EXPECT_EQ(text_of({114, 0, 2, 119, 1, 'n', 1, 0, 0, 0, 7, 0, 0, 0, 8}), "#Ref<?.8.7>");
    std::string text = "c1.50000000000000000000e+00";
    text.resize(32, '\0');
    FakeExternalNames names;
    EXPECT_EQ(text_of(text, names), "1.500000e+00");
    EXPECT_EQ(text_of({98, 0xFF, 0xFF, 0xFF, 0xFE}), "-2");
    EXPECT_EQ(text_of({110, 9, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0}), "-5");
}

TEST(ExternalTermPrinter, GoesOnInListsThatAreTheTailOfLists) {
    EXPECT_EQ(text_of({108, 0, 0, 0, 1, 97, 1, 108, 0, 0, 0, 1, 97, 2, 106}), "[1,2]");
    EXPECT_EQ(text_of({108, 0, 0, 0, 1, 97, 'a', 107, 0, 2, 'b', 'c'}), "\"abc\"");
    EXPECT_EQ(text_of({108, 0, 0, 0, 1, 97, 'a', 107, 0, 1, 1}), "[97,1]");
    EXPECT_EQ(text_of({108, 0, 0, 0, 1, 97, 1, 107, 0, 0}), "[1]");
    EXPECT_EQ(text_of({108, 0, 0, 0, 0, 97, 1}), "1");
    EXPECT_EQ(text_of({108, 0, 0, 0, 1, 97, 1, 97, 2}), "[1|2]");
    EXPECT_EQ(text_of({107, 0, 2, '"', '\n'}), "\"\\\"\\n\"");
}

TEST(ExternalTermPrinter, PrintsLargeMapsInTheOrderOfTheMessage) {
    std::string bytes = bytes_of({116, 0, 0, 0, 33});
    std::string text = "#{";
    for (int key = 33; key > 0; --key) {
        bytes += bytes_of({97, key, 97, 0});
        text += fmt::format("{}=>0{}", key, key == 1 ? "}" : ",");
    }
    FakeExternalNames names;
    EXPECT_EQ(text_of(bytes, names), text);
}

TEST(ExternalTermPrinter, LeavesMapsWhoseOrderCannotBeToldAsTheyAre) {
    // Keys #{1=>1} and #{0=>0}, then 1.
    EXPECT_EQ(text_of({116, 0, 0, 0, 3, 116, 0, 0,  0, 1,  97, 1,  97, 1,  97, 7,
                       116, 0, 0, 0, 1, 97,  0, 97, 0, 97, 7,  97, 1,  97, 7}),
              "#{#{1=>1}=>7,#{0=>0}=>7,1=>7}");
}

TEST(ExternalTermPrinter, MarksWhatMakesNoTermAndClosesWhatIsOpen) {
    EXPECT_EQ(text_of({200}), "#Malformed<byte 0 of 1>");
    EXPECT_EQ(text_of({104, 2, 97, 1, 200}), "{1,#Malformed<byte 4 of 5>}");
    EXPECT_EQ(text_of({108, 0, 0, 0, 2, 97, 1, 105, 255, 255, 255, 255, 106}),
              "[1,#Malformed<byte 7 of 13>]");
    EXPECT_EQ(text_of({116, 0, 0, 0, 1, 97, 1}), "#{1=>#Malformed<byte 7 of 7>}");
    EXPECT_EQ(text_of({116, 0, 0, 0, 1, 97, 1, 1}), "#{1=>#Malformed<byte 7 of 8>}");
    EXPECT_EQ(text_of({109, 0, 0, 1, 0, 1}), "#Malformed<byte 0 of 6>");
    EXPECT_EQ(text_of({70, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0}), "#Malformed<byte 0 of 9>");
    EXPECT_EQ(text_of({77, 0, 0, 0, 1, 9, 0}), "#Malformed<byte 0 of 7>");
    EXPECT_EQ(text_of({111, 255, 255, 255, 255, 0}), "#Malformed<byte 0 of 6>");
    FakeExternalNames names;
    EXPECT_EQ(text_of(std::string(), names), "#Malformed<byte 0 of 0>");
}

TEST(ExternalTermPrinter, RefusesATermWithoutItsVersion) {
    FakeExternalNames names;
    ExternalTermPrinter printer(names, otp25_scheme());
    const auto bytes = bytes_of({104, 0});
    StringSource source(bytes);
    printer.start({.source = &source, .version_byte = true});
    EXPECT_EQ(drained(printer, 100), "#Malformed<byte 0 of 2>");
    EXPECT_EQ(printer.statistics().malformed, 1U);
}

TEST(ExternalTermPrinter, EndsWhereverATermIsCut) {
    const auto lines = oracle_lines("terms.txt");
    FakeExternalNames names;
    ExternalTermPrinter printer(names, otp25_scheme());
    std::uint64_t cuts = 0;
    for (std::size_t i = 0; i < lines.size(); i += 2) {
        const auto bytes = decode_base64(lines[i]);
        if (bytes.size() > 400) {
            continue;
        }
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            const auto cut = bytes.substr(0, length);
            StringSource source(cut);
            printer.start({.source = &source, .version_byte = true});
            EXPECT_NE(drained(printer, 1U << 16U).find("#Malformed<byte "), std::string::npos);
            StringSource partial(bytes, length);
            printer.start({.source = &partial, .version_byte = true});
            EXPECT_NE(drained(printer, 1U << 16U).find("#Absent<byte "), std::string::npos);
            ++cuts;
        }
    }
    EXPECT_GT(cuts, 5000U);
    EXPECT_EQ(printer.statistics().malformed, cuts);
}

TEST(ExternalTermPrinter, MarksBytesThatTheDumpLacks) {
    FakeExternalNames names;
    PrintStatistics statistics;
    EXPECT_EQ(text_of(bytes_of({104, 2, 97, 1, 109, 0, 0, 0, 3, 'a', 'b', 'c'}), names, {}, 11,
                      &statistics),
              "{1,<<\"ab#Absent<byte 11 of 12>\">>}");
    EXPECT_EQ(statistics.absent, 1U);
    EXPECT_EQ(statistics.malformed, 0U);
}

TEST(ExternalTermPrinter, AMillionLevelsPrint) {
    constexpr std::size_t kLevels = 1'000'000;
    std::string bytes;
    for (std::size_t i = 0; i < kLevels / 2; ++i) {
        bytes += bytes_of({104, 1, 108, 0, 0, 0, 1});
    }
    bytes += bytes_of({97, 5});
    bytes.append(kLevels / 2, '\x6A');
    FakeExternalNames names;
    StringSource source(bytes);
    ExternalTermPrinter printer(names, otp25_scheme());
    printer.start({.source = &source});
    std::string expected;
    for (std::size_t i = 0; i < kLevels / 2; ++i) {
        expected += "{[";
    }
    expected += "5";
    for (std::size_t i = 0; i < kLevels / 2; ++i) {
        expected += "]}";
    }
    EXPECT_EQ(drained(printer, 1U << 20U), expected);
}

TEST(ExternalTermPrinter, DeeplyNestedMapsDoNotTakeForever) {
    // Each map's second key would have to come first: beyond what looking ahead may cost, it stays.
    constexpr std::size_t kLevels = 20'000;
    std::string bytes;
    for (std::size_t i = 0; i < kLevels; ++i) {
        bytes += bytes_of({116, 0, 0, 0, 2, 97, 2});
    }
    bytes += bytes_of({97, 0});
    for (std::size_t i = 0; i < kLevels; ++i) {
        bytes += bytes_of({97, 1, 97, 0});
    }
    FakeExternalNames names;
    StringSource source(bytes);
    ExternalTermPrinter printer(names, otp25_scheme());
    printer.start({.source = &source});
    const auto text = drained(printer, 1U << 20U);
    EXPECT_TRUE(text.starts_with("#{1=>0,2=>#{1=>0,2=>"));
    EXPECT_NE(text.find("#{2=>#{2=>"), std::string::npos);
    EXPECT_TRUE(text.ends_with("}}}"));
    EXPECT_EQ(printer.statistics().malformed, 0U);
}

}  // namespace
}  // namespace beamdump::testing
