#include "cli/sql_prompt.h"
#include "program.h"
#include "query/holders/node_binaries.h"
#include "sample_caller.h"
#include "sample_profile.h"
#include "sample_tables.h"
#include "sql/sql_question.h"
#include "sql/sql_row_terms.h"
#include "sql/sql_table.h"
#include "sql/sql_terms.h"
#include "support/dump_builder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace beamdump::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(SqlCompletions, AreNamesOfTheTablesThatAStatementNames) {
    EXPECT_THAT(cli::completions("SELECT * FROM ets_t", "ets_t"), ElementsAre("ets_tables"));
    EXPECT_THAT(cli::completions("SELECT name FROM ets_tables WHERE fix", "fix"),
                Contains(StartsWith("fix")));
    // Of processes, which the statement does not name.
    EXPECT_THAT(cli::completions("SELECT name FROM ets_tables WHERE registered", "registered"),
                IsEmpty());
    EXPECT_THAT(cli::completions("SELECT registered", "registered"),
                ElementsAre("registered_name"));
    EXPECT_THAT(cli::completions("selec", "selec"), ElementsAre("SELECT"));
    EXPECT_THAT(cli::completions("SELECT term_w", "term_w"), ElementsAre("term_words"));
    EXPECT_THAT(cli::completions("SELECT map_", "map_"), ElementsAre("map_get"));
}

class SqlTest : public ::testing::Test {
  protected:
    SqlTest() {
        program_.put("tables.beamdump", sample_dump_with_tables());
        program_.put("binaries.beamdump", DumpBuilder::whole({}));
    }

    Ran ask(const std::string& statement, std::vector<std::string> options = {"--csv"},
            const std::string& dump = "sample.beamdump") {
        std::vector<std::string> arguments = {"sql", dump, statement};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return program_.run(arguments);
    }
    std::string rows(const std::string& statement, const std::string& dump = "sample.beamdump") {
        const Ran ran = ask(statement, {"--csv"}, dump);
        EXPECT_EQ(ran.err, "") << statement;
        EXPECT_EQ(ran.status, 0) << statement;
        std::string text = ran.out;
        std::erase(text, '\r');
        return text;
    }

    Program program_;
};

TEST_F(SqlTest, TermsAreMatchedByAPattern) {
    EXPECT_EQ(rows("SELECT term_matches('alpha', 'message 1', '_') AS any, "
                   "term_matches('alpha', 'message 1', '{never_made, _}') AS none, "
                   "term_matches('alpha', NULL, '_') AS absent"),
              "any,none,absent\n1,0,\n");
    EXPECT_THAT(ask("SELECT term_matches('alpha', 'message 1')").err,
                HasSubstr("term_matches(PROCESS, PATH, PATTERN)"));
    EXPECT_THAT(ask("SELECT term_matches('alpha', 'message 1', '{')").err, HasSubstr("pattern"));
}

TEST_F(SqlTest, SamplesAreRows) {
    SampleDump sampled;
    add_profile(sampled.builder());
    program_.put("sampled.beamdump", sampled.finish());
    EXPECT_EQ(rows("SELECT count, pid, function, native, stack, callers_known FROM samples "
                   "WHERE thread = 'erts_sched_1' ORDER BY count DESC, pid",
                   "sampled.beamdump"),
              "count,pid,function,native,stack,callers_known\n"
              "3,<0.1.0>,lists:sort/1,,alpha:loop/1;lists:sort/1,1\n"
              "1,<0.1.0>,lists:sort/1,[kernel],alpha:loop/1;lists:sort/1,1\n"
              "1,<0.900.0>,beta:run/0,,beta:run/0,0\n");
    EXPECT_EQ(rows("SELECT sum(count) AS n FROM samples", "sampled.beamdump"), "n\n6\n");
    EXPECT_THAT(ask("SELECT * FROM samples", {"--csv"}, "tables.beamdump").err,
                HasSubstr("the dump has no samples"));
}

