// Terms and objects as a crash dump has them, each kind once: OTP 25's words.
#include "support/fake_term_context.h"
#include "support/memory_sink.h"

#include <libdump/crash/export/terms/term_export.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace beamdump::crash {

namespace {

using testing::FakeTermContext;
using testing::TermBuilder;
using Word = std::uint64_t;

class CrashDumpTerms : public ::testing::Test {
  protected:
    CrashDumpTerms() { node_.self = {"n@h", 7}; }

    std::string element(Word word) {
        return made([word](TermExport& terms) { terms.element(word); });
    }

    /// The line of an object, without its address, which must come first.
    std::string object(Word word) {
        const std::string line = made([&](TermExport& terms) {
            const auto object = heap_object(terms.scheme(), terms.words(), word);
            ASSERT_TRUE(object);
            written_ = terms.object(*object);
        });
        const std::string address = fmt::format("{:X}:", pointer_of(word));
        EXPECT_TRUE(line.empty() || line.starts_with(address)) << line;
        return line.empty() ? line : line.substr(address.size());
    }

    static std::string at(Word word) { return fmt::format("H{:X}", pointer_of(word)); }

    static std::string part_of(Word word, std::string_view range) {
        return fmt::format("Ys{:X}:{}\n", pointer_of(word), range);
    }

    template <typename Make>
    std::string made(const Make& make) {
        const auto content = std::make_shared<beamdump::test::SinkContent>();
        beamdump::test::MemorySink sink(content);
        TextOutput text(sink);
        TermExport terms(text, context_, testing::otp25_scheme(), node_);
        make(terms);
        text.flush();
        missing_ = terms.missing();
        return {reinterpret_cast<const char*>(content->bytes.data()), content->bytes.size()};
    }

