#include "program.h"
#include "query/tables/ets_rows.h"
#include "query/tables/ets_tables.h"
#include "sample_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

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
    std::vector<std::string> names(const query::RowQuery& query) {
        auto dump = expect_value(Dump::open(program_.path("tables.beamdump")));
        auto list = expect_value(query::list_ets_tables(*dump, query));
        std::vector<std::string> names;
        for (const auto& row : list.take()) {
            names.push_back(query::ets_table_of(row).name.value_or("?"));
        }
        return names;
    }
    std::vector<std::string> sorted(const std::string& sort) {
        return names({.sort = sort, .filters = {}});
    }
    std::vector<std::string> filtered(const std::string& filter) {
        return names({.sort = std::string(query::kEtsSort), .filters = {filter}});
    }

    Program program_;
};

TEST_F(EtsTest, SortsByEachOrderAndPutsTheUnknownLast) {
    EXPECT_THAT(sorted("memory"), ElementsAre("alpha", "'Needs Quotes'", "?"));
    EXPECT_THAT(sorted("size"), ElementsAre("'Needs Quotes'", "alpha", "?"));
    EXPECT_THAT(sorted("name"), ElementsAre("'Needs Quotes'", "alpha", "?"));
    EXPECT_THAT(sorted("-name"), ElementsAre("alpha", "'Needs Quotes'", "?"));
    EXPECT_THAT(sorted("-type,size"), ElementsAre("'Needs Quotes'", "alpha", "?"));
}

TEST_F(EtsTest, FiltersByTextAndField) {
    EXPECT_THAT(filtered("alpha"), ElementsAre("alpha"));
    EXPECT_THAT(filtered("name~Quotes"), ElementsAre("'Needs Quotes'"));
    EXPECT_THAT(filtered("owner_name=alpha"), ElementsAre("alpha"));
    EXPECT_THAT(filtered("owner=<0.9.0>"), ElementsAre("'Needs Quotes'"));
    EXPECT_THAT(filtered("type=set"), ElementsAre("'Needs Quotes'"));
    EXPECT_THAT(filtered("type~set"), ElementsAre("alpha", "'Needs Quotes'"));
    EXPECT_THAT(filtered("protection=private"), ElementsAre("'Needs Quotes'"));
    EXPECT_THAT(filtered("id~1.2.3"), ElementsAre("alpha"));
    EXPECT_THAT(filtered("memory>1KiB"), ElementsAre("alpha"));
    EXPECT_THAT(filtered("size <= 1201"), ElementsAre("alpha", "'Needs Quotes'"));
    EXPECT_THAT(filtered("compressed=true"), ElementsAre("alpha"));
    EXPECT_THAT(filtered("name=nothing"), ElementsAre());
}

