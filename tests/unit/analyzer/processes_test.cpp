#include "query/processes/processes.h"

#include "program.h"

#include <libdump/model/dump.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using query::ProcessColumn;
using query::ProcessListing;
using query::ProcessQuery;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> pids(const std::string& path, const ProcessQuery& query) {
    auto dump = expect_value(Dump::open(path));
    auto listing = expect_value(ProcessListing::select(*dump, query));
    std::vector<std::string> result;
    for (auto lines = expect_value(listing.next()); !lines.empty();
         lines = expect_value(listing.next())) {
        for (const auto& line : lines) {
            result.push_back(line.pid);
        }
    }
    return result;
}

class ProcessesTest : public ::testing::Test {
  protected:
    std::vector<std::string> sorted(ProcessColumn sort) {
        return pids(program_.path("sample.beamdump"), {.sort = {{.by = sort}}, .filters = {}});
    }
    std::vector<std::string> filtered(const std::vector<std::string>& filters) {
        ProcessQuery query{.sort = {{.by = ProcessColumn::kPid}}, .filters = {}};
        for (const auto& filter : filters) {
            query.filters.push_back(*query::parse_filter(filter));
        }
        return pids(program_.path("sample.beamdump"), query);
    }

    Program program_;
};

TEST_F(ProcessesTest, SortsByEachOrder) {
    using ::testing::ElementsAre;
    EXPECT_THAT(sorted(ProcessColumn::kMemory),
                ElementsAre("<0.1.0>", "<0.2.0>", "<0.3.0>", "<0.4.0>"));
    EXPECT_THAT(sorted(ProcessColumn::kReductions),
                ElementsAre("<0.1.0>", "<0.4.0>", "<0.2.0>", "<0.3.0>"));
    EXPECT_THAT(sorted(ProcessColumn::kQueue),
                ElementsAre("<0.1.0>", "<0.3.0>", "<0.2.0>", "<0.4.0>"));
    EXPECT_THAT(sorted(ProcessColumn::kName),
                ElementsAre("<0.2.0>", "<0.1.0>", "<0.3.0>", "<0.4.0>"));
    EXPECT_THAT(sorted(ProcessColumn::kPid),
                ElementsAre("<0.1.0>", "<0.2.0>", "<0.3.0>", "<0.4.0>"));
}

TEST_F(ProcessesTest, SortsTheOtherWayRound) {
    const auto ran = program_.run({"processes", "sample.beamdump", "--sort", "-reductions"});
    EXPECT_LT(ran.out.find("<0.2.0>"), ran.out.find("<0.1.0>"));
}

TEST_F(ProcessesTest, SortsBySeveralColumns) {
    using ::testing::ElementsAre;
    const auto by = [&](const std::string& sort) {
        return pids(program_.path("sample.beamdump"),
                    {.sort = expect_value(query::parse_sort(sort)), .filters = {}});
    };
    // <0.4.0> runs, the others wait; <0.1.0> and <0.3.0> have messages.
    EXPECT_THAT(by("status,-pid"), ElementsAre("<0.4.0>", "<0.3.0>", "<0.2.0>", "<0.1.0>"));
    EXPECT_THAT(by("-status,reductions"), ElementsAre("<0.1.0>", "<0.2.0>", "<0.3.0>", "<0.4.0>"));
    EXPECT_THAT(by("-status,-reductions,pid"),
                ElementsAre("<0.3.0>", "<0.2.0>", "<0.1.0>", "<0.4.0>"));
    for (const auto* wrong : {"pid,status,memory,queue", "name,", "size"}) {
        const Ran ran = program_.run({"processes", "sample.beamdump", "--sort", wrong});
        EXPECT_EQ(ran.status, 2) << wrong;
    }
}

TEST_F(ProcessesTest, SortsAndFiltersByColumnsThatAreReadOfProcesses) {
    SampleDump dump;
    for (const std::uint64_t number : {1, 2, 3}) {
        SampleProcess process;
        process.number = number;
        process.memory = 1000 * number;
        process.stack.assign(number == 2 ? 100 : number, kNormalExit);
        dump.add(process);
    }
    program_.put("stacks.beamdump", dump.finish());
    const auto run = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"processes", "stacks.beamdump"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return program_.run(arguments);
    };
    // The index has stacks, in words; sizes are asked for in bytes. The heap's is read.
    EXPECT_THAT(run({"--filter", "stack>=800", "--columns", "stack"}).out, HasSubstr(" 800 B "));
    EXPECT_EQ(run({"--filter", "stack>800"}).out, "no processes match, of 3\n");
    const auto heaps = run({"--filter", "heap=1864", "--filter", "memory>1500", "--sort", "stack"});
    EXPECT_THAT(heaps.out, ContainsRegex("<0.2.0>.* 800 B +1.8 KiB .*\n<0.3.0>"));
    EXPECT_THAT(heaps.out, Not(HasSubstr("<0.1.0>")));
    EXPECT_THAT(run({"--filter", "heap>1GiB", "--group-by", "status"}).out,
                HasSubstr("no processes match, of 3"));
    EXPECT_THAT(run({"--filter", "old_heap>1"}).err,
                HasSubstr("processes cannot be filtered by old_heap"));
    EXPECT_THAT(run({"--sort", "application"}).err,
                HasSubstr("processes cannot be sorted by application"));
}

