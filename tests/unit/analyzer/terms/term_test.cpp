// beamdump-analyze term, and --syntax and --beam of every command that prints terms.
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// `alpha` with a map #{alpha => [{loop,1},<<"text">>], 2 => true} in y(0), a list in the
/// dictionary (key alpha) and a message [1|2].
std::vector<std::byte> term_dump(const SampleLayout& layout = {}, bool broken_index = false) {
    const std::uint64_t heap = heap_of(1);
    const auto at = [heap](std::uint64_t index) { return heap + index * 8; };
    SampleDump dump(1'700'000'100'000'000, layout);
    SampleProcess process;
    process.name = kAlphaAtom;
    process.heap = {1U << 8U | 0x3C,    2,  // 0: the map
                    boxed_word(at(5)),  small_word(7),
                    small_word(8),      tuple_header(2),
                    small_word(2),      atom_word(kAlphaAtom),  // 5: its keys
                    tuple_header(2),    atom_word(kLoopAtom),
                    small_word(1),                          // 8: {loop,1}
                    boxed_word(at(8)),  list_word(at(13)),  // 11
                    boxed_word(at(15)), 0x3B,               // 13
                    2U << 6U | 0x24,    4,
                    0x7478'6574,  // 15: <<"text">>
                    tuple_header(2),    atom_word(kAlphaAtom),
                    list_word(at(11)),                   // 18: the dictionary's
                    small_word(1),      small_word(2)};  // 21: [1|2]
    process.heap[3] = atom_word(kTrueAtom);
    process.heap[4] = list_word(at(11));
    process.stack = {boxed_word(at(0)), kNormalExit};
    process.dictionary = {boxed_word(at(18))};
    process.messages = {list_word(at(21))};
    dump.add(process);
    if (broken_index) {  // another record where a page of the index of modules should be
        records::Trailer& trailer = dump.builder().trailer();
        trailer.add_module_index_offset(trailer.capture_offset());
    }
    return dump.finish();
}

class Term : public ::testing::Test {
  protected:
    Term() { program.put("term.beamdump", term_dump()); }

    Ran term(const std::vector<std::string>& arguments) {
        std::vector<std::string> command = {"term", "term.beamdump", "alpha"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return program.run(command);
    }
    /// The text of the term that a path leads to, or the message that it leads nowhere.
    std::string text(const std::string& path) {
        const Ran ran = term({path, "--term-bytes", "0"});
        return ran.status == 0 ? ran.out : ran.err;
    }

    Program program;
};

TEST_F(Term, IsFoundByThePathsThatHeapPrints) {
    EXPECT_EQ(text("y(0) of frame 0 -> key alpha -> item 1"), "{loop,1}\n");
    EXPECT_EQ(text("y(0)/key alpha/item 1/element 2"), "1\n");
    EXPECT_EQ(text("y(0) of frame 0, demo:loop/1 -> key 2"), "true\n");
    EXPECT_EQ(text("y(0)/keys"), "{2,alpha}\n");
    EXPECT_EQ(text("y(0)->keys->element 2"), "alpha\n");
    EXPECT_EQ(text("dictionary alpha -> item 2"), "<<\"text\">>\n");
    EXPECT_EQ(text("message 0 -> tail"), "2\n");
    EXPECT_EQ(text("group_leader"), "<0.1.0>\n");
}

TEST_F(Term, IsFoundByNamesAndPositions) {
    EXPECT_EQ(text("y(0).alpha[1]"), "{loop,1}\n");
    EXPECT_EQ(text("y(0).alpha[1][1]"), "loop\n");
    EXPECT_EQ(text("y(0)[2]"), "true\n");
    EXPECT_EQ(text("y(0)[alpha][2]"), "<<\"text\">>\n");
    EXPECT_EQ(text("y(0)[:alpha]/item 2"), "<<\"text\">>\n");
    EXPECT_EQ(text("message 0[1]"), "1\n");
}

TEST_F(Term, AWrongPathIsExplained) {
    EXPECT_THAT(text("y(0).alhpa"),
                HasSubstr("a map, has no part \"alhpa\"; did you mean \"alpha\"?"));
    EXPECT_THAT(text("y(0)/key alpha/item 3"),
                HasSubstr("y(0) of frame 0 -> key alpha, a list, has no part \"item 3\""));
    EXPECT_THAT(text("y(3)"), HasSubstr("<0.1.0> has no root \"y(3)\"; did you mean \"y(0)"));
    EXPECT_THAT(text("y(0)!"), HasSubstr("has no root"));
    EXPECT_THAT(text("message 7"), HasSubstr("<0.1.0> has no message 7"));
    EXPECT_THAT(text("state.alpha"), HasSubstr("the state of <0.1.0> is unknown"));
    EXPECT_EQ(term({"y(3)"}).status, 1);
    EXPECT_EQ(term({"--term-bytes", "0"}).status, 2);
    EXPECT_EQ(term({"y(0)", "--depth", "0"}).status, 2);
    EXPECT_EQ(term({"y(0)", "--width", "1001"}).status, 2);
}

TEST_F(Term, ShowsItsPartsLevelByLevel) {
    const Ran one = term({"y(0)"});
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_THAT(one.out, HasSubstr("y(0) of frame 0\nmap of 2 keys, 18 words (144 B)\n"));
    EXPECT_THAT(one.out,
                HasSubstr("10             key alpha                 [{loop,1},<<\"text\">>]\n"));
    EXPECT_LT(one.out.find("key alpha"), one.out.find("key 2")) << "the largest first";
    const Ran all = term({"y(0)", "--limit", "0"});
    EXPECT_LT(all.out.find("key 2"), all.out.find("key alpha")) << "in their order";
    EXPECT_THAT(one.out, Not(HasSubstr("item 1")));
    const Ran two = term({"y(0)", "--depth", "2"});
    EXPECT_THAT(two.out, HasSubstr(" 3               item 1                  {loop,1}\n"));
    EXPECT_THAT(two.out, Not(HasSubstr("element 1")));
    EXPECT_THAT(term({"y(0)/key alpha", "--limit", "1"}).out, HasSubstr("1 more\n"));
    const Ran largest = term({"y(0)", "--limit", "1"});
    EXPECT_THAT(largest.out, HasSubstr("key alpha"));
    EXPECT_THAT(largest.out, Not(HasSubstr("key 2")));
    const Ran root = term({"--limit", "1"});
    EXPECT_THAT(root.out, HasSubstr("18             y(0) of frame 0"));
    EXPECT_THAT(root.out, Not(HasSubstr("dictionary")));
    const Ran roots = term({});
    EXPECT_THAT(roots.out, HasSubstr("y(0) of frame 0"));
    EXPECT_THAT(roots.out, HasSubstr("dictionary alpha"));
    EXPECT_THAT(roots.out, HasSubstr("message 0"));
    EXPECT_THAT(term({"y(0)/key 2"}).out, HasSubstr("atom, 0 words (0 B)\ntrue\n"));
}

TEST_F(Term, IsLaidOutInLines) {
    EXPECT_EQ(term({"y(0)", "--term-bytes", "0", "--width", "20"}).out,
              "#{\n  2=>true,\n  alpha=>[\n    {loop,1},\n    <<\"text\">>\n  ]\n}\n");
    EXPECT_EQ(term({"y(0)", "--term-bytes", "0", "--width", "0"}).out,
              "#{2=>true,alpha=>[{loop,1},<<\"text\">>]}\n");
    const Ran cut = term({"y(0)", "--term-bytes", "5"});
    EXPECT_EQ(cut.out, "#{2=>...\n");
    EXPECT_THAT(cut.err, HasSubstr("truncated to 5 bytes"));
}

TEST_F(Term, InElixirsSyntax) {
    EXPECT_EQ(term({"y(0)", "--term-bytes", "0", "--syntax", "elixir"}).out,
              "%{2 => true, :alpha => [{:loop, 1}, \"text\"]}\n");
    EXPECT_EQ(term({"y(0)/key :alpha", "--term-bytes", "0", "--syntax", "elixir"}).out,
              "[{:loop, 1}, \"text\"]\n");
    // Paths of the other syntax lead to the same.
    EXPECT_EQ(term({"y(0)/key alpha", "--term-bytes", "0", "--syntax", "elixir"}).out,
              "[{:loop, 1}, \"text\"]\n");
    for (const std::vector<std::string>& command : {std::vector<std::string>{"backtrace"},
                                                    {"dictionary"},
                                                    {"process"},
                                                    {"messages"},
                                                    {"heap"}}) {
        auto arguments = command;
        arguments.insert(arguments.end(), {"term.beamdump", "alpha", "--syntax", "elixir"});
        const Ran ran = program.run(arguments);
        EXPECT_EQ(ran.status, 0) << command[0] << ran.err;
        EXPECT_THAT(ran.out,
                    HasSubstr(command[0] == "messages" ? "[1 | 2]" : "[{:loop, 1}, \"text\"]"));
        EXPECT_THAT(ran.out, Not(HasSubstr("#PID<")));
        arguments.back() = "erlang";
        const Ran erlang = program.run(arguments);
        arguments.resize(arguments.size() - 2);
        EXPECT_EQ(program.run(arguments).out, erlang.out);
    }
    const Ran json =
        program.run({"term", "term.beamdump", "alpha", "y(0)", "--json", "--syntax", "elixir"});
    EXPECT_THAT(json.out, HasSubstr("\"term_syntax\": \"elixir\""));
    EXPECT_EQ(program
                  .run({"backtrace", "term.beamdump", "alpha", "--term-limit", "classic",
                        "--syntax", "elixir"})
                  .status,
              2);
}

TEST_F(Term, NamesTheFieldsOfRecords) {
    // {loop,1} as -record(loop, {n}): made here, as erlc would.
    const std::string form = std::string("\x83h\2w\x0Fraw_abstract_v1l\0\0\0\1", 25) +
                             "h\4w\x09"
                             "attribute"
                             "a\1w\x06record"
                             "h\2w\x04loop" +
                             std::string("l\0\0\0\1", 5) +
                             "h\3w\x0Crecord_field"
                             "a\1"
                             "h\3w\x04"
                             "atom"
                             "a\1w\1njj";
    std::string file =
        std::string("FOR1\0\0\0\0BEAMAbst\0\0\0", 19) + static_cast<char>(form.size()) + form;
    file.append((4 - form.size() % 4) % 4, '\0');
    const auto bytes = std::as_bytes(std::span(file));
    program.put("shop.beam", {bytes.begin(), bytes.end()});
    const std::string beam = program.path("shop.beam");
    const Ran ran = term({"y(0).alpha", "--term-bytes", "0", "--beam", beam});
    EXPECT_EQ(ran.out, "[#loop{n = 1},<<\"text\">>]\n") << ran.err;
    EXPECT_EQ(term({"y(0).alpha[1].n", "--term-bytes", "0", "--beam", beam}).out, "1\n");
    EXPECT_THAT(term({"y(0).alpha[1]", "--beam", beam}).out, HasSubstr("element 2 (n)"));
    EXPECT_THAT(term({"y(0)", "--beam", "no_such"}).err,
                HasSubstr("there is no directory or .beam file no_such"));
}

TEST_F(Term, InTheSyntaxOfItsNode) {
    SampleLayout layout;
    layout.module_name = "elixir";
    program.put("term.beamdump", term_dump(layout));
    EXPECT_EQ(text("y(0).alpha"), "[{:loop, 1}, \"text\"]\n");
    EXPECT_EQ(term({"y(0).alpha", "--term-bytes", "0", "--syntax", "erlang"}).out,
              "[{loop,1},<<\"text\">>]\n");
}

TEST_F(Term, IsInErlangsSyntaxWithAMessageWhereTheNodesIsUnreadable) {
    SampleLayout layout;
    layout.module_name = "elixir";
    program.put("term.beamdump", term_dump(layout, true));
    const Ran guessed = term({"message 0", "--term-bytes", "0"});
    EXPECT_EQ(guessed.status, 3);
    EXPECT_EQ(guessed.out, "[1|2]\n");
    EXPECT_THAT(guessed.err, HasSubstr("--syntax erlang or elixir needs no such look"));
    const Ran chosen = term({"message 0", "--term-bytes", "0", "--syntax", "elixir"});
    EXPECT_EQ(chosen.status, 0) << chosen.err;
    EXPECT_EQ(chosen.out, "[1 | 2]\n");
}

}  // namespace
}  // namespace beamdump::test