TEST_F(SqlTest, WaitsAreRows) {
    SampleDump waiting;
    waiting.add(caller(21, 22));
    waiting.add(caller(22, 21));
    waiting.add(caller(23, 21));
    waiting.add(caller(24, 25));
    waiting.add(caller(25, 1));
    waiting.add(alpha_process());
    program_.put("waiting.beamdump", waiting.finish());
    const auto asked = [&](const std::string& statement) {
        const Ran ran = ask(statement, {"--csv"}, "waiting.beamdump");
        // What the emulator waits for is not in the dump, which is said.
        EXPECT_EQ(ran.status, 3) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("the dump has no state of the emulator"));
        std::string text = ran.out;
        std::erase(text, '\r');
        return text;
    };
    EXPECT_EQ(asked("SELECT place, wait, waits_for, certain, behind, ends_at, steps, in_cycle "
                    "FROM hang ORDER BY place"),
              "place,wait,waits_for,certain,behind,ends_at,steps,in_cycle\n"
              "<0.21.0>,reply,<0.22.0>,1,2,,,1\n"
              "<0.22.0>,reply,<0.21.0>,1,2,,,1\n"
              "<0.23.0>,reply,<0.21.0>,1,0,,,0\n"
              "<0.24.0>,reply,<0.25.0>,1,0,<0.1.0>,2,0\n"
              "<0.25.0>,reply,<0.1.0>,1,1,<0.1.0>,1,0\n");
    EXPECT_EQ(asked("SELECT ends_at, count(*) AS waiting FROM hang WHERE place_kind = 'process' "
                    "AND followed GROUP BY 1 ORDER BY 2 DESC"),
              "ends_at,waiting\n,3\n<0.1.0>,2\n");
}

TEST_F(SqlTest, ProcessesAreRows) {
    EXPECT_EQ(rows("SELECT pid, registered_name, reductions FROM processes WHERE reductions > 50 "
                   "ORDER BY reductions DESC"),
              "pid,registered_name,reductions\n<0.1.0>,alpha,1234567\n<0.4.0>,,99\n");
    EXPECT_EQ(rows("SELECT count(*) FROM processes WHERE pid = '<0.3.0>'"), "count(*)\n1\n");
    EXPECT_EQ(rows("SELECT count(*) FROM processes WHERE pid <> '<0.3.0>'"), "count(*)\n3\n");
    EXPECT_EQ(rows("SELECT pid FROM processes WHERE initial_call = 'demo:loop/3'"),
              "pid\n<0.4.0>\n");
    EXPECT_EQ(rows("SELECT pid FROM processes LIMIT 1 OFFSET 2"), "pid\n<0.3.0>\n");
    EXPECT_EQ(
        rows("SELECT pid FROM processes WHERE message_queue_len > 0 AND memory < 1e9 LIMIT 1"),
        "pid\n<0.1.0>\n");
    EXPECT_EQ(rows("SELECT count(*) FROM processes WHERE reductions > 'x' OR memory = -1"),
              "count(*)\n0\n");
}

/// What is asked of a table by one of the rows it gives first.
std::vector<query::Row> rows_of(Dump& dump, std::string_view table, const sql::Request& request) {
    const auto tables = sql::tables();
    const auto found = std::ranges::find(tables, table, &sql::Table::name);
    Budget memory;
    auto opened =
        found->open({.dump = &dump, .file = "sample.beamdump", .memory = &memory}, request);
    EXPECT_TRUE(opened.has_value()) << table;
    std::vector<query::Row> all;
    for (query::Row row; opened && (*opened)->next(row).value_or(false);) {
        all.push_back(row);
    }
    return all;
}

TEST_F(SqlTest, TheFirstRowsOfAnOrderAreThoseOfAWholeSort) {
    // With + a column is an expression, by which no table orders.
    for (const auto& [table, column] : std::to_array<std::pair<std::string_view, std::string_view>>(
             {{"processes", "memory"},
              {"processes", "reductions"},
              {"processes", "message_queue_len"},
              {"processes", "total_heap_size"},
              {"ets_tables", "size"},
              {"ets_tables", "memory_bytes"},
              {"modules", "code_bytes"},
              {"binaries", "size_bytes"}})) {
        const auto* const dump = table == "ets_tables" ? "tables.beamdump"
                                 : table == "binaries" ? "binaries.beamdump"
                                                       : "sample.beamdump";
        for (const auto* limit : {"1", "2", "100", "1 OFFSET 1"}) {
            const auto sorted = [&, &table = table, &column = column](std::string_view by) {
                return rows(fmt::format("SELECT {0} FROM {1} ORDER BY {2}{0} DESC LIMIT {3}",
                                        column, table, by, limit),
                            dump);
            };
            EXPECT_EQ(sorted(""), sorted("+")) << table << " " << column << " " << limit;
        }
    }
}

