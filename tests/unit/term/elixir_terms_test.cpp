// Terms in Elixir's syntax, by both printers, against the texts of Elixir's inspect/2 (oracle/
// make-texts), and what these do not have: incomplete, hostile and torn terms.

#include "external_term.h"
#include "oracle_lines.h"
#include "print_term.h"
#include "support/external_names.h"

#include <libdump/term/external_term.h>
#include <libdump/term/record_names.h>

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

TagScheme elixir_scheme(const RecordNames* records = nullptr) {
    TagScheme scheme = otp25_scheme();
    scheme.style = {TermSyntax::kElixir, records};
    return scheme;
}

std::string elixir(FakeTermContext& context, std::uint64_t word, std::size_t chunk = 1U << 20U) {
    TermPrinter printer(context, elixir_scheme());
    return print_with(printer, word, chunk);
}

TEST(ElixirTerms, PrintAsInspectDoes) {
    const auto lines = oracle_lines("elixir.txt");
    ASSERT_GT(lines.size(), 1200U);
    for (std::size_t i = 0; i < lines.size(); i += 2) {
        FakeTermContext context;
        TermBuilder builder(context);
        const auto word = build_external(context, builder, decode_base64(lines[i]));
        for (const std::size_t chunk : {1U << 20U, 1U, 5U}) {
            ASSERT_EQ(elixir(context, word, chunk), lines[i + 1]) << "line " << i + 2;
        }
    }
}

TEST(ElixirTerms, InExternalFormatPrintTheSame) {
    const auto lines = oracle_lines("elixir.txt");
    FakeExternalNames names;
    ExternalTermPrinter printer(names, elixir_scheme());
    for (std::size_t i = 0; i < lines.size(); i += 2) {
        const auto bytes = decode_base64(lines[i]);
        StringSource source(bytes);
        printer.start({.source = &source, .version_byte = true});
        std::string text;
        while (printer.next(7, text) != 0) {
        }
        ASSERT_EQ(text, lines[i + 1]) << "line " << i + 2;
    }
}

TEST(ElixirTerms, NamesOfOtherScriptsAreQuoted) {
    EXPECT_EQ(elixir_atom("日本"), ":\"日本\"");
    EXPECT_EQ(elixir_key("日本"), "\"日本\":");
    EXPECT_EQ(elixir_atom("\xFF"), ":\"\\xFF\"");
    EXPECT_EQ(elixir_atom("a\xC3"), ":\"a\\xC3\"");
}

TEST(ElixirTerms, ModulesAndTheirFunctionsHaveElixirsNames) {
    EXPECT_EQ(elixir_name("'Elixir.Shop.Cart'"), "Shop.Cart");
    EXPECT_EQ(elixir_name("'Elixir.Shop.Cart':init/1"), "Shop.Cart.init/1");
    EXPECT_EQ(elixir_name("'Elixir.Shop.Cart':'is empty?'/1"), "Shop.Cart.\"is empty?\"/1");
    for (const std::string other :
         {"'Elixir.shop'", "shop:init/1", "'Elixir.Shop", "'Elixir.Shop' 7", "#Ref<0.1.2.3>", ""}) {
        EXPECT_EQ(elixir_name(other), other);
    }
}

TEST(ElixirTerms, ConfusingCharactersAreEscaped) {
    FakeTermContext context;
    TermBuilder builder(context);
    EXPECT_EQ(elixir(context, builder.heap_binary("a\u202Eb\u200Bc\u00A0d\u2028\uFEFF\uFFF9")),
              R"("a\u202Eb\u200Bc\u00A0d\u2028\uFEFF\uFFF9")");
    EXPECT_EQ(elixir(context, builder.atom("a\u202Eb")), R"(:"a\u202Eb")");
    EXPECT_EQ(elixir(context, builder.atom("\u0085\uFFFE")), R"(:"\x85\x{FFFE}")");
}

TEST(ElixirTerms, IdentifiersAndFuns) {
    FakeTermContext context;
    TermBuilder builder(context);
    EXPECT_EQ(elixir(context, TermBuilder::pid(12, 3)), "#PID<0.12.3>");
    EXPECT_EQ(elixir(context, TermBuilder::port(7)), "#Port<0.7>");
    EXPECT_EQ(elixir(context, builder.reference({1, 2, 3})), "#Reference<0.3.2.1>");
    const auto far = builder.node("far@away");
    const auto channel = std::to_string(context.intern("far@away"));
    EXPECT_EQ(elixir(context, builder.external_pid(far, 1, 2)), "#PID<" + channel + ".1.2>");
    EXPECT_EQ(elixir(context, builder.export_fun("Elixir.Shop", "a b", 2)), "&Shop.\"a b\"/2");
    EXPECT_EQ(elixir(context, builder.export_fun("lists", "map", 2)), "&:lists.map/2");
    // Without the code of the fun's function its name is absent.
    EXPECT_EQ(elixir(context, builder.local_fun("Elixir.Shop", 1, 99)),
              "#Function<1.99/1 in Shop>");
    for (auto& [address, fun] : context.funs) {
        fun.code_address = 0x1000;
    }
    context.code[0x1000].function = context.function("Elixir.Shop", "-init/1-fun-0-", 1);
    EXPECT_EQ(elixir(context, builder.list({builder.local_fun("Elixir.Shop", 1, 99)})),
              "[#Function<1.99/1 in Shop>]");
    context.funs.begin()->second.code_address = 0x1000;
    for (auto& [address, fun] : context.funs) {
        fun.code_address = 0x1000;
    }
    EXPECT_EQ(elixir(context, builder.local_fun("erl_eval", 0, 1)).substr(0, 15),
              "#Function<0.1/1");
}

