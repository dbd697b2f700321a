#include "program.h"
#include "query/processes/process_groups.h"
#include "query/processes/process_tree.h"
#include "query/waits/waits.h"
#include "sample_caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kAncestorsAtom = 8;
constexpr std::uint32_t kLabelAtom = 9;
constexpr std::uint32_t kSupAtom = 10;

/// A process with $ancestors [sup, <0.1.0>] in its dictionary; without sup: [<0.1.0>].
SampleProcess with_ancestors(std::uint64_t number, std::uint64_t memory, bool sup) {
    SampleProcess process;
    process.number = number;
    process.memory = memory;
    const std::uint64_t heap = heap_of(number);
    process.heap = {atom_word(kSupAtom),
                    list_word(heap + 16),
                    pid_word(1),
                    kNil,
                    tuple_header(2),
                    atom_word(kAncestorsAtom),
                    list_word(sup ? heap : heap + 16)};
    process.dictionary = {boxed_word(heap + 32)};
    return process;
}

class GroupsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        SampleDump dump;
        dump.builder().add_atoms(kAncestorsAtom, {"$ancestors", "$process_label", "sup"});
        dump.add(alpha_process());
        dump.add(with_ancestors(11, 2000, true));
        SampleProcess secret = with_ancestors(12, 3000, true);
        secret.sensitive = true;
        dump.add(secret);
        dump.add(with_ancestors(13, 100, false));
        program_.put("groups.beamdump", dump.finish());
    }

    query::ProcessGroups groups(query::GroupsOptions options) {
        dump_ = expect_value(Dump::open(program_.path("groups.beamdump")));
        return expect_value(query::process_groups(*dump_, "groups.beamdump", options));
    }
    static std::vector<std::string> names(const query::ProcessGroups& answer) {
        std::vector<std::string> texts;
        for (const auto& group : answer.groups) {
            texts.push_back(fmt::format("{} {} {}", group.name.value_or("-"), group.count,
                                        group.memory_bytes.value_or(0)));
        }
        return texts;
    }

    Program program_;
    std::unique_ptr<Dump> dump_;
};

TEST_F(GroupsTest, ByWhatTheIndexTells) {
    query::GroupsOptions options;
    const auto answer = groups(options);
    EXPECT_THAT(names(answer), ElementsAre("demo:loop/1 4 10100"));
    EXPECT_EQ(answer.groups[0].largest.pid, "<0.1.0>");
    EXPECT_EQ(answer.groups[0].messages, 2);
    EXPECT_FALSE(answer.read.has_value());
}

TEST_F(GroupsTest, ByAncestors) {
    query::GroupsOptions options;
    options.by = query::GroupBy::kSupervisor;
    auto answer = groups(options);
    // The sensitive one's dictionary is withheld.
    EXPECT_THAT(names(answer), ElementsAre("- 2 8000", "sup 1 2000", "<0.1.0> 1 100"));
    EXPECT_EQ(answer.read->sensitive, 1);
    options.sensitive = true;
    options.sort = query::GroupSort::kCount;
    answer = groups(options);
    EXPECT_THAT(names(answer), ElementsAre("sup 2 5000", "- 1 5000", "<0.1.0> 1 100"));
    EXPECT_TRUE(answer.read->complete());
    options.by = query::GroupBy::kAncestor;
    EXPECT_THAT(names(groups(options)), ElementsAre("sup 2 5000", "- 1 5000", "<0.1.0> 1 100"));
}