TEST_F(SqlTest, ATableGivesNoMoreRowsThanAnOrderNeeds) {
    auto dump = Dump::open(program_.path("sample.beamdump"));
    ASSERT_TRUE(dump.has_value());
    const auto all = rows_of(**dump, "processes", {});
    ASSERT_GT(all.size(), 2);
    EXPECT_EQ(rows_of(**dump, "processes", {.limit = 1, .sort = "memory"}).size(), 1);
    // By a column that is not in the index of processes all are read.
    EXPECT_EQ(rows_of(**dump, "processes", {.limit = 1, .sort = "links"}).size(), all.size());
    EXPECT_EQ(rows_of(**dump, "processes", {.limit = 1, .sort = "memory,reductions"}).size(),
              all.size());
    auto binaries = Dump::open(program_.path("binaries.beamdump"));
    ASSERT_TRUE(binaries.has_value());
    ASSERT_EQ(rows_of(**binaries, "binaries", {}).size(), 3);
    EXPECT_EQ(rows_of(**binaries, "binaries", {.limit = 1}).size(), 1);
    EXPECT_EQ(rows_of(**binaries, "binaries", {.limit = 1, .sort = "size_bytes"}).size(), 1);
}

TEST_F(SqlTest, HoldersOfBinariesAreCountedOnlyWhereTheyAreAskedFor) {
    auto dump = Dump::open(program_.path("binaries.beamdump"));
    ASSERT_TRUE(dump.has_value());
    const auto place = query::column_place(query::node_binary_columns(), "holding_processes");
    const auto is_told = [place](const query::Row& row) {
        return !std::holds_alternative<std::monostate>(row[place]);
    };
    EXPECT_TRUE(
        std::ranges::all_of(rows_of(**dump, "binaries", {.late = {"holding_processes"}}), is_told));
    EXPECT_TRUE(std::ranges::none_of(rows_of(**dump, "binaries", {}), is_told));
    EXPECT_EQ(rows("SELECT count(holding_processes) AS told FROM binaries", "binaries.beamdump"),
              "told\n3\n");
    EXPECT_EQ(rows("SELECT count(size_bytes) AS told FROM binaries", "binaries.beamdump"),
              "told\n3\n");
}

TEST_F(SqlTest, AnAbsentValueIsNull) {
    EXPECT_EQ(rows("SELECT count(*), count(name), sum(size) FROM ets_tables", "tables.beamdump"),
              "count(*),count(name),sum(size)\n3,2,2401\n");
    EXPECT_EQ(rows("SELECT name FROM ets_tables WHERE size IS NULL", "tables.beamdump"),
              "name\n\n");
    EXPECT_EQ(rows("SELECT compressed, typeof(compressed) FROM ets_tables WHERE name = 'alpha'",
                   "tables.beamdump"),
              "compressed,typeof(compressed)\n1,integer\n");
}

TEST_F(SqlTest, TablesOfOneThingTakeItAsAnArgument) {
    EXPECT_EQ(rows("SELECT number, term FROM messages('alpha')"),
              "number,term\n0,7\n1,\"[1,2]\"\n");
    EXPECT_EQ(rows("SELECT function FROM stack('<0.1.0>') WHERE frame = 0"),
              "function\ndemo:loop/2\n");
    EXPECT_EQ(rows("SELECT key, value FROM dictionary('alpha')"), "key,value\nloop,42\n");
    EXPECT_EQ(rows("SELECT p.pid, count(*) FROM processes p, messages(p.pid) "
                   "WHERE p.registered_name = 'alpha' GROUP BY 1"),
              "pid,count(*)\n<0.1.0>,2\n");
    EXPECT_EQ(rows("SELECT process FROM messages WHERE process = 'alpha' LIMIT 1"),
              "process\nalpha\n");
    const Ran none = ask("SELECT * FROM messages");
    EXPECT_EQ(none.status, 2);
    EXPECT_THAT(none.err, HasSubstr("a table of something needs it"));
    const Ran nobody = ask("SELECT * FROM messages('nobody')");
    EXPECT_EQ(nobody.status, 1);
    EXPECT_THAT(nobody.err, HasSubstr("registered as 'nobody'"));
}