TEST_F(ProcessesTest, FiltersByTextAndField) {
    using ::testing::ElementsAre;
    EXPECT_THAT(filtered({"alpha"}), ElementsAre("<0.1.0>"));
    EXPECT_THAT(filtered({"name~Quotes"}), ElementsAre("<0.2.0>"));
    EXPECT_THAT(filtered({"name=Quotes"}), ElementsAre());
    EXPECT_THAT(filtered({"name!="}), ElementsAre("<0.1.0>", "<0.2.0>", "<0.3.0>"));
    EXPECT_THAT(filtered({"status=running"}), ElementsAre("<0.4.0>"));
    EXPECT_THAT(filtered({"initial_call~loop/3"}), ElementsAre("<0.4.0>"));
    EXPECT_THAT(filtered({"initial_call ~ d*loop/3"}), ElementsAre("<0.4.0>"));
    EXPECT_THAT(filtered({"current_function~demo:", "status=waiting", "pid~.3."}),
                ElementsAre("<0.3.0>"));
    EXPECT_THAT(filtered({"memory>4K"}), ElementsAre("<0.1.0>"));
    EXPECT_THAT(filtered({"queue>=1", "reductions<1000000"}), ElementsAre("<0.3.0>"));
    EXPECT_THAT(filtered({"name=demo"}), ElementsAre());
    EXPECT_THAT(filtered({"demo:loop"}), ElementsAre("<0.1.0>", "<0.2.0>", "<0.3.0>", "<0.4.0>"));
}

TEST_F(ProcessesTest, LimitIsKept) {
    const Ran ran = program_.run({"processes", "sample.beamdump", "--limit", "2"});
    EXPECT_EQ(ran.out,
              "PID      NAME OR INITIAL CALL   MEMORY  REDUCTIONS  MESSAGES  STATUS   "
              "CURRENT FUNCTION\n"
              "<0.1.0>  alpha                 4.9 KiB   1,234,567         2  waiting  demo:loop/1\n"
              "<0.2.0>  'Needs Quotes'        2.9 KiB          20         0  waiting  demo:loop/1\n"
              "2 more; --limit 0 shows all\n");
}

/// Two processes by proc_lib, and one of which no more is known than where it began.
void put_translated(Program& program) {
    SampleDump dump(1'700'000'100'000'000);
    for (const std::uint64_t number : {1, 2, 3}) {
        SampleProcess process;
        process.number = number;
        process.memory = 1000 * number;
        if (number != 2) {
            process.translated_arity = static_cast<std::uint32_t>(10 - number);
        }
        dump.add(process);
    }
    program.put("translated.beamdump", dump.finish());
}

TEST_F(ProcessesTest, ShowWhatProcLibStarted) {
    put_translated(program_);
    const Ran text = program_.run({"processes", "translated.beamdump", "--sort", "name"});
    EXPECT_EQ(text.out,
              "PID      NAME OR INITIAL CALL   MEMORY  REDUCTIONS  MESSAGES  STATUS   "
              "CURRENT FUNCTION\n"
              "<0.3.0>  demo:alpha/7          2.9 KiB          10         0  waiting  demo:loop/1\n"
              "<0.1.0>  demo:alpha/9           1000 B          10         0  waiting  demo:loop/1\n"
              "<0.2.0>  demo:loop/1           2.0 KiB          10         0  waiting  "
              "demo:loop/1\n");
    const std::string path = program_.path("translated.beamdump");
    const auto matching = [&path](const std::string& filter) {
        return pids(path, {.sort = {{.by = ProcessColumn::kPid}},
                           .filters = {*query::parse_filter(filter)}});
    };
    EXPECT_THAT(matching("initial_call=demo:alpha/9"), ::testing::ElementsAre("<0.1.0>"));
    EXPECT_THAT(matching("alpha/7"), ::testing::ElementsAre("<0.3.0>"));
    // What it was spawned with is found as well.
    EXPECT_EQ(matching("initial_call=demo:loop/1").size(), 3U);
}

TEST_F(ProcessesTest, JsonTellsBothInitialCalls) {
    put_translated(program_);
    const Ran json = program_.run({"processes", "translated.beamdump", "--json"});
    EXPECT_THAT(json.out, ::testing::ContainsRegex(
                              "\"pid\": \"<0.1.0>\",[^}]*\"initial_call\": \"demo:loop/1\",[^}]*"
                              "\"translated_initial_call\": \"demo:alpha/9\""));
    EXPECT_THAT(json.out, ::testing::ContainsRegex("\"pid\": \"<0.2.0>\",[^}]*"
                                                   "\"initial_call\": \"demo:loop/1\",[^}t]*"
                                                   "\"current_function\""));
}

TEST_F(ProcessesTest, NothingMatches) {
    const Ran ran = program_.run({"processes", "sample.beamdump", "--filter", "zebra"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out, "no processes match, of 4\n");
}

TEST_F(ProcessesTest, LimitedSortOfManyGivesTheSameAsSortingAll) {
    DumpShape shape;
    shape.processes = 3000;
    shape.heap_words = 2;
    shape.messages = 0;
    shape.packed_regions = 0;
    program_.put("many.beamdump", DumpBuilder::whole({.threads = 1}, shape));
    const std::string path = program_.path("many.beamdump");
    auto all =
        pids(path, {.sort = {{.by = ProcessColumn::kReductions}}, .filters = {}, .limit = 0});
    ASSERT_EQ(all.size(), 3000U);
    EXPECT_EQ(all.front(), "<0.3000.0>");
    EXPECT_EQ(all.back(), "<0.1.0>");
    all.resize(7);
    EXPECT_EQ(pids(path, {.sort = {{.by = ProcessColumn::kReductions}}, .filters = {}, .limit = 7}),
              all);
}

}  // namespace
}  // namespace beamdump::test