TEST_F(GroupsTest, FilterLimitAndUsage) {
    query::GroupsOptions options;
    options.by = query::GroupBy::kSupervisor;
    options.filters = {expect_value(query::parse_filter("pid~1"))};
    options.limit = 1;
    const auto answer = groups(options);
    EXPECT_EQ(answer.group_count, 3);
    EXPECT_EQ(answer.groups.size(), 1);
    const Ran wrong = program_.run({"processes", "groups.beamdump", "--group-by", "statsu"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, HasSubstr("did you mean \"status\"?"));
    EXPECT_EQ(
        program_.run({"processes", "groups.beamdump", "--group-by", "status", "--sort", "pid"})
            .status,
        2);
    const Ran ran = program_.run({"processes", "groups.beamdump", "--group-by", "ancestor"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.err, HasSubstr("1 process flagged sensitive; --sensitive includes them"));
}

std::vector<std::string> tree_lines(const query::ProcessTree& tree) {
    std::vector<std::string> texts;
    for (const auto& line : tree.lines) {
        texts.push_back(fmt::format("{} {} {} {}", line.depth,
                                    line.process ? line.process->pid : "...", line.sums.processes,
                                    line.sums.memory_bytes.value_or(0)));
    }
    return texts;
}

TEST(ProcessTree, ByAncestorsAndLinks) {
    Program program;
    SampleDump dump;
    dump.builder().add_atoms(kAncestorsAtom, {"$ancestors", "$process_label", "sup"});
    SampleProcess sup = with_ancestors(11, 2000, false);
    sup.name = kSupAtom;
    dump.add(alpha_process());
    dump.add(with_ancestors(12, 3000, true));
    dump.add(sup);
    dump.add(with_ancestors(13, 100, true));
    program.put("tree.beamdump", dump.finish());
    const auto tree = [&](const query::TreeOptions& options) {
        auto opened = expect_value(Dump::open(program.path("tree.beamdump")));
        return tree_lines(expect_value(query::process_tree(*opened, "tree.beamdump", options)));
    };
    EXPECT_THAT(tree({}), ElementsAre("0 <0.1.0> 4 10100", "1 <0.11.0> 3 5100", "2 <0.12.0> 1 3000",
                                      "2 <0.13.0> 1 100"));
    EXPECT_THAT(tree({.depth = 2}),
                ElementsAre("0 <0.1.0> 4 10100", "1 <0.11.0> 3 5100", "2 ... 2 3100"));
    EXPECT_THAT(tree({.limit = 1, .root = "sup"}),
                ElementsAre("0 <0.11.0> 3 5100", "1 <0.12.0> 1 3000", "1 ... 1 100"));
    // All are linked to <0.1.0>.
    EXPECT_THAT(tree({.links = true}), ElementsAre("0 <0.1.0> 4 10100", "1 <0.12.0> 1 3000",
                                                   "1 <0.11.0> 1 2000", "1 <0.13.0> 1 100"));
}

TEST_F(GroupsTest, MemoryOfTreesAndWaitsIsLimited) {
    for (const std::vector<std::string>& question :
         {std::vector<std::string>{"tree"}, {"tree", "--links"}, {"waits"}}) {
        auto arguments = question;
        arguments.insert(arguments.begin() + 1, {"groups.beamdump", "--max-memory", "90"});
        const Ran ran = program_.run(arguments);
        EXPECT_EQ(ran.status, 1) << ran.out;
        EXPECT_THAT(ran.err, HasSubstr("more than 90 B of memory, which is the limit; raise it "
                                       "with --max-memory"));
        arguments[3] = "100KiB";
        EXPECT_NE(program_.run(arguments).status, 1);
    }
}

TEST(ProcessTree, ACircleIsCut) {
    Program program;
    SampleDump dump;
    dump.builder().add_atoms(kAncestorsAtom, {"$ancestors", "$process_label", "sup"});
    SampleProcess sup = with_ancestors(11, 2000, false);
    sup.name = kSupAtom;
    SampleProcess above = with_ancestors(1, 3000, true);
    dump.add(above);
    dump.add(sup);
    program.put("circle.beamdump", dump.finish());
    auto opened = expect_value(Dump::open(program.path("circle.beamdump")));
    const auto tree = expect_value(query::process_tree(*opened, "circle.beamdump", {}));
    EXPECT_EQ(tree.roots, 1);
    EXPECT_THAT(tree_lines(tree), ElementsAre("0 <0.1.0> 2 5000", "1 <0.11.0> 1 2000"));
}

TEST(Waits, ChainsAndCycles) {
    Program program;
    SampleDump dump;
    // 11 and 12 wait for 13, that for 14, which rests; 21 and 22 for each other, 23 for 21; 31 for
    // one that has exited.
    dump.add(caller(11, 13));
    dump.add(caller(12, 13));
    dump.add(caller(13, 14));
    SampleProcess server;
    server.number = 14;
    dump.add(server);
    dump.add(caller(21, 22));
    dump.add(caller(22, 21));
    dump.add(caller(23, 21));
    dump.add(caller(31, 99));
    program.put("waits.beamdump", dump.finish());
    auto opened = expect_value(Dump::open(program.path("waits.beamdump")));
    const auto waits = expect_value(query::find_waits(*opened, "waits.beamdump", {}));
    EXPECT_EQ(waits.waiting, 7);
    std::vector<std::string> lines;
    for (const auto& line : waits.waited_for) {
        lines.push_back(fmt::format("{} {} {} {}{}", line.name, line.direct, line.behind,
                                    line.waits_for.value_or("-"), line.in_cycle ? " cycle" : ""));
    }
    EXPECT_THAT(
        lines, ElementsAre("<0.14.0> 1 3 -", "<0.13.0> 2 2 <0.14.0>", "<0.21.0> 2 2 <0.22.0> cycle",
                           "<0.22.0> 1 2 <0.21.0> cycle", "<0.99.0> 1 1 -"));
    ASSERT_EQ(waits.waited_for.size(), 5);
    EXPECT_FALSE(waits.waited_for[4].process.has_value());
    ASSERT_EQ(waits.cycles.size(), 1);
    ASSERT_EQ(waits.cycles[0].processes.size(), 2);
    EXPECT_EQ(waits.cycles[0].processes[0].pid, "<0.21.0>");
}

}  // namespace
}  // namespace beamdump::test