TEST_F(SqlTest, TermsAreFoundByTheirPaths) {
    EXPECT_EQ(rows("SELECT term('alpha', 'message 1') AS t, term_kind('alpha', 'message 1') AS k, "
                   "term_count('alpha', 'message 1') AS n, term_words('alpha', 'message 1') AS w, "
                   "term_flat_words('alpha', 'message 1') AS f, "
                   "term_binary_bytes('alpha', 'message 1') AS b"),
              "t,k,n,w,f,b\n\"[1,2]\",list,2,4,4,0\n");
    EXPECT_EQ(rows("SELECT term('alpha', 'message 1[2]') AS t"), "t\n2\n");
    EXPECT_EQ(rows("SELECT step, term FROM terms('alpha', 'message 1')"),
              "step,term\nitem 1,1\nitem 2,2\n");
    EXPECT_EQ(rows("SELECT term FROM heap_roots('alpha') WHERE step = 'dictionary loop'"),
              "term\n42\n");
    // Of those that lack it, it is NULL.
    EXPECT_EQ(rows("SELECT pid FROM processes WHERE term(pid, 'message 1') IS NOT NULL AND "
                   "registered_name = 'alpha'"),
              "pid\n<0.1.0>\n");
    EXPECT_EQ(rows("SELECT term(NULL, 'state') IS NULL AS n"), "n\n1\n");
}

TEST_F(SqlTest, FunctionsLookIntoTheTermOfARow) {
    EXPECT_EQ(rows("SELECT number, kind(value) AS k, text(value) AS t, part(value, 'item 2') AS p, "
                   "typeof(part(value, '[2]')) AS y, words(value) AS w, flat_words(value) AS f, "
                   "matches(value, '[1, _]') AS m, tag(value) AS g FROM messages('alpha')"),
              "number,k,t,p,y,w,f,m,g\n0,integer,7,,null,0,0,0,\n"
              "1,list,\"[1,2]\",2,integer,4,4,1,\n");
    // Also of another row at the same time, and in each clause but those of kept rows.
    EXPECT_EQ(rows("SELECT kind(a.value) || ' ' || kind(b.value) AS k FROM messages('alpha') a, "
                   "messages('alpha') b WHERE kind(a.value) <> kind(b.value) "
                   "ORDER BY kind(b.value)"),
              "k\nlist integer\ninteger list\n");
    EXPECT_EQ(rows("SELECT kind(value) AS k, count(*) AS n FROM messages('alpha') "
                   "GROUP BY kind(value) ORDER BY 1"),
              "k,n\ninteger,1\nlist,1\n");
    EXPECT_EQ(rows("SELECT kind(m.value) AS k FROM (SELECT 1) LEFT JOIN messages('alpha') m "
                   "ON m.number > 5"),
              "k\n\n");
}

TEST_F(SqlTest, FunctionsLookIntoRowsThatHavePassed) {
    EXPECT_EQ(rows("SELECT kind(v) AS k FROM (SELECT value AS v FROM messages('alpha') "
                   "ORDER BY number DESC LIMIT 5)"),
              "k\nlist\ninteger\n");
    EXPECT_EQ(rows("SELECT kind(max(value)) AS k, kind(min(value)) AS l FROM messages('alpha')"),
              "k,l\nlist,integer\n");
    EXPECT_EQ(rows("WITH m AS MATERIALIZED (SELECT value AS v FROM messages('alpha')) "
                   "SELECT text(v) AS t FROM m ORDER BY kind(v) DESC"),
              "t\n\"[1,2]\"\n7\n");
    EXPECT_EQ(rows("SELECT kind(value) AS k, text(max(value)) AS t FROM processes p, "
                   "messages(p.pid) WHERE p.registered_name = 'alpha' GROUP BY queue, "
                   "kind(value) ORDER BY 1"),
              "k,t\ninteger,7\nlist,\"[1,2]\"\n");
    for (const std::string& statement :
         std::vector<std::string>{"SELECT kind(1)", "SELECT kind('alpha')", "SELECT kind(-1)",
                                  "SELECT kind(pid) FROM processes",
                                  "SELECT kind(9223372036854775807) FROM messages('alpha')"}) {
        const Ran ran = ask(statement);
        EXPECT_EQ(ran.status, 2) << statement << ran.out;
        EXPECT_THAT(ran.err, HasSubstr("is called with the column value")) << statement;
    }
    // A number that no row has.
    EXPECT_THAT(ask("SELECT kind(value + 7) FROM messages('alpha')").err,
                HasSubstr("has no message 7"));
    EXPECT_THAT(ask("SELECT kind() FROM messages('alpha')").err, HasSubstr("kind(value, [path])"));
    EXPECT_THAT(ask("SELECT element(value, 0) FROM messages('alpha')").err, HasSubstr("from 1 on"));
    EXPECT_THAT(ask("SELECT map_get(value, 1.5) FROM messages('alpha')").err, HasSubstr("KEY"));
    // A path that leads nowhere in all rows is told.
    EXPECT_THAT(ask("SELECT part(value, 'key x') FROM messages('alpha')").err,
                HasSubstr("has no part"));
}

