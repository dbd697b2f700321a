// Terms as OTP 29 lays them out and prints them, where that differs from OTP 27.

#include "bit_terms.h"

namespace beamdump::testing {
namespace {

class Otp29Terms : public BitTerms {
  protected:
    Otp29Terms() : BitTerms(format::TermScheme::kOtp29) {}

    static Word fun_header(Word arity, Word environment, bool external) {
        return (external ? 1U : 0U) << 24U | environment << 16U | arity << 8U | kFunSubtag << 2U;
    }

    /// As the loader makes it: fields in the order of the atom table.
    Word definition(std::string_view module, std::string_view name,
                    const std::vector<std::string>& keys) {
        std::vector<Word> order;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            order.push_back(TermBuilder::small(static_cast<std::int64_t>(i)));
        }
        std::vector<Word> parts = {b.tuple(order), TermBuilder::small(4711), b.atom(module),
                                   b.atom(name), b.atom("false")};
        for (const auto& key : keys) {
            parts.push_back(b.atom(key));
        }
        return b.tuple(parts);
    }

    Word record(Word of, const std::vector<Word>& values) {
        std::vector<Word> words = {TermBuilder::header(values.size() + 1, kRecordSubtag), of};
        words.insert(words.end(), values.begin(), values.end());
        return TermBuilder::boxed(b.put(words));
    }
};

TEST_F(Otp29Terms, AFunSaysInItsHeaderWhetherItIsExternal) {
    context.funs[0x9000] = {
        .module_atom = context.intern("some_module"), .index = 3, .old_uniq = -17};
    context.exports[0xA000] = context.function("lists", "map", 2);
    const auto local = TermBuilder::boxed(
        b.put({fun_header(2, 2, false), 0x9000, TermBuilder::small(1), b.atom("free")}));
    EXPECT_EQ(text(local), "#Fun<some_module.3.-17>");
    const auto found = object(local);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->words, 4U);
    EXPECT_EQ(found->copy_words, 4U);
    EXPECT_EQ(found->terms.first, 2U);
    EXPECT_EQ(found->terms.count, 2U);
    const auto bare = TermBuilder::boxed(b.put({fun_header(0, 0, false), 0x9000}));
    EXPECT_EQ(text(bare), "#Fun<some_module.3.-17>");
    EXPECT_EQ(object(bare)->words, 2U);
    const auto external = TermBuilder::boxed(b.put({fun_header(2, 0, true), 0xA000}));
    EXPECT_EQ(text(external), "fun lists:map/2");
    EXPECT_EQ(object(external)->words, 2U);
    EXPECT_EQ(object(external)->terms.count, 0U);
    EXPECT_EQ(malformed, 0U);
}

TEST_F(Otp29Terms, AnExternalFunHasNoEnvironment) {
    EXPECT_FALSE(object(TermBuilder::boxed(b.put({fun_header(2, 1, true), 0xA000, 0, 0}))));
    EXPECT_FALSE(object(TermBuilder::boxed(b.put({Word{1} << 25U | kFunSubtag << 2U, 0, 0, 0}))));
}

TEST_F(Otp29Terms, RecordsPrintTheirFieldsByTheDefinition) {
    const auto point = definition("geometry", "point", {"x", "Y"});
    EXPECT_EQ(text(record(point, {TermBuilder::small(1), b.tuple({b.atom("a")})})),
              "#geometry:point{x=1,'Y'={a}}");
    EXPECT_EQ(text(record(definition("some mod", "Empty", {}), {})), "#'some mod':'Empty'{}");
    const auto inner = record(point, {TermBuilder::nil(), TermBuilder::nil()});
    EXPECT_EQ(text(b.list({record(point, {inner, b.string("text")}), b.atom("last")})),
              "[#geometry:point{x=#geometry:point{x=[],'Y'=[]},'Y'=\"text\"},last]");
    EXPECT_EQ(malformed, 0U);
}

TEST_F(Otp29Terms, ARecordsNamesAndKeysAreCharged) {
    const auto of = definition("abc", "de", {"k", "l"});
    const auto word = record(of, {TermBuilder::small(1), TermBuilder::small(2)});
    // Itself and "abc" use up 4.
    EXPECT_EQ(text(word, 4), "#abc... ");
    EXPECT_EQ(text(word, 5), "#abc:de... ");
    EXPECT_EQ(text(word, 6), "#abc:de... ");
    EXPECT_EQ(text(word, 7), "#abc:de{k... ");
    EXPECT_EQ(text(word, 8), "#abc:de{k... ");
    EXPECT_EQ(text(word, 9), "#abc:de{k=1,... ");
    EXPECT_EQ(text(word, 11), "#abc:de{k=1,l... ");
    EXPECT_EQ(text(word, 12), "#abc:de{k=1,l=2}... ");
    EXPECT_EQ(text(word, 13), "#abc:de{k=1,l=2}");
}

TEST_F(Otp29Terms, ARecordsDefinitionIsCountedWithIt) {
    const auto of = definition("geometry", "point", {"x", "y"});
    const auto found = object(record(of, {TermBuilder::small(1), TermBuilder::small(2)}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, BoxedKind::kRecord);
    EXPECT_EQ(found->words, 4U);
    EXPECT_EQ(found->copy_words, 4U);
    EXPECT_EQ(found->terms.first, 1U);
    EXPECT_EQ(found->terms.count, 3U);
    EXPECT_FALSE(found->keeps_only());
}

TEST_F(Otp29Terms, RecordsWithoutTheirDefinitionAreMarked) {
    const auto one = TermBuilder::small(1);
    const auto unreadable = [&](Word word) { return text(word).substr(0, 12) == "#Unreadable<"; };
    EXPECT_TRUE(unreadable(record(one, {one})));
    EXPECT_TRUE(unreadable(record(TermBuilder::boxed(0x1000), {one})));
    EXPECT_TRUE(unreadable(record(definition("m", "n", {"x", "y"}), {one})));
    EXPECT_TRUE(unreadable(record(b.tuple({one, one, one, one, one, one}), {one})));
    EXPECT_TRUE(unreadable(TermBuilder::boxed(b.put({TermBuilder::header(0, kRecordSubtag)}))));
    EXPECT_FALSE(object(TermBuilder::boxed(b.put({TermBuilder::header(0, kRecordSubtag)}))));
    EXPECT_FALSE(unreadable(record(definition("m", "n", {"x"}), {one})));
}

TEST_F(Otp29Terms, ADefinitionShowsMissingDefaults) {
    EXPECT_EQ(text(b.tuple({TermBuilder::catch_word(0), b.atom("x")})), "{<novalue>,x}");
    EXPECT_EQ(text(TermBuilder::catch_word(1)).substr(0, 12), "#Unreadable<");
}

TEST_F(Otp29Terms, HeadersThatOnlyOthersHaveAreNoObjects) {
    for (const Word subtag : {kFunRefSubtag, Word{15}}) {
        EXPECT_EQ(boxed_kind(scheme, TermBuilder::header(2, subtag)), BoxedKind::kUnknown);
    }
}

}  // namespace
}  // namespace beamdump::testing