TEST_F(EtsTest, WrongColumnsAndValuesAreNamed) {
    const auto refused = [this](const std::vector<std::string>& options) {
        std::vector<std::string> arguments = {"ets", "tables.beamdump"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Ran ran = program_.run(arguments);
        EXPECT_EQ(ran.status, 2);
        return ran.err;
    };
    EXPECT_THAT(refused({"--filter", "nam=x"}), HasSubstr("did you mean \"name\"?"));
    EXPECT_THAT(refused({"--sort", "weight"}), HasSubstr("there is no sort order \"weight\""));
    EXPECT_THAT(refused({"--columns", "name,weight"}), HasSubstr("there is no column \"weight\""));
    EXPECT_THAT(refused({"--filter", "memory>much"}), HasSubstr("memory is a size: 4096, 64K"));
    EXPECT_THAT(refused({"--filter", "type>set"}), HasSubstr("type is a text, which has no order"));
}

TEST_F(EtsTest, ShowsWhatIsKnown) {
    const Ran ran = program_.run({"ets", "tables.beamdump"});
    EXPECT_EQ(ran.out,
              "NAME            TYPE          ROWS    MEMORY  PROTECTION  OWNER    OWNER NAME  ID"
              "             OPTIONS\n"
              "alpha           ordered_set  1,200  19.5 KiB  public      <0.1.0>  alpha       "
              "#Ref<0.1.2.3>  write_concurrency auto, read_concurrency, decentralized_counters, "
              "compressed, fixed\n"
              "'Needs Quotes'  set          1,201     800 B  private     <0.9.0>\n"
              "?               ?                ?         ?  ?\n");
    const Ran chosen = program_.run({"ets", "tables.beamdump", "--columns", "name,rows,keypos"});
    EXPECT_EQ(chosen.out,
              "NAME             ROWS  KEYPOS\n"
              "alpha           1,200       2\n"
              "'Needs Quotes'  1,201       1\n"
              "?                   ?       ?\n");
    const Ran grouped = program_.run({"ets", "tables.beamdump", "--group-by", "type"});
    EXPECT_THAT(grouped.out, HasSubstr("ordered_set"));
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
    EXPECT_EQ(
        ran.out,
        "NAME      TYPE         ROWS   MEMORY  PROTECTION  OWNER     OWNER NAME  ID             "
        "OPTIONS\n"
        "accounts  set            12  2.4 KiB  protected   <0.9.0>   owner                      "
        "write_concurrency auto, compressed, fixed\n"
        "cache     ordered_set     1    800 B  ?           <0.10.0>              #Ref<0.1.2.3>\n"
        "\n2 ETS tables use 3.1 KiB\n");
    EXPECT_EQ(ran.status, 0);
}

/// A table `alpha` of many rows: a third are {loop,N}, the rest {alpha,N,N}; in records of 500
/// rows, and packs of 50.
std::vector<std::byte> dump_with_many_rows(std::uint64_t count) {
    constexpr std::uint64_t kOfARecord = 500;
    constexpr std::uint64_t kOfAPack = 50;
    SampleDump dump;
    dump.add(alpha_process());
    records::EtsTables page;
    auto& table = *page.add_table();
    table.set_name_atom(kAlphaAtom);
    table.set_named(true);
    table.set_key_position(1);
    table.set_rows(count);
    table.set_compressed(false);
    auto& builder = dump.builder();
    builder.trailer().add_ets_tables_offset(builder.append(format::RecordKind::kEtsTables, page));
    for (std::uint64_t first = 0; first < count; first += kOfARecord) {
        records::EtsRows rows;
        rows.set_table_index(0);
        rows.set_rows(std::min(kOfARecord, count - first));
        for (std::uint64_t at = first; at < first + rows.rows(); at += kOfAPack) {
            records::PackedRegions packed;
            const auto last = std::min(at + kOfAPack, first + rows.rows());
            for (std::uint64_t row = at; row < last; ++row) {
                auto& region = *packed.add_region();
                region.set_kind(static_cast<std::uint32_t>(format::RegionKind::kEtsRow));
                region.set_address(kEtsRow + row * 32);
                const std::vector<std::uint64_t> words =
                    row < count / 3
                        ? std::vector{tuple_header(2), atom_word(kLoopAtom), small_word(row)}
                        : std::vector{tuple_header(3), atom_word(kAlphaAtom), small_word(row),
                                      small_word(row)};
                region.set_total_words(words.size());
                region.mutable_words()->Assign(words.begin(), words.end());
            }
            auto& pack = *rows.mutable_directory()->add_packed_regions();
            pack.set_count(static_cast<std::uint64_t>(packed.region_size()));
            pack.set_lowest_address(kEtsRow + at * 32);
            pack.set_highest_address(kEtsRow + last * 32);
            pack.set_offset(builder.append(format::RecordKind::kPackedRegions, packed));
        }
        builder.trailer().add_ets_rows_offset(builder.append(format::RecordKind::kEtsRows, rows));
    }
    return dump.finish();
}

TEST_F(EtsTest, RowsOfALargeTableComeAfterGroupsOfASample) {
    program_.put("large.beamdump", dump_with_many_rows(3'000));
    const Ran ran = program_.run({"ets", "large.beamdump", "alpha", "--limit", "2"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, R"(alpha  ?
3,000 rows captured

Groups of a sample of 1,000 rows, evenly spread over the table
  SHAPE                   IN SAMPLE  SHARE  WORDS
  {atom,integer,integer}        666  66.6%  2,664
  {atom,integer}                334  33.4%  1,002

  KEY    IN SAMPLE  SHARE  WORDS
  alpha        666  66.6%  2,664
  loop         334  33.4%  1,002

  SIZE          IN SAMPLE  SHARE  WORDS
  4 to 7 words        666  66.6%  2,664
  2 to 3 words        334  33.4%  1,002

--group-by shape, key or size counts all rows

     WORDS  ROW
         3  {loop,0}
         3  {loop,1}
2,998 more; --limit 0 shows all
)");
    const Ran json = program_.run({"ets", "large.beamdump", "alpha", "--limit", "2", "--json"});
    EXPECT_EQ(json.status, 0) << json.err;
    EXPECT_THAT(json.out, HasSubstr("\"sample\": {\n    \"rows\": 1000,"));
    EXPECT_THAT(json.out, HasSubstr("\"key\": \"alpha\",\n          \"count\": 666"));
    for (const std::vector<std::string>& all :
         {std::vector<std::string>{"--limit", "0"}, {"--limit", "3000"}, {"--key", "loop"}}) {
        std::vector<std::string> arguments = {"ets", "large.beamdump", "alpha"};
        arguments.insert(arguments.end(), all.begin(), all.end());
        EXPECT_THAT(program_.run(arguments).out, ::testing::Not(HasSubstr("sample")));
    }
    program_.put("small.beamdump", dump_with_many_rows(1'000));
    EXPECT_THAT(program_.run({"ets", "small.beamdump", "alpha"}).out,
                ::testing::Not(HasSubstr("sample")));
}

/// Tables that only their ids name, whose rows are then added.
SampleDump dump_with_tables(std::uint64_t count) {
    SampleDump dump;
    dump.add(alpha_process());
    records::EtsTables page;
    for (std::uint64_t number = 0; number < count; ++number) {
        auto& table = *page.add_table();
        for (const std::uint32_t part : {static_cast<std::uint32_t>(number), 2U, 1U}) {
            table.add_reference(part);
        }
        table.set_key_position(1);
        table.set_compressed(false);
    }
    auto& builder = dump.builder();
    builder.trailer().add_ets_tables_offset(builder.append(format::RecordKind::kEtsTables, page));
    return dump;
}

std::string table_id(Dump& dump, std::size_t table) {
    return expect_value(query::ets_tables(dump)).at(table).id.value_or("?");
}

TEST_F(EtsTest, TheRowsOfOneTableAreFoundByFewRecords) {
    constexpr std::uint64_t kTables = 200;
    constexpr std::uint64_t kWords = 300;
    auto dump = dump_with_tables(kTables);
    for (std::uint64_t table = 0; table < kTables; ++table) {
        for (std::uint64_t row = 0; row < 3; ++row) {
            std::vector<std::uint64_t> words = {tuple_header(kWords)};
            for (std::uint64_t at = 0; at < kWords; ++at) {
                words.push_back(small_word(table * 3 + row));
            }
            add_ets_row(
                dump.builder(), table, words,
                {.address = kEtsRow + row * 8 * (kWords + 1), .first_row = row, .last = row == 2});
        }
    }
    program_.put("many.beamdump", dump.finish());
    auto opened = expect_value(Dump::open(program_.path("many.beamdump")));
    constexpr std::uint64_t kAsked = 123;
    const auto id = table_id(*opened, kAsked);
    const auto before = opened->reader().stats().frames_decompressed;
    query::EtsRowsOptions options;
    options.term_bytes = 10;
    options.in_pieces = true;
    auto listing = expect_value(query::EtsRowListing::open(*opened, id, options));
    std::vector<std::string> texts;
    while (expect_value(listing->next_rows(
        [&](const query::EtsRowLine& row) { texts.push_back(row.row.text.substr(0, 4)); }))) {
    }
    EXPECT_THAT(texts, ElementsAre("{369", "{370", "{371"));
    EXPECT_EQ(listing->counts().captured, 3U);
    EXPECT_GT(opened->reader().frames(), kTables);
    EXPECT_LT(opened->reader().stats().frames_decompressed - before, 20U);
    EXPECT_EQ(expect_value(listing->record_at(2))->first_row, 2U);
    EXPECT_FALSE(expect_value(listing->record_at(3)).has_value());
}

TEST_F(EtsTest, RowsAreFoundWhereRecordsAreNotInTheOrderOfTables) {
    auto dump = dump_with_tables(3);
    const auto row = [](std::uint64_t value) {
        return std::vector{tuple_header(1), small_word(value)};
    };
    add_ets_row(dump.builder(), 2, row(1), {.last = false});
    add_ets_row(dump.builder(), 0, row(2), {.address = kEtsRow + 16});
    add_ets_row(dump.builder(), 1, row(3), {.address = kEtsRow + 32});
    add_ets_row(dump.builder(), 2, row(4), {.address = kEtsRow + 48, .first_row = 1});
    program_.put("mixed.beamdump", dump.finish());
    auto opened = expect_value(Dump::open(program_.path("mixed.beamdump")));
    const Ran ran =
        program_.run({"sql", "mixed.beamdump", "--csv",
                      "SELECT t.id, r.term FROM ets_tables t, ets_rows(t.id) r ORDER BY r.term"});
    EXPECT_EQ(ran.err, "");
    for (const auto& [table, text] :
         {std::pair(2U, "{1}"), {0U, "{2}"}, {1U, "{3}"}, {2U, "{4}"}}) {
        EXPECT_THAT(ran.out, HasSubstr(table_id(*opened, table) + "," + text)) << ran.out;
    }
}

TEST_F(EtsTest, OfADumpThatBreaksOffOneReadingOfATableCounts) {
    auto dump = dump_with_tables(1);
    const auto add = [&](std::uint64_t value, std::uint64_t first_row) {
        add_ets_row(dump.builder(), 0, {tuple_header(1), small_word(value)},
                    {.address = kEtsRow + value * 16,
                     .first_row = first_row,
                     .last = false,
                     .in_trailer = false});
    };
    add(1, 0);
    add(2, 1);
    add(3, 0);
    // So that the trailer is in a frame of its own, which is lost.
    for (std::uint64_t other = 1; other < 5; ++other) {
        add_ets_row(dump.builder(), other, std::vector<std::uint64_t>(450, small_word(other)),
                    {.in_trailer = false});
    }
    std::vector<std::byte> cut = dump.finish();
    cut.resize(cut.size() - 300);
    program_.put("cut.beamdump", cut);
    auto opened = expect_value(Dump::open(program_.path("cut.beamdump")));
    const auto id = table_id(*opened, 0);
    const Ran sql = program_.run(
        {"sql", "cut.beamdump", "--csv", fmt::format("SELECT term FROM ets_rows('{}')", id)});
    EXPECT_EQ(sql.status, 3);
    EXPECT_EQ(sql.out, "term\r\n{1}\r\n{2}\r\n");
    EXPECT_THAT(sql.err, HasSubstr("was cut off"));
    const Ran list = program_.run({"ets", "cut.beamdump", id});
    EXPECT_THAT(list.out, HasSubstr("2 rows captured"));
}

TEST_F(EtsTest, ADumpWithoutTablesSaysSo) {
    const Ran ran = program_.run({"ets", "sample.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no ETS tables"));
}

}  // namespace
}  // namespace beamdump::test