TEST_F(SqlTest, HoldersAreToldWithWhatWasNotLookedAt) {
    const Ran ran = ask("SELECT count(*) > 0 AS n FROM holders('alpha')");
    EXPECT_EQ(ran.status, 3);
    EXPECT_EQ(ran.out, "n\r\n1\r\n");
    EXPECT_THAT(ran.err, HasSubstr("the terms of 1 process flagged sensitive (--sensitive)"));
    EXPECT_EQ(ask("SELECT * FROM holders('nobody')").status, 1);
}

TEST_F(SqlTest, TermsThatNobodyHasAreTold) {
    const Ran no_root = ask("SELECT term('alpha', 'message 17') AS t");
    EXPECT_EQ(no_root.status, 3);
    EXPECT_THAT(no_root.err, HasSubstr("missing from the answer: <0.1.0> has no message 17"));
    const Ran nobody = ask("SELECT term('nobody', 'state') AS t");
    EXPECT_EQ(nobody.status, 3);
    EXPECT_THAT(nobody.err, HasSubstr("registered as 'nobody'"));
    const Ran secret = ask("SELECT term('secret', 'message 0') AS t");
    EXPECT_EQ(secret.status, 3);
    EXPECT_THAT(secret.err, HasSubstr("flagged sensitive"));
    for (const std::string call : {"term('alpha')", "term()", "term('alpha', '')",
                                   "term('alpha', 'message 1', 'other.beamdump')"}) {
        const Ran ran = ask("SELECT " + call);
        EXPECT_EQ(ran.status, 2) << call;
        expect_one_sentence(ran.err);
    }
    const Ran two = program_.run({"sql", "sample.beamdump", "later.beamdump",
                                  "SELECT p.dump, term('alpha', 'message 1', p.dump) AS t FROM "
                                  "processes p WHERE p.registered_name = 'alpha'",
                                  "--csv"});
    EXPECT_THAT(two.out, HasSubstr("sample.beamdump,\"[1,2]\""));
    EXPECT_EQ(
        program_.run({"sql", "sample.beamdump", "later.beamdump", "SELECT term('alpha', 'x')"})
            .status,
        2);
}

TEST_F(SqlTest, WithheldTermsAreToldNotDropped) {
    const Ran alone = ask("SELECT * FROM dictionary('secret')");
    EXPECT_EQ(alone.status, 1);
    EXPECT_THAT(alone.err, HasSubstr("flagged sensitive"));
    const Ran all = ask("SELECT p.pid, d.key FROM processes p, dictionary(p.pid) d");
    EXPECT_EQ(all.status, 3);
    EXPECT_THAT(all.out, HasSubstr("<0.1.0>,loop"));
    EXPECT_THAT(all.err, HasSubstr("missing from the answer: "));
    const Ran shown = ask("SELECT * FROM dictionary('secret')", {"--csv", "--sensitive"});
    EXPECT_THAT(shown.err, Not(HasSubstr("sensitive")));
}