    FakeTermContext context_;
    TermBuilder build_{context_};
    NodeFacts node_;
    bool written_ = true;
    std::uint64_t missing_ = 0;
};

TEST_F(CrashDumpTerms, Immediates) {
    EXPECT_EQ(element(TermBuilder::small(-42)), "I-42");
    EXPECT_EQ(element(TermBuilder::nil()), "N");
    EXPECT_EQ(element(TermBuilder::pid(12, 3)), "P<0.12.3>");
    EXPECT_EQ(element(TermBuilder::port(9)), "p<0.9>");
    EXPECT_EQ(element(build_.atom("Needs Quotes")), "AC:Needs Quotes");
    EXPECT_EQ(element(build_.atom("\xC3\xA5")), "A2:\xC3\xA5");
    EXPECT_EQ(missing_, 0U);
}

TEST_F(CrashDumpTerms, AMalformedTermIsAbsent) {
    EXPECT_EQ(element(Word{12345} << 6U | 0xBU), "H0");
    EXPECT_EQ(missing_, 1U);
    EXPECT_EQ(element(TermBuilder::header(2, 0)), "H0");
    EXPECT_EQ(missing_, 1U);
}

TEST_F(CrashDumpTerms, AnAtomWithALineBreakIsAnObject) {
    const Word word = build_.atom("a\nb");
    const auto index = static_cast<std::uint32_t>(table_index(word));
    const std::string address = fmt::format("{:X}", 0xFFFF'8000'0000'0000U + index * 8);
    EXPECT_EQ(element(word), "H" + address);
    // 131, SMALL_ATOM_UTF8_EXT 119, 3 bytes.
    EXPECT_EQ(made([&](TermExport& terms) { terms.atom_object(index); }),
              address + ":E6:g3cDYQpi\n");
}

TEST_F(CrashDumpTerms, CellsAndTuples) {
    const Word list = build_.cons(TermBuilder::small(1), build_.atom("a"));
    EXPECT_EQ(object(list), "lI1|A1:a\n");
    EXPECT_EQ(object(build_.tuple({})), "t0:\n");
    EXPECT_EQ(object(build_.tuple({list, TermBuilder::nil()})), "t2:" + at(list) + ",N\n");
}

TEST_F(CrashDumpTerms, Numbers) {
    EXPECT_EQ(object(build_.floating(-1.5)), "F1B:-1.50000000000000000000e+00\n");
    EXPECT_EQ(object(build_.big({0, 1})), "B18446744073709551616\n");
    EXPECT_EQ(object(build_.big({5}, true)), "B-5\n");
    std::vector<Word> large(1025, 0);
    large.back() = 0xAB;
    const std::string line = object(build_.big(large, true));
    EXPECT_TRUE(line.starts_with("B-16#00000000000000AB0000")) << line.substr(0, 30);
    EXPECT_EQ(line.size(), 5 + 1025 * 16 + 1U);
}

TEST_F(CrashDumpTerms, BinariesOnTheHeap) {
    const Word whole = build_.heap_binary("hello");
    EXPECT_EQ(object(whole), "Yh5:aGVsbG8=\n");
    EXPECT_EQ(object(build_.sub_binary(whole, 1, 3)), part_of(whole, "1:3"));
    EXPECT_EQ(object(build_.heap_binary("")), "Yh0:\n");
}

TEST_F(CrashDumpTerms, BinariesElsewhere) {
    const Word whole = build_.refc_binary(std::string(100, 'x'));
    EXPECT_EQ(object(whole), "Yc7E0000000000:0:64\n");
    // As the VM tells a part from the whole: they have not as many words.
    EXPECT_EQ(object(build_.sub_binary(whole, 16, 32)), "Ys7E0000000000:10:20\n");
    const Word matching =
        TermBuilder::boxed(build_.put({TermBuilder::header(4, 1), whole, 0, 128, 384}));
    EXPECT_EQ(object(matching), "Ys7E0000000000:10:20\n");
    // One that begins within a byte has no place: 131, BINARY_EXT 109, 3 bytes.
    EXPECT_EQ(object(build_.sub_binary(whole, 0, 3, 4)), "E9:g20AAAADh4eH\n");
}

TEST_F(CrashDumpTerms, BitStrings) {
    // 131, BIT_BINARY_EXT 77, 2 bytes, of the last 3 bits.
    const Word whole = build_.heap_binary("hi");
    EXPECT_EQ(object(build_.sub_binary(whole, 0, 1, 0, 3)), "E9:g00AAAACA2hg\n");
}

TEST_F(CrashDumpTerms, AMatchContextIsWhatIsLeft) {
    const Word whole = build_.heap_binary("hello");
    const Word context =
        TermBuilder::boxed(build_.put({TermBuilder::header(5, 1), whole, 0, 8, 40, 0}));
    EXPECT_EQ(object(context), part_of(whole, "1:4"));
    // 131, BIT_BINARY_EXT 77, 2 bytes, of the last 4 bits.
    const Word within =
        TermBuilder::boxed(build_.put({TermBuilder::header(5, 1), whole, 0, 8, 20, 0}));
    EXPECT_EQ(object(within), "E9:g00AAAACBGVg\n");
}

TEST_F(CrashDumpTerms, ABinaryWhoseBytesAreNotAllHereHasNoLineAndNoParts) {
    const Word whole = build_.heap_binary("hello, hello");
    context_.absent_begin = pointer_of(whole) + 24;
    context_.absent_end = context_.absent_begin + 8;
    EXPECT_EQ(object(whole), "");
    EXPECT_FALSE(written_);
    // 131, BINARY_EXT 109, 3 bytes.
    EXPECT_EQ(object(build_.sub_binary(whole, 1, 3)), "E9:g20AAAADZWxs\n");
    EXPECT_EQ(object(build_.sub_binary(whole, 6, 6)), "");
    EXPECT_FALSE(written_);
}

TEST_F(CrashDumpTerms, Maps) {
    const Word map = build_.flat_map({{build_.atom("k"), TermBuilder::small(1)}});
    std::uint64_t keys = 0;
    WordReader(context_).read(pointer_of(map) + 16, keys);
    EXPECT_EQ(object(map), "Mf1:" + at(keys) + ":I1\n");
    const Word pair = build_.cons(TermBuilder::small(1), TermBuilder::small(2));
    const Word node = build_.hash_node(0x3, {pair, pair});
    EXPECT_EQ(object(node), "Mn2:" + at(pair) + "," + at(pair) + "\n");
    EXPECT_EQ(object(build_.hash_head(0x3, 33, {node, pair})),
              "Mh21:2:" + at(node) + "," + at(pair) + "\n");
}

TEST_F(CrashDumpTerms, IdentifiersOfOtherNodes) {
    const std::uint64_t other = build_.node("o@h");
    const std::string channel = std::to_string(context_.nodes[other].name_atom);
    EXPECT_EQ(object(build_.external_pid(other, 5, 6)), "P<" + channel + ".5.6>\n");
    EXPECT_EQ(object(build_.external_port(other, 8)), "p<" + channel + ".8>\n");
    // 131, NEWER_REFERENCE_EXT 90, 2 numbers, node, creation 1, the lowest first.
    EXPECT_EQ(object(build_.external_reference(other, {1, 2})),
              "E15:g1oAAncDb0BoAAAAAQAAAAEAAAAC\n");
}

TEST_F(CrashDumpTerms, References) {
    // ... node n@h, creation 7, numbers 1, 2, 3.
    const std::string line = "E19:g1oAA3cDbkBoAAAABwAAAAEAAAACAAAAAw==\n";
    EXPECT_EQ(object(build_.reference({1, 2, 3})), line);
    EXPECT_EQ(object(build_.magic_reference({1, 2, 3})), line);
}

TEST_F(CrashDumpTerms, Funs) {
    // 131, EXPORT_EXT 113, m, f, 2.
    EXPECT_EQ(object(build_.export_fun("m", "f", 2)), "EA:g3F3AW13AWZhAg==\n");
    const Word fun = build_.local_fun("m", 1, 5, {TermBuilder::small(1), TermBuilder::nil()});
    EXPECT_EQ(object(fun), "");
    EXPECT_FALSE(written_) << "its entry is not in the fun table";
    std::uint64_t entry = 0;
    WordReader(context_).read(pointer_of(fun) + 8, entry);
    node_.funs[entry] = {context_.intern("m"), 1, 1, 5, std::string(16, 'u')};
    const std::string line = object(fun);
    EXPECT_TRUE(written_);
    EXPECT_TRUE(line.starts_with("E")) << line;
}

TEST_F(CrashDumpTerms, ElementsThatAreNotInTheDump) {
    const Word tuple = build_.tuple({TermBuilder::small(1), TermBuilder::small(2)});
    context_.absent_begin = pointer_of(tuple) + 16;
    context_.absent_end = context_.absent_begin + 8;
    EXPECT_EQ(object(tuple), "t2:I1,H0\n");
    EXPECT_EQ(missing_, 1U);
}

}  // namespace

}  // namespace beamdump::crash
