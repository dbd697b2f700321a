#include "program.h"
#include "query/tables/ets_tables.h"
#include "sample_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using query::EtsSort;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kCrashText = R"(=erl_crash_dump:0.5
Sun Nov 22 02:18:55 2026
System version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2]
=proc:<0.9.0>
State: Waiting
Name: owner
=ets:<0.9.0>
Slot: 139
Table: accounts
Name: accounts
Buckets: 256
Chain Length Avg: 0.000000
Fixed: 7
Objects: 12
Words: 302
Type: set
Protection: protected
Compressed: true
Write Concurrency: auto
Read Concurrency: false
=ets:<0.10.0>
Slot: 140
Table: #Ref<0.1.2.3>
Name: cache
Ordered set (AVL tree), Elements: 1
Objects: 1
Words: 100
Type: ordered_set
Protection: <TNV>
=end
)";

class EtsTest : public ::testing::Test {
  protected:
    EtsTest() {
        program_.put("tables.beamdump", sample_dump_with_tables());
        const auto text = std::as_bytes(std::span(kCrashText));
        program_.put("crash.beamdump", {text.begin(), text.end()});
    }
    query::EtsListing listing(const query::EtsQuery& query,
                              const std::string& file = "tables.beamdump") {
        auto dump = expect_value(Dump::open(program_.path(file)));
        return expect_value(query::list_ets_tables(*dump, query));
    }
    std::vector<std::uint64_t> places(EtsSort sort) {
        std::vector<std::uint64_t> indexes;
        for (const auto& table : listing({.sort = sort, .filters = {}}).tables) {
            indexes.push_back(table.index);
        }
        return indexes;
    }
    std::vector<std::uint64_t> filtered(const std::string& text) {
        std::vector<std::uint64_t> indexes;
        for (const auto& table :
             listing({.filters = {expect_value(query::parse_ets_filter(text))}}).tables) {
            indexes.push_back(table.index);
        }
        return indexes;
    }

    Program program_;
};

TEST_F(EtsTest, SortsByEachOrderAndPutsTheUnknownLast) {
    EXPECT_THAT(places(EtsSort::kMemory), ElementsAre(0, 2, 1));
    EXPECT_THAT(places(EtsSort::kSize), ElementsAre(2, 0, 1));
    EXPECT_THAT(places(EtsSort::kName), ElementsAre(1, 2, 0));
}

TEST_F(EtsTest, FiltersByTextAndField) {
    EXPECT_THAT(filtered("alpha"), ElementsAre(0));
    EXPECT_THAT(filtered("name=Quotes"), ElementsAre(2));
    EXPECT_THAT(filtered("owner=alpha"), ElementsAre(0));
    EXPECT_THAT(filtered("owner=<0.9.0>"), ElementsAre(2));
    EXPECT_THAT(filtered("type=set"), ElementsAre(0, 2));
    EXPECT_THAT(filtered("protection=private"), ElementsAre(2));
    EXPECT_THAT(filtered("id=1.2.3"), ElementsAre(0));
    EXPECT_THAT(filtered("name=nothing"), ElementsAre());
    EXPECT_THAT(query::parse_ets_filter("nam=x").error().message, HasSubstr("did you mean"));
    EXPECT_EQ(query::parse_ets_sort("weight").error().code, ErrorCode::kUsage);
}

TEST_F(EtsTest, ShowsWhatIsKnown) {
    const Ran ran = program_.run({"ets", "tables.beamdump"});
    EXPECT_EQ(ran.out,
              "NAME            TYPE          ROWS    MEMORY  PROTECTION  OWNER          ID"
              "             OPTIONS\n"
              "alpha           ordered_set  1,200  19.5 KiB  public      <0.1.0> alpha  "
              "#Ref<0.1.2.3>  write_concurrency auto, read_concurrency, decentralized_counters, "
              "compressed, fixed\n"
              "'Needs Quotes'  set          1,201     800 B  private     <0.9.0>        -\n"
              "?               ?                ?         ?  ?           ?              ?\n");
    EXPECT_EQ(ran.status, 0);
}

TEST_F(EtsTest, JsonHasTheWordsOfEtsInfo) {
    const Ran ran = program_.run({"ets", "tables.beamdump", "--json", "--limit", "1"});
    EXPECT_THAT(ran.out, HasSubstr(R"("memory_words": 2501)"));
    EXPECT_THAT(ran.out, HasSubstr(R"("heir": "<0.4.0>")"));
    EXPECT_THAT(ran.out, HasSubstr(R"("total": 3)"));
    EXPECT_THAT(ran.out, HasSubstr(R"("ca_tree": true)"));
    EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("total_memory_bytes")));
}

TEST_F(EtsTest, ProcessesHaveThemAsAColumn) {
    const Ran ran = program_.run({"processes", "tables.beamdump", "--sort", "ets"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("19.5 KiB in 1"));
    const Ran crash = program_.run({"processes", "crash.beamdump", "--columns", "ets", "--json"});
    EXPECT_THAT(crash.out, HasSubstr("\"ets_tables\": 1,"));
    EXPECT_THAT(crash.out, HasSubstr("\"ets_bytes\": 2416"));
}

TEST_F(EtsTest, ACrashDumpAnswersAsFarAsItsSectionsGo) {
    const Ran ran = program_.run({"ets", "crash.beamdump", "--sort", "name"});
    EXPECT_EQ(ran.out,
              "NAME      TYPE         ROWS   MEMORY  PROTECTION  OWNER          ID             "
              "OPTIONS\n"
              "accounts  set            12  2.4 KiB  protected   <0.9.0> owner  -              "
              "write_concurrency auto, compressed, fixed\n"
              "cache     ordered_set     1    800 B  ?           <0.10.0>       #Ref<0.1.2.3>\n"
              "\n2 ETS tables use 3.1 KiB\n");
    EXPECT_EQ(ran.status, 0);
}

TEST_F(EtsTest, ADumpWithoutTablesSaysSo) {
    const Ran ran = program_.run({"ets", "sample.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no ETS tables"));
}

}  // namespace
}  // namespace beamdump::test