TEST_F(SqlTest, SeveralDumpsAreToldApart) {
    const Ran ran = program_.run({"sql", "sample.beamdump", "later.beamdump",
                                  "SELECT dump, count(*) AS n FROM processes GROUP BY dump "
                                  "ORDER BY dump",
                                  "--ndjson"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("{\"dump\":\"sample.beamdump\",\"n\":4}\n"));
    EXPECT_THAT(ran.out, HasSubstr("{\"dump\":\"later.beamdump\",\"n\":"));
    const Ran one = program_.run({"sql", "sample.beamdump", "later.beamdump",
                                  "SELECT count(*) AS n FROM processes WHERE dump = '" +
                                      program_.path("sample.beamdump") + "'",
                                  "--csv"});
    EXPECT_EQ(one.out, "n\r\n4\r\n");
}

TEST_F(SqlTest, FormsOfTheAnswer) {
    EXPECT_EQ(ask("SELECT pid, reductions AS r FROM processes WHERE reductions > 50", {}).out,
              "pid            r\n<0.1.0>  1234567\n<0.4.0>       99\n");
    EXPECT_EQ(ask("SELECT pid FROM processes WHERE pid = 'x'", {}).out, "no rows\n");
    const auto json = ask("SELECT 1.5 AS a, NULL AS b, 'x\"y' AS c", {"--json"}).out;
    EXPECT_THAT(json, HasSubstr("\"schema\": \"beamdump.sql/1\""));
    EXPECT_THAT(json, HasSubstr("\"a\": 1.5,\n      \"c\": \"x\\\"y\"\n"));
    EXPECT_EQ(ask("SELECT 'a,b' AS x, 'c\"d' AS y").out, "x,y\r\n\"a,b\",\"c\"\"d\"\r\n");
    EXPECT_EQ(ask("SELECT 1 AS x, 2 AS x", {"--json"}).status, 2);
    EXPECT_EQ(ask("SELECT 1", {"--json", "--csv"}).status, 2);
}

TEST_F(SqlTest, OnlySelectIsPossible) {
    const auto file = program_.path("written.db");
    for (const std::string& statement : std::vector<std::string>{
             "CREATE TABLE x(a)", "ATTACH '" + file + "' AS y", "PRAGMA table_list",
             "DROP TABLE ports", "DELETE FROM ports", "INSERT INTO ports(name) VALUES('x')",
             "VACUUM INTO '" + file + "'", "SELECT load_extension('x')", "BEGIN",
             "SELECT 1; SELECT 2", "", "-- nothing", "CREATE VIRTUAL TABLE z USING ports",
             "UPDATE ports SET name = 1", "SELECT * FROM pragma_table_list",
             "EXPLAIN DELETE FROM ports"}) {
        const Ran ran = ask(statement);
        EXPECT_EQ(ran.status, 2) << statement;
        EXPECT_EQ(ran.out, "") << statement;
        expect_one_sentence(ran.err);
    }
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_THAT(ask("SELECT * FROM portz").err, HasSubstr("there are allocators, "));
    EXPECT_THAT(ask("SELECT nme FROM ports").err, HasSubstr("no such column: nme"));
}

TEST_F(SqlTest, MemoryAndStepsAreBounded) {
    const Ran large =
        ask("SELECT length(group_concat(hex(zeroblob(1000000)))) FROM processes a, "
            "processes b, processes c, processes d",
            {"--max-memory", "8MiB"});
    EXPECT_EQ(large.status, 1);
    EXPECT_THAT(large.err, HasSubstr("more memory than --max-memory allows"));
    auto endless = sql::Question::prepare(
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        {.memory = 1 << 30, .steps = 1'000'000});
    ASSERT_TRUE(endless);
    const auto done = (*endless)->run({}, [](const auto& /*row*/) { return true; });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kLimit);
}

TEST_F(SqlTest, NoCallOfAFunctionTakesLong) {
    const std::string zeros = "hex(zeroblob(4000000))";
    const std::string other = "substr(hex(zeroblob(1000000)), 1, 200) || 'x'";
    for (const std::string& call : std::vector<std::string>{
             "instr(" + zeros + ", hex(zeroblob(1000000)) || '1')",
             "replace(" + zeros + ", hex(zeroblob(1000000)) || '1', 'x')",
             "trim(" + zeros + ", hex(zeroblob(1000000)))",
             "ltrim(" + zeros + ", hex(zeroblob(1000000)))",
             "rtrim(" + zeros + ", hex(zeroblob(1000000)))", zeros + " LIKE '%' || " + other,
             zeros + " LIKE '%!%' || " + other + " ESCAPE '!'", zeros + " GLOB '*' || " + other,
             "json_patch('\"' || " + zeros + " || '\"', '\"' || " + zeros + " || '\"')"}) {
        const Ran ran = ask("SELECT " + call);
        EXPECT_EQ(ran.status, 1) << call;
        EXPECT_THAT(ran.err, HasSubstr("would take too long")) << call;
    }
    const Ran text = ask("SELECT length(hex(zeroblob(10000000)))");
    EXPECT_EQ(text.status, 1);
    EXPECT_THAT(text.err, HasSubstr("too big"));
    std::string many = "SELECT 1";
    for (int call = 0; call < 1001; ++call) {
        many += "\n, abs(1)";
    }
    const Ran calls = ask(many);
    EXPECT_EQ(calls.status, 1);
    EXPECT_THAT(calls.err, HasSubstr("more than 1000 calls of functions"));
}

