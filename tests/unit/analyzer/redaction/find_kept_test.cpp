#include "query/redaction/find_kept.h"

#include "program.h"
#include "sample_tables.h"
#include "support/fake_term_context.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::test {
namespace {

using beamdump::testing::FakeTermContext;
using beamdump::testing::TermBuilder;
using Word = TermBuilder::Word;

Word small(std::int64_t value) {
    return TermBuilder::small(value);
}

constexpr std::uint64_t slot_of(Word term, std::uint64_t index) {
    return (term & ~Word{7}) + index * kWordBytes;
}

/// A node with one process, which runs demo:loop, its literals, and one row; and what remains of
/// its terms. Terms are made by `heap_` and `literals_`, and lead to no others.
class FindKept : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const std::string& text : kSampleAtoms) {
            words_.intern(text);
        }
        words_.intern("listed");
        process_.instruction_address = kNormalExit;
    }

    Word atom(std::string_view text) { return heap_.atom(text); }
    Word pair(std::string_view key, Word value) { return heap_.tuple({atom(key), value}); }

    /// The process has these terms on its stack; `return_address`: of the code that it is in.
    void hold(const std::vector<Word>& terms, std::uint64_t return_address = kNormalExit) {
        process_.stack = terms;
        process_.stack.push_back(return_address);
        if (return_address != kNormalExit) {
            process_.stack.push_back(kNormalExit);
        }
    }

    void look(const std::string& lists) {
        const auto policy =
            expect_value(redact::parse_policy(R"({"level": "structure", )" + lists + "}"));
        program_.put("node.beamdump", written());
        dump_ = expect_value(Dump::open(program_.path("node.beamdump")));
        kept_ = std::make_unique<redact::KeptTerms>(
            expect_value(query::find_kept_terms(*dump_, policy, {}, {})));
    }

    /// Whether the word remains that is there.
    bool has_word(std::uint64_t address) {
        Word word = 0;
        expect_value(words_.words(address, std::span(&word, 1)));
        return kept_->has_word(address, word);
    }
    /// Whether an element of a tuple remains, which is no object.
    bool has_element(Word tuple, std::uint64_t number) { return has_word(slot_of(tuple, number)); }
    bool has_atom(std::string_view text) { return kept_->has_atom(words_.intern(text)); }
    bool hides_atom(std::string_view text) { return kept_->hides_atom(words_.intern(text)); }

    FakeTermContext words_;
    TermBuilder heap_{words_, heap_of(1)};
    TermBuilder literals_{words_, kLiteralBase};
    SampleProcess process_;
    std::vector<Word> row_;
    std::unique_ptr<redact::KeptTerms> kept_;

  private:
    std::vector<std::byte> written() {
        SampleDump dump;
        auto& builder = dump.builder();
        const auto own = static_cast<std::uint32_t>(kSampleAtoms.size());
        builder.add_atoms(own, {words_.atoms.begin() + own, words_.atoms.end()});
        if (const auto& words = words_.regions[kLiteralBase]; !words.empty()) {
            add_literals(builder, words);
        }
        process_.heap = words_.regions[heap_of(1)];
        dump.add(process_);
        if (!row_.empty()) {
            records::EtsTables page;
            page.set_first_index(0);
            page.add_table()->set_name_atom(kAlphaAtom);
            builder.trailer().add_ets_tables_offset(
                builder.append(format::RecordKind::kEtsTables, page));
            add_ets_row(builder, 0, row_);
        }
        return dump.finish();
    }

    /// They are those of a module `listed`.
    void add_literals(DumpBuilder& builder, const std::vector<Word>& words) {
        records::RunDirectory directory;
        *directory.add_region() = builder.add_region(
            format::OwnerKind::kNode, 0, format::RegionKind::kLiterals, kLiteralBase, words);
        builder.trailer().set_literals_directory_offset(
            builder.append(format::RecordKind::kRunDirectory, directory));
        records::Module module;
        module.set_name_atom(words_.intern("listed"));
        module.set_instance(records::MODULE_INSTANCE_CURRENT);
        module.set_code_start(kListedCode);
        module.set_code_end(kListedCode + 0x100);
        module.set_literal_area_address(kLiteralBase);
        module.set_literal_area_end(kLiteralBase + words.size() * kWordBytes);
        records::ModuleIndexPage page;
        auto& ref = *page.add_module();
        ref.set_name_atom(module.name_atom());
        ref.set_instance(module.instance());
        ref.set_code_start(module.code_start());
        ref.set_code_end(module.code_end());
        ref.set_offset(builder.append(format::RecordKind::kModule, module));
        builder.trailer().add_module_index_offset(
            builder.append(format::RecordKind::kModuleIndexPage, page));
    }

    static constexpr std::uint64_t kListedCode = 0x9100;
    Program program_;
    std::unique_ptr<Dump> dump_;
};