TEST(ElixirTerms, LargeMapsAreKeywordMapsAndStructsToo) {
    FakeTermContext context;
    TermBuilder builder(context);
    const auto cell = [&](std::string_view key, TermBuilder::Word value) {
        return builder.cons(builder.atom(key), value);
    };
    const auto one = TermBuilder::small(1);
    const auto inner = builder.hash_node(
        0x3, {cell("__struct__", builder.atom("Elixir.Shop.Cart")), cell("id", one)});
    EXPECT_EQ(elixir(context, builder.hash_head(
                                  0x7, 4, {inner, cell("__exception__", one), cell("a b", one)})),
              "%Shop.Cart{id: 1, \"a b\": 1}");
    const auto plain = builder.hash_node(0x3, {cell("x", one), cell("id", one)});
    EXPECT_EQ(elixir(context, builder.hash_head(0x3, 3, {plain, cell("y", one)})),
              "%{x: 1, id: 1, y: 1}");
    const auto mixed = builder.cons(one, one);
    EXPECT_EQ(elixir(context, builder.hash_head(0x3, 3, {plain, mixed})),
              "%{:x => 1, :id => 1, 1 => 1}");
}

TEST(ElixirTerms, PartsOfBinariesAreMarked) {
    FakeTermContext context;
    TermBuilder builder(context);
    EXPECT_EQ(elixir(context, builder.refc_binary("plain text", 5)),
              "#Bin<10 bytes, first 5: \"plain\">");
    // The beginning ends within a character.
    EXPECT_EQ(elixir(context, builder.refc_binary("h\xC3\xA9llo", 2)),
              "#Bin<6 bytes, first 2: \"h\\xC3\">");
    EXPECT_EQ(elixir(context, builder.refc_binary(std::string("\1\2\3", 3), 2)),
              "#Bin<3 bytes, first 2: <<1, 2>>>");
}

TEST(ElixirTerms, TornTermsEnd) {
    FakeTermContext context;
    TermBuilder builder(context);
    const auto cell = builder.put({builder.atom("a"), TermBuilder::list_at(0)});
    builder.poke(cell + kWordBytes, TermBuilder::list_at(cell));
    EXPECT_EQ(elixir(context, TermBuilder::list_at(cell)).substr(0, 5), "[:a |");
    // A map's node that leads back to itself.
    const auto address = builder.put({0, 0});
    const auto word = builder.hash_head(0x1, 1, {TermBuilder::boxed(address)});
    builder.poke(address, TermBuilder::header(1, 15) | 1U << 16U);
    builder.poke(address + kWordBytes, TermBuilder::boxed(address));
    EXPECT_NE(elixir(context, word).find("#Cycle<"), std::string::npos);
}

TEST(NamedRecords, ShowTheirFields) {
    RecordNames records;
    records.add("shop", "state", {"users", "a field"});
    records.add("shop", "empty", {});
    records.add("one", "twice", {"a"});
    records.add("other", "twice", {"b"});
    TagScheme scheme = otp25_scheme();
    scheme.style.records = &records;
    FakeTermContext context;
    TermBuilder builder(context);
    const auto text = [&](TermBuilder::Word word, const TagScheme& with) {
        TermPrinter printer(context, with);
        return print_with(printer, word, 3);
    };
    const auto one = TermBuilder::small(1);
    const auto state = builder.tuple(
        {builder.atom("state"), builder.list({builder.tuple({builder.atom("empty")})}), one});
    EXPECT_EQ(text(state, scheme), "#state{users = [#empty{}], 'a field' = 1}");
    EXPECT_EQ(text(state, elixir_scheme(&records)), "#state{users = [#empty{}], 'a field' = 1}");
    EXPECT_EQ(text(state, otp25_scheme()), "{state,[{empty}],1}");
    EXPECT_EQ(text(builder.tuple({builder.atom("state"), one}), scheme), "{state,1}");
    // Different definitions: which one is meant is unknown.
    EXPECT_EQ(text(builder.tuple({builder.atom("twice"), one}), scheme), "{twice,1}");
    ASSERT_EQ(records.ambiguous().size(), 1U);
    EXPECT_EQ(records.ambiguous()[0].tag, "twice");
    EXPECT_EQ(records.ambiguous()[0].other, "other");
}

}  // namespace
}  // namespace beamdump::testing