TEST_F(SqlTest, FunctionsThatAreBoundedAnswerAsSqlitesOwn) {
    EXPECT_EQ(
        rows("SELECT 'aXb' LIKE 'A_B' AS a, 'a%' LIKE 'a!%' ESCAPE '!' AS b, "
             "'abc' LIKE 'a!%' ESCAPE '!' AS c, 'abc' GLOB '[a-b]*' AS d, 'Abc' GLOB 'a*' AS e, "
             "NULL LIKE 'x' AS f"),
        "a,b,c,d,e,f\n1,1,0,1,0,\n");
    EXPECT_EQ(rows("SELECT instr('h\u00e9llo', 'llo') AS a, instr(x'c3a96c', x'6c') AS b, "
                   "instr('abc', '') AS c, instr(1234, 34) AS d, instr(NULL, 'x') AS e"),
              "a,b,c,d,e\n3,3,1,3,\n");
    EXPECT_EQ(rows("SELECT replace('abab', 'ab', 'c') AS a, replace('x', '', 'y') AS b, "
                   "trim('xxaxyx', 'xy') AS c, ltrim('  a ') || '|' AS d, rtrim('axx', 'x') AS e, "
                   "typeof(replace(12, 1, 3)) AS f"),
              "a,b,c,d,e,f\ncc,x,a,a |,a,text\n");
    EXPECT_EQ(rows("SELECT json_patch('{\"a\":1,\"b\":2}', '{\"a\":null}') ->> 'b' AS b"),
              "b\n2\n");
    EXPECT_THAT(ask("SELECT 'a' LIKE 'b' ESCAPE 'xx'").err,
                HasSubstr("ESCAPE expression must be a single character"));
}

TEST_F(SqlTest, TextsAreComparedByTheCollationThatIsAskedFor) {
    EXPECT_EQ(rows("SELECT pid FROM processes WHERE registered_name = 'ALPHA' COLLATE NOCASE"),
              "pid\n<0.1.0>\n");
    EXPECT_EQ(rows("SELECT pid FROM processes WHERE registered_name = 'alpha  ' COLLATE RTRIM"),
              "pid\n<0.1.0>\n");
    EXPECT_EQ(rows("SELECT count(*) AS n FROM processes WHERE registered_name = 'ALPHA'"),
              "n\n0\n");
    EXPECT_EQ(rows("SELECT count(*) AS n FROM processes WHERE dump = "
                   "(SELECT upper(dump) FROM processes LIMIT 1) COLLATE NOCASE"),
              "n\n4\n");
}

TEST_F(SqlTest, OfNullThereAreNoRows) {
    // Processes without a name are not missing from the answer.
    EXPECT_EQ(rows("SELECT count(*) AS n FROM messages(NULL)"), "n\n0\n");
    EXPECT_EQ(
        rows("SELECT p.pid, m.number FROM processes p LEFT JOIN messages(p.registered_name) m "
             "WHERE p.registered_name IS NULL ORDER BY 1 LIMIT 1"),
        "pid,number\n<0.4.0>,\n");
}

TEST_F(SqlTest, ADumpIsNamedOnce) {
    const Ran twice = program_.run({"sql", "sample.beamdump", "sample.beamdump", "SELECT 1"});
    EXPECT_EQ(twice.status, 2);
    EXPECT_THAT(twice.err, HasSubstr("sample.beamdump is named twice"));
}

TEST_F(SqlTest, ASentenceDoesNotRepeatALongPath) {
    const Ran ran = ask("SELECT term('alpha', printf('%.*c', 100000, 'x'))");
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.err, HasSubstr("xxx..."));
    EXPECT_LT(ran.err.size(), 2'000U);
}