TEST_F(FindKept, FindsTermsByKey) {
    const Word known = pair("shown", small(1));
    const Word other = pair("other", small(2));
    const Word by_text = heap_.tuple({heap_.heap_binary("shown"), small(3)});
    const Word by_letters = heap_.tuple({heap_.string("shown"), small(4)});
    const Word by_number = heap_.tuple({small(5), small(6)});
    const Word three = heap_.tuple({atom("shown"), small(7), small(8)});
    const Word map = heap_.flat_map({{atom("shown"), small(9)}, {atom("other"), small(10)}});
    hold({known, other, by_text, by_letters, by_number, three, map});
    look(R"("keep_keys": ["shown"])");
    for (const Word kept : {known, by_text, by_letters}) {
        EXPECT_TRUE(has_element(kept, 2));
    }
    for (const Word hidden : {other, by_number, three}) {
        EXPECT_FALSE(has_element(hidden, 2));
    }
    EXPECT_FALSE(has_element(three, 3));
    EXPECT_TRUE(has_word(slot_of(map, otp25::kFlatMapValues)));
    EXPECT_FALSE(has_word(slot_of(map, otp25::kFlatMapValues + 1)));
    // The key too, but no atom beside it.
    EXPECT_TRUE(has_atom("shown"));
    EXPECT_FALSE(has_atom("other"));
}

TEST_F(FindKept, TheKeysOfAMapAreNoPair) {
    const Word own = heap_.flat_map({{atom("shown"), small(1)}, {atom("beside"), small(2)}});
    // Of a map whose keys are a literal.
    const Word keys = literals_.tuple({atom("shown"), atom("literal")});
    const Word shared = TermBuilder::boxed(
        heap_.put({TermBuilder::header(0, 15) | 1U << 8U, 2, keys, small(3), small(4)}));
    hold({own, shared});
    look(R"("keep_keys": ["shown"])");
    EXPECT_TRUE(has_word(slot_of(own, otp25::kFlatMapValues)));
    EXPECT_TRUE(has_word(slot_of(shared, otp25::kFlatMapValues)));
    EXPECT_FALSE(has_atom("beside"));
    EXPECT_FALSE(has_atom("literal"));
}

TEST_F(FindKept, FindsTermsByRecordAndStruct) {
    const Word inner = heap_.tuple({small(1), small(2)});
    const Word record = heap_.tuple({atom("order"), inner, small(3), atom("open")});
    const Word other = heap_.tuple({atom("bill"), small(4), small(5), atom("paid")});
    const auto map_of = [this](std::string_view module, Word value) {
        return heap_.flat_map({{atom("__struct__"), atom(module)}, {atom("count"), value}});
    };
    const Word known = map_of("Elixir.Shop.Cart", small(6));
    const Word unknown = map_of("Elixir.Other", small(7));
    hold({record, other, known, unknown});
    look(R"("keep_records": ["order"], "keep_structs": ["Shop.*"])");
    EXPECT_TRUE(has_element(record, 3));
    EXPECT_TRUE(has_element(inner, 1));
    EXPECT_TRUE(has_element(inner, 2));
    EXPECT_TRUE(has_atom("open"));
    EXPECT_FALSE(has_element(other, 2));
    EXPECT_FALSE(has_atom("paid"));
    EXPECT_TRUE(has_word(slot_of(known, otp25::kFlatMapValues + 1)));
    EXPECT_FALSE(has_word(slot_of(unknown, otp25::kFlatMapValues + 1)));
}

