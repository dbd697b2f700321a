#include "fake_vm/each_layout.h"

#include <libvm/beam/processes/translated_call.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;

class TranslatedCallTest : public OnStandardNode {
  protected:
    /// Module, function and arity of a process with this dictionary; nothing where there is none.
    std::optional<std::string> call(const std::vector<std::uint64_t>& slots, bool with_key = true) {
        node.worker.dictionary(slots);
        const auto process = view(node.worker);
        const auto key =
            with_key ? std::optional(node.vm.atom_index(TranslatedCalls::kKey)) : std::nullopt;
        const auto found = TranslatedCalls::open(*vm, key)->of(process);
        return found ? std::optional(fmt::format("{} {} {}", found->module_atom(),
                                                 found->function_atom(), found->arity()))
                     : std::nullopt;
    }
    /// Whether a process with this dictionary surely has no entry with the key.
    bool lacks(const std::vector<std::uint64_t>& slots, bool with_key = true) {
        node.worker.dictionary(slots);
        const auto key =
            with_key ? std::optional(node.vm.atom_index(TranslatedCalls::kKey)) : std::nullopt;
        return DictionaryReader::open(*vm)->lacks(view(node.worker), key);
    }
    std::uint64_t entry(std::uint64_t value) {
        return node.worker.tuple({node.vm.atom(TranslatedCalls::kKey), value});
    }
    std::uint64_t mfa(std::uint64_t arity) {
        return node.worker.tuple({node.vm.atom("kernel"), node.vm.atom("init"), arity});
    }
    std::uint64_t nil() { return node.vm.constant("nil"); }
    std::string expected() {
        return fmt::format("{} {} 1", node.vm.atom_index("kernel"), node.vm.atom_index("init"));
    }
};

TEST_P(TranslatedCallTest, IsInTheSlotOfItsAtomsIndex) {
    const auto index = node.vm.atom_index(TranslatedCalls::kKey);
    const auto found = entry(mfa(node.vm.small(1)));
    // The slots that a table of so many in use has for all of the index: of the larger power of
    // two's where that is in use, else the smaller one's.
    for (std::uint64_t slots = 1; slots <= 33; ++slots) {
        std::uint64_t power = 1;
        while (power * 2 <= slots) {
            power *= 2;
        }
        const auto here = index % (2 * power) < slots ? index % (2 * power) : index % power;
        std::vector<std::uint64_t> words(slots, nil());
        words[here] = found;
        EXPECT_EQ(call(words), expected()) << slots;
    }
}

TEST_P(TranslatedCallTest, IsFoundBesideOthersInItsSlot) {
    const auto other = node.worker.tuple({node.vm.atom("other"), node.vm.small(1)});
    const auto found = entry(mfa(node.vm.small(1)));
    const auto last = node.worker.cons(found, nil());
    EXPECT_EQ(call({node.worker.cons(other, last)}), expected());
    EXPECT_EQ(call({other}), std::nullopt);
    EXPECT_EQ(call({node.worker.cons(other, nil())}), std::nullopt);
}

TEST_P(TranslatedCallTest, IsNothingElseThanAFunction) {
    EXPECT_EQ(call({nil()}), std::nullopt);
    EXPECT_EQ(call({}), std::nullopt);
    EXPECT_EQ(call({entry(node.vm.atom("kernel"))}), std::nullopt);
    EXPECT_EQ(call({entry(mfa(nil()))}), std::nullopt);
    EXPECT_EQ(call({entry(mfa(node.vm.small(256)))}), std::nullopt);
    EXPECT_EQ(call({entry(node.worker.tuple({node.vm.atom("kernel"), node.vm.small(1)}))}),
              std::nullopt);
    EXPECT_EQ(call({entry(mfa(node.vm.small(1)))}, false), std::nullopt);
}

TEST_P(TranslatedCallTest, ATornTableGivesNoCall) {
    const auto mapped = entry(mfa(node.vm.small(1)));
    EXPECT_EQ(call({0xdead0000 | (mapped & 7U)}), std::nullopt);
    const auto cell = node.worker.cons(node.vm.small(1), nil());
    node.vm.memory.put((cell & ~std::uint64_t{7}) + 8, cell);
    EXPECT_EQ(call({cell}), std::nullopt);
}

TEST_P(TranslatedCallTest, TheCallOfASensitiveProcessIsNotTold) {
    node.worker.structure().set("common.trace_flags", node.vm.constant("trace_flag_sensitive"));
    EXPECT_EQ(call({entry(mfa(node.vm.small(1)))}), std::nullopt);
}

TEST_P(TranslatedCallTest, KeyIsLackingOnlyWhereItsWholeSlotWasRead) {
    const auto found = entry(mfa(node.vm.small(1)));
    const auto other = node.worker.tuple({node.vm.atom("other"), node.vm.small(1)});
    EXPECT_TRUE(lacks({nil()}));
    EXPECT_TRUE(lacks({other}));
    EXPECT_TRUE(lacks({node.worker.cons(other, node.worker.cons(other, nil()))}));
    EXPECT_FALSE(lacks({found}));
    EXPECT_FALSE(lacks({node.worker.cons(other, node.worker.cons(found, nil()))}));
    // What a collection has moved, and what is no list.
    EXPECT_FALSE(lacks({0xdead0000 | (found & 7U)}));
    EXPECT_FALSE(lacks({node.worker.cons(0xdead0000 | (found & 7U), nil())}));
    EXPECT_FALSE(lacks({node.worker.cons(node.vm.small(1), nil())}));
    EXPECT_FALSE(lacks({node.worker.cons(other, node.vm.small(1))}));
    EXPECT_FALSE(lacks({node.vm.small(1)}));
}

TEST_P(TranslatedCallTest, KeyIsLackingNowhereWhereEntriesAreElsewhereThanExpected) {
    const auto index = node.vm.atom_index(TranslatedCalls::kKey);
    // Of two slots, the other one's.
    std::uint64_t stray = 0;
    for (const std::string_view name : {"stray_1", "stray_2", "stray_3", "stray_4"}) {
        if (node.vm.atom(name); node.vm.atom_index(name) % 2 != index % 2) {
            stray = node.worker.tuple({node.vm.atom(name), node.vm.small(1)});
        }
    }
    ASSERT_NE(stray, 0U);
    EXPECT_FALSE(lacks({stray, stray}));
}

TEST_P(TranslatedCallTest, AtomThatTheNodeLacksIsLackingWhereTheDictionaryIsEmpty) {
    const auto other = node.worker.tuple({node.vm.atom("other"), node.vm.small(1)});
    EXPECT_FALSE(lacks({other}, false));
    EXPECT_FALSE(lacks({nil()}, false));
    node.worker.structure().set("dictionary", 0);
    EXPECT_TRUE(DictionaryReader::open(*vm)->lacks(view(node.worker), std::nullopt));
    node.worker.structure().set("common.trace_flags", node.vm.constant("trace_flag_sensitive"));
    EXPECT_FALSE(DictionaryReader::open(*vm)->lacks(view(node.worker), std::nullopt));
}

TEST_P(TranslatedCallTest, EntriesOfASensitiveProcessAreNotSaidToBeLacking) {
    node.worker.structure().set("common.trace_flags", node.vm.constant("trace_flag_sensitive"));
    EXPECT_FALSE(lacks({nil()}));
}

BEAMDUMP_FOR_EACH_LAYOUT(TranslatedCallTest);

}  // namespace
}  // namespace beamdump::beam