TEST_F(SqlTest, RowsThatAreHeldAreBounded) {
    constexpr int kTimers = 30'000;
    constexpr int kOfAPage = 200;
    SampleDump sample;
    auto& builder = sample.builder();
    for (int first = 0; first < kTimers; first += kOfAPage) {
        records::Timers page;
        for (int number = first; number < first + kOfAPage; ++number) {
            auto& timer = *page.add_timer();
            timer.set_kind(records::TIMER_KIND_MESSAGE);
            timer.set_receiver_owner_id(format::owner_id_of(1, 0));
            timer.set_message_words(static_cast<std::uint64_t>(number));
        }
        builder.trailer().add_timers_offset(builder.append(format::RecordKind::kTimers, page));
    }
    program_.put("timers.beamdump", sample.finish());
    const auto asked = [&](const std::string& statement, const std::string& memory) {
        return ask(statement, {"--csv", "--max-memory", memory}, "timers.beamdump");
    };
    const Ran all = asked("SELECT sum(message_words) AS n FROM timers", "64MiB");
    EXPECT_EQ(all.status, 0) << all.err;
    EXPECT_EQ(all.out, fmt::format("n\r\n{}\r\n", kTimers * (kTimers - 1LL) / 2));
    const Ran refused = asked("SELECT sum(message_words) AS n FROM timers", "8MiB");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("the rows of a table need more memory"));
    // Two that are held at once, though each alone has room.
    EXPECT_EQ(asked("SELECT count(*) FROM timers", "20MiB").status, 0);
    EXPECT_EQ(asked("SELECT a.message_words FROM timers a, timers b LIMIT 1", "64MiB").status, 0);
    EXPECT_EQ(asked("SELECT a.message_words FROM timers a, timers b LIMIT 1", "20MiB").status, 1);
    EXPECT_EQ(
        asked("SELECT message_words FROM timers ORDER BY message_words DESC LIMIT 2", "8MiB").out,
        "message_words\r\n29999\r\n29998\r\n");
    EXPECT_EQ(asked("SELECT message_words FROM timers WHERE message_words = 7", "8MiB").out,
              "message_words\r\n7\r\n");
}

TEST_F(SqlTest, AStatementIsReadFromAFile) {
    std::ofstream(program_.path("question.sql")) << "SELECT count(*) AS n\nFROM processes;\n";
    const Ran ran =
        program_.run({"sql", "sample.beamdump", "--file", program_.path("question.sql"), "--csv"});
    EXPECT_EQ(ran.out, "n\r\n4\r\n") << ran.err;
    EXPECT_EQ(program_.run({"sql", "sample.beamdump"}).status, 2);
}

TEST_F(SqlTest, QuestionsOfTheDocumentAreAnswered) {
    std::ifstream file(BEAMDUMP_SCHEMAS "/../docs/sql.md");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    constexpr std::string_view kBegin = "\n```sql\n";
    std::size_t questions = 0;
    for (auto at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
        at += kBegin.size();
        const auto statement = text.substr(at, text.find("\n```", at) - at);
        const Ran ran = ask(statement, {"--csv"}, "tables.beamdump");
        // The sample has no such process or table, and not all kinds of things.
        EXPECT_NE(ran.status, 2) << statement << ran.err;
        ++questions;
    }
    EXPECT_GE(questions, 12U);
}

TEST_F(SqlTest, EveryTableIsNamedAndAnswers) {
    EXPECT_TRUE(std::ranges::is_sorted(sql::tables(), {}, &sql::Table::name));
    const auto help = program_.run({"sql", "--tables"}).out;
    for (const auto& table : sql::tables()) {
        EXPECT_THAT(help, HasSubstr(std::string(table.name)));
        constexpr std::array<std::string_view, 3> kCalls = {"", "('x')", "('x', 'state')"};
        auto question = sql::Question::prepare(
            fmt::format("SELECT * FROM {}{}", table.name, kCalls.at(table.arguments.size())),
            {.memory = 1 << 30});
        ASSERT_TRUE(question) << table.name;
        EXPECT_EQ((*question)->reads_terms(), table.reads_terms);
    }
    EXPECT_TRUE(std::ranges::is_sorted(sql::term_functions(), {}, &sql::TermFunction::name));
    for (const auto& function : sql::term_functions()) {
        EXPECT_THAT(help, HasSubstr(fmt::format("{}(process, path", function.name)));
        const auto question = sql::Question::prepare(
            fmt::format("SELECT {}('x', 'state')", function.name), {.memory = 1 << 30});
        ASSERT_TRUE(question) << function.name;
        EXPECT_TRUE((*question)->reads_terms());
    }
    EXPECT_TRUE(std::ranges::is_sorted(sql::row_functions(), {}, &sql::RowFunction::name));
    for (const auto& function : sql::row_functions()) {
        EXPECT_THAT(help, HasSubstr(fmt::format("{}(value", function.name)));
    }
}

}  // namespace
}  // namespace beamdump::test