TEST_F(FindKept, HidesTermsInsideKeptOnes) {
    const Word shared = heap_.tuple({small(1), small(2)});
    const Word hidden = pair("private", small(3));
    const Word kept = heap_.tuple({atom("order"), hidden, shared, small(4), atom("twice")});
    // The shared tuple is met as a kept record's before it is met as a hidden key's.
    const Word elsewhere = pair("private", shared);
    const Word atoms = pair("private", heap_.flat_map({{atom("shape"), atom("twice")}}));
    hold({kept, elsewhere, atoms});
    look(R"("keep_records": ["order"], "hide_keys": ["private"])");
    EXPECT_TRUE(has_element(kept, 4));
    EXPECT_FALSE(has_element(hidden, 2));
    EXPECT_FALSE(has_element(shared, 1));
    EXPECT_FALSE(has_element(shared, 2));
    // An atom has one text for all places; one that is a map's key is the map's shape.
    EXPECT_TRUE(hides_atom("twice"));
    EXPECT_FALSE(has_atom("twice"));
    EXPECT_FALSE(hides_atom("shape"));
}

TEST_F(FindKept, TextsAndNumbers) {
    const Word text = heap_.heap_binary("twelve bytes");
    const Word last = slot_of(text, otp25::kHeapBinaryData + 1);
    const Word garbage = 0x5454'5454'0000'0000;
    heap_.poke(last, 0x7365'7479 | garbage);
    const Word original = heap_.heap_binary("private ");
    const Word part = heap_.sub_binary(original, 0, 7);
    const Word number = heap_.floating(1.5);
    const Word big = heap_.big({17, 18});
    const Word record = heap_.tuple({atom("order"), text, part, number, big});
    hold({record});
    look(R"("keep_records": ["order"])");
    EXPECT_TRUE(has_word(slot_of(text, otp25::kHeapBinaryData)));
    // Four bytes of the text, and not what an earlier term left behind them.
    EXPECT_TRUE(kept_->has_word(last, 0x7365'7479));
    EXPECT_FALSE(has_word(last));
    EXPECT_FALSE(has_word(slot_of(text, otp25::kBinarySize)));
    // A part does not tell what else is in the whole.
    EXPECT_FALSE(has_word(slot_of(original, otp25::kHeapBinaryData)));
    EXPECT_TRUE(has_word(slot_of(number, 1)));
    EXPECT_TRUE(has_word(slot_of(big, 1)));
    EXPECT_TRUE(has_word(slot_of(big, 2)));
}

TEST_F(FindKept, LiteralsByWhatIsAmongThem) {
    const Word alone = literals_.floating(1.5);
    const Word hidden = literals_.floating(2.5);
    const Word both = literals_.tuple({atom("order"), hidden, small(1)});
    const Word record = heap_.tuple({atom("order"), alone, pair("private", hidden)});
    hold({record});
    look(R"("keep_records": ["order"], "hide_keys": ["private"])");
    // A process's record does not keep a literal; one of the literals does, but for what a
    // process has in a hidden place.
    EXPECT_FALSE(has_word(slot_of(alone, 1)));
    EXPECT_TRUE(has_element(both, 3));
    EXPECT_FALSE(has_word(slot_of(hidden, 1)));
}

TEST_F(FindKept, LiteralsOfAModule) {
    const Word term = literals_.tuple({small(1), small(2)});
    const Word number = heap_.floating(1.5);
    hold({number});
    look(R"("keep_modules": ["listed"])");
    EXPECT_TRUE(has_element(term, 1));
    EXPECT_FALSE(has_word(slot_of(number, 1)));
    look(R"("keep_modules": ["*"], "hide_modules": ["listed"])");
    EXPECT_FALSE(has_element(term, 1));
    EXPECT_TRUE(has_word(slot_of(number, 1)));
}

TEST_F(FindKept, AllTermsOfAModulesProcesses) {
    const Word number = heap_.floating(1.5);
    const Word entry = heap_.tuple({small(1), small(2)});
    const Word message = heap_.tuple({small(3), small(4)});
    process_.dictionary = {entry};
    process_.messages = {message};
    hold({number});
    look(R"("keep_modules": ["demo"])");
    EXPECT_TRUE(has_word(slot_of(number, 1)));
    EXPECT_TRUE(has_element(entry, 2));
    EXPECT_TRUE(has_element(message, 2));
    look(R"("keep_modules": ["other"])");
    EXPECT_FALSE(has_word(slot_of(number, 1)));
    EXPECT_FALSE(has_element(message, 2));
    // A list by key does not bring them back.
    look(R"("hide_modules": ["demo"], "keep_keys": ["*"], "keep_records": ["*"])");
    EXPECT_FALSE(has_word(slot_of(number, 1)));
}

TEST_F(FindKept, NothingOfAProcessThatIsInAHiddenModule) {
    process_.initial_module = words_.intern("began");
    const Word number = heap_.floating(1.5);
    const std::string lists = R"("keep_modules": ["began"], "hide_modules": ["demo"])";
    hold({number});
    look(lists);
    EXPECT_TRUE(has_word(slot_of(number, 1)));
    hold({number, heap_.atom("said")}, kReturnAddress);
    look(lists);
    EXPECT_FALSE(has_word(slot_of(number, 1)));
    EXPECT_TRUE(hides_atom("said"));
    // By either of the initial calls.
    hold({number});
    process_.translated_arity = 1;  // demo:alpha
    look(lists);
    EXPECT_FALSE(has_word(slot_of(number, 1)));
}

TEST_F(FindKept, EntriesOfADictionary) {
    const Word known = pair("shown", small(42));
    const Word other = pair("other", small(43));
    process_.dictionary = {known, other};
    look(R"("keep_keys": ["shown"])");
    EXPECT_TRUE(has_element(known, 2));
    EXPECT_FALSE(has_element(other, 2));
    EXPECT_TRUE(has_atom("shown"));
    look(R"("keep_keys": ["*"], "hide_keys": ["shown"])");
    EXPECT_FALSE(has_element(known, 2));
    EXPECT_TRUE(has_element(other, 2));
}

TEST_F(FindKept, RowsOfTables) {
    row_ = {tuple_header(2), atom("shown"), small(42)};
    look(R"("keep_keys": ["shown"])");
    EXPECT_TRUE(kept_->has_word(kEtsRow + 2 * kWordBytes, small(42)));
    EXPECT_TRUE(has_atom("shown"));
    look(R"("keep_keys": ["*"], "hide_keys": ["shown"])");
    EXPECT_FALSE(kept_->has_word(kEtsRow + 2 * kWordBytes, small(42)));
}

TEST(FindKeptOf, PersistentTerms) {
    Program program;
    SampleDump sample;
    add_persistent_terms(sample);
    program.put("node.beamdump", sample.finish());
    const auto dump = expect_value(Dump::open(program.path("node.beamdump")));
    // alpha => [0, 1, 2] at 0x70000.
    constexpr std::uint64_t kFirst = 0x70000 + 3 * kWordBytes;
    redact::Policy policy;
    policy.keys.keep = {"alpha"};
    const auto kept = expect_value(query::find_kept_terms(*dump, policy, {}, {}));
    EXPECT_TRUE(kept.has_word(kFirst, small_word(0)));
    EXPECT_TRUE(kept.has_word(kFirst + 4 * kWordBytes, small_word(2)));
    EXPECT_TRUE(kept.has_atom(kAlphaAtom));
    policy.keys.keep = {"loop"};
    EXPECT_FALSE(expect_value(query::find_kept_terms(*dump, policy, {}, {}))
                     .has_word(kFirst, small_word(0)));
}

}  // namespace
}  // namespace beamdump::test
