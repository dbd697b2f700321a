#include "render/holders.h"

#include "program.h"
#include "query/holders/binaries.h"
#include "query/holders/node_binaries.h"
#include "query/holders/pattern.h"
#include "query/holders/refs.h"
#include "query/holders/search.h"
#include "sample_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Headers of OTP 25 (erl_term.h): a ProcBin has five more words, an ErlSubBin three and the
// original.
constexpr std::uint64_t kProcBinHeader = 5U << 6U | 8U << 2U;
constexpr std::uint64_t kSubBinHeader = 3U << 6U | 10U << 2U;
constexpr std::uint64_t kSplitBytes = 1U << 20U;
constexpr std::uint64_t kSplitBinary = kBinaryBase;
constexpr std::uint64_t kDeadBinary = kBinaryBase + 64;

/// A process with <<_:1000/binary, Part:10/binary, _/binary>> of kSplitBinary in y(0) and x(0),
/// kDeadBinary as garbage, and a pid in its dictionary.
SampleProcess holder(std::uint64_t number) {
    SampleProcess process;
    process.number = number;
    const std::uint64_t heap = heap_of(number);
    process.heap = {// 0: the ProcBin of kSplitBinary
                    kProcBinHeader, kSplitBytes, heap + 6 * 8, kSplitBinary, kSplitBinary + 24, 0,
                    // 6: the ProcBin of kDeadBinary, to which nothing leads
                    kProcBinHeader, kSplitBytes, 0, kDeadBinary, kDeadBinary + 24, 0,
                    // 12: the part
                    kSubBinHeader, 10, 1000, 0, boxed_word(heap),
                    // 17: {loop, [<0.77.0>]}
                    tuple_header(2), atom_word(kLoopAtom), list_word(heap + 20 * 8),
                    // 20
                    pid_word(77), kNil};
    process.off_heap = heap;
    process.stack = {boxed_word(heap + 12 * 8), kNormalExit};
    process.instruction_address = 0x7050;
    process.dictionary = {boxed_word(heap + 17 * 8)};
    return process;
}

class HoldersTest : public ::testing::Test {
  protected:
    void SetUp() override {
        SampleDump dump;
        records::Binaries binaries;
        for (const std::uint64_t address : {kSplitBinary, kDeadBinary}) {
            auto* binary = binaries.add_binary();
            binary->set_address(address);
            binary->set_data_address(address + 24);
            binary->set_size_bytes(kSplitBytes);
            binary->set_references(address == kSplitBinary ? 2 : 1);
            binary->set_prefix("0123");
            auto* part = binary->add_part();
            part->set_first_byte(1000);
            part->set_content(std::string("part\xFFshown", 10));
        }
        const std::uint64_t offset = dump.builder().append(format::RecordKind::kBinaries, binaries);
        records::BinaryIndexPage page;
        for (const auto& binary : binaries.binary()) {
            page.add_address(binary.address());
            page.add_record_offset(offset);
        }
        auto* ref = dump.builder().trailer().add_binary_pages();
        ref->set_lowest_address(kSplitBinary);
        ref->set_highest_address(kDeadBinary);
        ref->set_count(2);
        ref->set_offset(dump.builder().append(format::RecordKind::kBinaryIndexPage, page));
        dump.add(holder(1));
        SampleProcess secret = holder(2);
        secret.sensitive = true;
        dump.add(secret);
        program_.put("holders.beamdump", dump.finish());
        dump_ = expect_value(Dump::open(program_.path("holders.beamdump")));
    }

    query::RefsAnswer find(const std::string& target, bool sensitive = false) {
        lines_.clear();
        query::RefsOptions options;
        options.sensitive = sensitive;
        options.found = [this](const query::HolderLine& line) {
            std::string text = line.owner.process.pid + " " + line.place.root;
            for (const auto& step : line.place.path) {
                text += ", " + step;
            }
            if (line.slice) {
                text += fmt::format(" {}+{}", line.slice->first, line.slice->bytes);
            }
            lines_.push_back(text);
        };
        return expect_value(query::find_holders(
            *dump_, expect_value(query::parse_target(*dump_, target)), options));
    }

    Program program_;
    std::unique_ptr<Dump> dump_;
    std::vector<std::string> lines_;
};

TEST_F(HoldersTest, ABinaryIsShownAsFarAsTheDumpHasIt) {
    const auto address = fmt::format("{:#x}", kSplitBinary);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"refs", "holders.beamdump", address},
          {"binaries", "holders.beamdump", address}}) {
        EXPECT_THAT(program_.run(command).out,
                    HasSubstr("  1.0 MiB, the first 4 bytes; more is not in the dump, but "
                              "for parts that terms show:\n"
                              "    \"0123\"\n"));
        auto json = command;
        json.emplace_back("--json");
        EXPECT_THAT(program_.run(json).out, HasSubstr("\"content_text\": \"0123\""));
    }
}

TEST_F(HoldersTest, ThePartsThatPlacesShowAreShown) {
    const auto address = fmt::format("{:#x}", kSplitBinary);
    EXPECT_THAT(program_.run({"refs", "holders.beamdump", address}).out,
                HasSubstr("bytes 1,000 to 1,010\n    03e8  70 61 72 74 ff 73 68 6f 77 6e" +
                          std::string(20, ' ') + "part.shown\n"));
    const auto few = program_.run({"binaries", "holders.beamdump", address, "--max-bytes", "4"});
    EXPECT_THAT(few.out, HasSubstr("bytes 1,000 to 1,010\n    \"part\"\n"));
    const auto json =
        program_.run({"refs", "holders.beamdump", address, "--max-bytes", "2", "--json"}).out;
    EXPECT_THAT(json, HasSubstr("\"content_text\": \"01\""));
    EXPECT_THAT(json, HasSubstr("\"content_text\": \"pa\""));
    const auto most = program_.run({"refs", "holders.beamdump", address, "--max-bytes", "2MiB"});
    EXPECT_EQ(most.status, 2);
    EXPECT_THAT(most.err, HasSubstr("--max-bytes is 1MiB at most"));
}

TEST(BinaryContents, TextMayEndWithAZero) {
    const auto shown = [](std::string_view content, std::uint64_t size) {
        query::BinaryBeginning binary;
        binary.bytes = size;
        binary.captured = content.size();
        binary.first = content;
        return render::content_text(binary);
    };
    EXPECT_EQ(shown({"name\0", 5}, 5), "name");
    EXPECT_EQ(shown({"na\0me", 5}, 5), std::nullopt);
    EXPECT_EQ(shown({"name\0", 5}, 6), std::nullopt) << "more follows, and it is no final 0";
    EXPECT_EQ(shown("line\n\xC3\xA9\n", 8), "line\n\xC3\xA9\n");
    EXPECT_EQ(shown("ab\xC3", 4), "ab") << "the dump has half of a character";
    EXPECT_EQ(shown("ab\xC3", 3), std::nullopt);
    EXPECT_EQ(shown("\x01\x02", 2), std::nullopt);
}

TEST_F(HoldersTest, TheBinariesThatATermKeepsAreBesideItsWords) {
    EXPECT_THAT(program_.run({"term", "holders.beamdump", "<0.1.0>", "y(0)"}).out,
                HasSubstr(", keeps 1.0 MiB of binaries"));
    const auto json = program_.run({"term", "holders.beamdump", "<0.1.0>", "y(0)", "--json"}).out;
    EXPECT_THAT(json, HasSubstr(fmt::format("\"binary_bytes\": {}", kSplitBytes)));
    EXPECT_THAT(program_.run({"term", "holders.beamdump", "<0.1.0>"}).out,
                HasSubstr("  1.0 MiB  y(0) of frame 0"));
}

TEST_F(HoldersTest, APidIsFoundInTermsLinksAndMonitors) {
    auto answer = find("<0.77.0>");
    EXPECT_THAT(lines_, ElementsAre("<0.1.0> dictionary loop, item 1"));
    EXPECT_EQ(answer.processes, 1);
    EXPECT_EQ(answer.read.sensitive, 1);
    find("<0.77.0>", true);
    EXPECT_EQ(lines_.size(), 2);
    // All have these as group leader, in a link and in a monitor.
    find("<0.1.0>");
    EXPECT_THAT(lines_, UnorderedElementsAre("<0.1.0> group_leader", "<0.1.0> link"));
    find("<0.2.0>");
    EXPECT_THAT(lines_, ElementsAre("<0.1.0> monitor"));
    find("#Ref<0.9.8.7>");
    EXPECT_THAT(lines_, ElementsAre("<0.1.0> monitor"));
    answer = find("#Port<0.5>");
    EXPECT_EQ(answer.found, 0);
}

TEST_F(HoldersTest, ABinaryIsFoundByEachPart) {
    auto answer = find("0x90000000");
    EXPECT_THAT(lines_, ElementsAre("<0.1.0> y(0) of frame 0, demo:loop/2 1000+10"));
    EXPECT_EQ(answer.garbage, 0);
    answer = find("0x90000040");
    EXPECT_THAT(lines_, ElementsAre());
    EXPECT_EQ(answer.garbage, 1);
    const Ran ran = program_.run({"binaries", "holders.beamdump", "0x90000000"});
    EXPECT_THAT(ran.out, HasSubstr("bytes 1,000 to 1,010\n    03e8  70 61 72 74 ff 73 68 6f"));
    EXPECT_THAT(ran.out, HasSubstr("part.shown\n1 place in 1 process; the VM counts 2 "
                                   "references\n"));
    EXPECT_EQ(ran.status, 3);
    EXPECT_EQ(program_.run({"binaries", "holders.beamdump", "0x123"}).status, 1);
    EXPECT_EQ(program_.run({"refs", "holders.beamdump", "#Port<x>"}).status, 2);
}

TEST_F(HoldersTest, BinariesAreListedWithTheirHolders) {
    auto answer = expect_value(query::node_binaries(
        *dump_, {.sort = std::string(query::kNodeBinarySort), .filters = {}}, InputLimits()));
    EXPECT_EQ(answer.list.total(), 2);
    EXPECT_EQ(answer.total_bytes, 2 * kSplitBytes);
    const auto rows = answer.list.take();
    ASSERT_EQ(rows.size(), 2);
    const auto cell = [&](std::string_view column) {
        return query::cell_text(rows[0][query::column_place(answer.list.columns(), column)]);
    };
    EXPECT_EQ(rows[0].front(), query::Cell(kSplitBinary));
    EXPECT_EQ(cell("references"), "2");
    EXPECT_EQ(cell("holding_processes"), "2");
    EXPECT_EQ(cell("captured_bytes"), "14");  // the first 4, and those of the part
}

TEST_F(HoldersTest, ListsOfProcessesHaveThemOnRequest) {
    // Sorted by them they are read of all; else of those that are shown. The sensitive one's too.
    for (const std::vector<std::string>& more : {std::vector<std::string>{"--sort", "binaries"},
                                                 {"--columns", "binaries,old_heap,heap"}}) {
        std::vector<std::string> arguments = {"processes", "holders.beamdump", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Ran ran = program_.run(arguments);
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("\"binary_references\": 2,"));
        EXPECT_THAT(ran.out, HasSubstr("\"binary_bytes\": 2097152"));
        EXPECT_EQ(ran.out.contains("\"heap_size\": 233"), more[0] == "--columns");
        // The sample does not tell it.
        EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("old_heap_size")));
        EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("ets")));
    }
    const auto text =
        program_.run({"processes", "holders.beamdump", "--columns", "binaries,stack"});
    EXPECT_THAT(text.out, ::testing::ContainsRegex("MESSAGES +BINARIES +STACK +STATUS"));
    EXPECT_THAT(text.out, ::testing::ContainsRegex(" 0 +2.0 MiB +16 B +waiting"));
    EXPECT_THAT(program_.run({"processes", "holders.beamdump"}).out,
                ::testing::Not(HasSubstr("binar")));
}

TEST_F(HoldersTest, ColumnsThatAreNoneOrNotThere) {
    const Ran unknown = program_.run({"processes", "holders.beamdump", "--columns", "heap,binary"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_THAT(unknown.err, HasSubstr("use binaries, ets, stack, heap, old_heap"));
    const Ran tables = program_.run({"processes", "holders.beamdump", "--columns", "ets"});
    EXPECT_EQ(tables.status, 1);
    EXPECT_THAT(tables.err, HasSubstr("the dump has no ETS tables"));
    const Ran groups = program_.run(
        {"processes", "holders.beamdump", "--columns", "heap", "--group-by", "status"});
    EXPECT_EQ(groups.status, 2);
}

TEST_F(HoldersTest, LeaksArePartsAndGarbage) {
    query::BinariesOptions options;
    const auto answer = expect_value(query::binary_leaks(*dump_, "holders.beamdump", options));
    EXPECT_EQ(answer.examined, 2);
    ASSERT_EQ(answer.owners.size(), 2);
    const auto& line = answer.owners[0];
    EXPECT_EQ(line.binaries, 2);
    EXPECT_EQ(line.kept_bytes, 2 * kSplitBytes);
    EXPECT_EQ(line.shown_bytes, 10);
    EXPECT_EQ(line.pinned_bytes, kSplitBytes - 10);
    EXPECT_EQ(line.garbage_bytes, kSplitBytes);
    // The VM counts one reference to it, which is this process's.
    EXPECT_EQ(line.releasable_bytes, kSplitBytes);
    EXPECT_EQ(line.worst_address, kSplitBinary);
    EXPECT_EQ(line.worst_shown_bytes, 10);
}

TEST_F(HoldersTest, BinariesBySize) {
    const Ran sizes = program_.run({"memory", "holders.beamdump", "--binaries"});
    EXPECT_THAT(sizes.out, HasSubstr("Reference-counted binaries by size (binaries)\n"));
    EXPECT_THAT(sizes.out, ::testing::ContainsRegex("  1.0 MiB to 4.0 MiB +2 +2.0 MiB\n"));
    const Ran json = program_.run({"memory", "holders.beamdump", "--binaries", "--json"});
    EXPECT_THAT(json.out, HasSubstr("\"from_bytes\": 1048576"));
    const Ran all = program_.run({"binaries", "holders.beamdump", "--at-least", "1MiB"});
    EXPECT_THAT(all.out, HasSubstr("0x0000000090000000"));
    const Ran none = program_.run({"binaries", "holders.beamdump", "--at-least", "2MiB"});
    EXPECT_THAT(none.out, HasSubstr("2 reference-counted binaries, 2.0 MiB\n\n"
                                    "no binaries match, of 2\n"));
    EXPECT_EQ(program_.run({"binaries", "holders.beamdump", "--at-least", "big"}).status, 2);
}

TEST_F(HoldersTest, BinariesAreAskedAsOtherLists) {
    const auto shown = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"binaries", "holders.beamdump"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Ran ran = program_.run(arguments);
        EXPECT_EQ(ran.status, 0) << ran.err;
        return ran.out;
    };
    EXPECT_THAT(shown({"--filter", "references>2"}), HasSubstr("no binaries match, of 2\n"));
    EXPECT_THAT(shown({"--columns", "processes,size"}),
                ::testing::ContainsRegex("PROCESSES +SIZE\n +2 +1.0 MiB\n +2 +1.0 MiB\n"));
    // Holders are counted of all binaries where the question is about them.
    EXPECT_THAT(shown({"--filter", "processes>1", "--json"}), HasSubstr("\"matching\": 2,"));
    EXPECT_TRUE(shown({"--filter", "processes=0"}).ends_with("no binaries match, of 2\n"));
    EXPECT_THAT(shown({"--group-by", "processes", "--json"}),
                HasSubstr("\"holding_processes\": 2\n      },\n      \"count\": 2,"));
    const Ran leaks =
        program_.run({"binaries", "holders.beamdump", "--leaks", "--filter", "references>1"});
    EXPECT_EQ(leaks.status, 2);
    EXPECT_THAT(leaks.err, HasSubstr("are for the list of binaries"));
}

TEST_F(HoldersTest, MemoryIsLimited) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--limit", "0"}, {"--limit", "1"}, {"--leaks"}}) {
        std::vector<std::string> arguments = {"binaries", "holders.beamdump", "--max-memory", "90"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Ran ran = program_.run(arguments);
        EXPECT_EQ(ran.status, 1) << ran.out;
        EXPECT_THAT(ran.err, HasSubstr("more than 90 B of memory, which is the limit; raise it "
                                       "with --max-memory"));
    }
}

TEST(Pattern, SyntaxOfErlangAndElixir) {
    using Kind = query::Pattern::Kind;
    const auto erlang = expect_value(query::parse_pattern("{state, _, #{id := 7, \"k\" => X}}"));
    const auto elixir = expect_value(query::parse_pattern("{:state, _, %{:id => 7, \"k\" => x}}"));
    for (const auto& pattern : {erlang, elixir}) {
        EXPECT_EQ(pattern.kind, Kind::kTuple);
        ASSERT_EQ(pattern.items.size(), 3);
        EXPECT_EQ(pattern.items[0].text, "state");
        EXPECT_EQ(pattern.items[1].kind, Kind::kAny);
        ASSERT_EQ(pattern.items[2].items.size(), 4);
        EXPECT_EQ(pattern.items[2].items[0].text, "id");
        EXPECT_EQ(pattern.items[2].items[1].integer, 7);
        EXPECT_EQ(pattern.items[2].items[2].kind, Kind::kText);
    }
    EXPECT_EQ(erlang.items[2].items[3].kind, Kind::kAny);
    const auto one = expect_value(query::parse_pattern("%Shop.Cart{id: -1_000}"));
    EXPECT_EQ(one.items[0].text, "__struct__");
    EXPECT_EQ(one.items[1].text, "Elixir.Shop.Cart");
    EXPECT_EQ(one.items[3].integer, -1000);
    EXPECT_EQ(expect_value(query::parse_pattern("<<1,255>>")).text, "\x01\xff");
    EXPECT_EQ(expect_value(query::parse_pattern("<<\"a\">>")).text, "a");
    EXPECT_EQ(expect_value(query::parse_pattern("'A b'")).text, "A b");
    EXPECT_EQ(expect_value(query::parse_pattern("<0.7.1>")).owner_id, (1UL << 32U) + 7);
    EXPECT_TRUE(expect_value(query::parse_pattern("[1, 2 | _]")).open_end);
    EXPECT_EQ(expect_value(query::parse_pattern("-1.5e3")).number, -1500);
}

TEST(Pattern, AMalformedPatternIsAUsageError) {
    for (const char* text : {"", "{a", "{a,}", "[1|2|3]", "#{a}", "<0.x.0>", "<<300>>", "'a", "a b",
                             "99999999999999999999", "<<1", "%{a: }", "%lower{}"}) {
        const auto pattern = query::parse_pattern(text);
        ASSERT_FALSE(pattern.has_value()) << text;
        EXPECT_EQ(pattern.error().code, ErrorCode::kUsage) << text;
    }
    EXPECT_FALSE(query::parse_pattern(std::string(1000, '{')).has_value());
    EXPECT_THAT(query::parse_pattern("{a, )").error().message,
                HasSubstr("has \")\" where a term is expected"));
}

class SearchTest : public ::testing::Test {
  protected:
    /// As process, place and text.
    std::vector<std::string> search(const std::string& pattern, const std::string& text = "") {
        program_.put("search.beamdump", sample_dump());
        auto dump = expect_value(Dump::open(program_.path("search.beamdump")));
        query::SearchOptions options;
        if (!pattern.empty()) {
            options.pattern = expect_value(query::parse_pattern(pattern));
        }
        options.text = text;
        if (stop_at_ != 0) {
            options.limit = stop_at_;
            options.stop_at_limit = true;
        }
        std::vector<std::string> lines;
        options.found = [&lines](const query::FoundTerm& term) {
            lines.push_back(fmt::format("{} {} {} {}", term.owner.process.pid, term.place.root,
                                        term.words, term.text));
        };
        answer_ = expect_value(query::search_terms(*dump, options));
        return lines;
    }

    Program program_;
    query::SearchAnswer answer_;
    std::uint64_t stop_at_ = 0;
};

TEST_F(SearchTest, EndsWithTheLastTermThatIsWanted) {
    const auto all = search("_");
    const auto count = answer_.found;
    ASSERT_GT(count, 3U);
    EXPECT_FALSE(answer_.stopped);
    const auto read = answer_.read.read;
    stop_at_ = 2;
    EXPECT_THAT(search("_"), ElementsAre(all[0], all[1]));
    EXPECT_TRUE(answer_.stopped);
    EXPECT_EQ(answer_.found, 2U);
    EXPECT_EQ(answer_.processes, 1U);
    EXPECT_LE(answer_.read.read, read);
    stop_at_ = count + 1;
    EXPECT_EQ(search("_").size(), count);
    EXPECT_FALSE(answer_.stopped);
}

TEST_F(SearchTest, MatchesTermsAndTheirParts) {
    EXPECT_THAT(search("[1, 2]"), ElementsAre("<0.1.0> y(0) of frame 0, demo:loop/2 4 [1,2]"));
    EXPECT_EQ(search("[1 | _]").size(), 1);
    EXPECT_EQ(search("[2]").size(), 0);
    EXPECT_EQ(search("[2 | _]").size(), 0);
    EXPECT_THAT(search("2"), ElementsAre("<0.1.0> y(0) of frame 0, demo:loop/2 0 2"));
    EXPECT_THAT(search("42"), ElementsAre("<0.1.0> dictionary loop 0 42"));
    EXPECT_THAT(search("7"), ElementsAre("<0.1.0> message 0 0 7"));
    EXPECT_THAT(search("\"\\1\""), ElementsAre());
    EXPECT_EQ(answer_.read.sensitive, 1);
    EXPECT_EQ(answer_.read.inconsistent, 1);
}

TEST_F(SearchTest, RowsOfTablesToo) {
    program_.put("tables.beamdump", sample_dump_with_tables());
    const Ran found = program_.run({"search", "tables.beamdump", "[<0.77.0>]"});
    EXPECT_EQ(found.status, 3);
    EXPECT_THAT(found.out,
                HasSubstr("<0.9.0> ?  row loop of ETS table 'Needs Quotes' -> element 2  2 words\n"
                          "    [<0.77.0>]\n1 term in 0 processes and 1 ETS table\n"));
    // Nothing is known of the second table's rows.
    EXPECT_THAT(found.err, HasSubstr("not searched: rows of 1 ETS table that the dump lacks"));
    EXPECT_THAT(found.err, HasSubstr("not searched: 1 row of compressed ETS tables"));
    const Ran refs = program_.run({"refs", "tables.beamdump", "<0.77.0>"});
    EXPECT_THAT(refs.out, HasSubstr("row loop of ETS table 'Needs Quotes' -> element 2 -> item 1"));
    EXPECT_THAT(refs.out, HasSubstr("1 place in 0 processes and 1 ETS table"));
}

class LiteralTest : public SearchTest {
  protected:
    void SetUp() override {
        SampleDump dump;
        records::RunDirectory directory;
        constexpr std::uint64_t kArea = 0x80000;
        // [loop], {77, [loop]}: only the second is a term of its own.
        *directory.add_region() = dump.builder().add_region(
            format::OwnerKind::kNode, 0, format::RegionKind::kLiterals, kArea,
            {atom_word(kLoopAtom), kNil, tuple_header(2), small_word(77), list_word(kArea)});
        dump.builder().trailer().set_literals_directory_offset(
            dump.builder().append(format::RecordKind::kRunDirectory, directory));
        records::Module module;
        module.set_name_atom(kAlphaAtom);
        module.set_instance(records::MODULE_INSTANCE_CURRENT);
        module.set_literal_area_address(kArea);
        module.set_literal_area_end(kArea + 5 * 8);
        records::ModuleIndexPage page;
        auto* ref = page.add_module();
        ref->set_name_atom(kAlphaAtom);
        ref->set_code_start(0xA000);
        ref->set_code_end(0xA100);
        ref->set_offset(dump.builder().append(format::RecordKind::kModule, module));
        dump.builder().trailer().add_module_index_offset(
            dump.builder().append(format::RecordKind::kModuleIndexPage, page));
        dump.add(alpha_process());
        program_.put("literals.beamdump", dump.finish());
    }
};

TEST_F(LiteralTest, AreSearched) {
    const Ran found = program_.run({"search", "literals.beamdump", "[loop]"});
    EXPECT_EQ(found.status, 0) << found.err;
    EXPECT_EQ(found.out,
              "-  literal of module alpha -> element 2  2 words\n"
              "    [loop]\n1 term in 0 processes and the literals of 1 module\n");
    EXPECT_THAT(program_.run({"search", "literals.beamdump", "77", "--json"}).out,
                HasSubstr("\"module\": \"alpha\""));
}

TEST_F(SearchTest, TextAndUnknownAtoms) {
    EXPECT_THAT(search("", "oo"), ElementsAre("<0.1.0> dictionary key loop 0 loop"));
    EXPECT_THAT(search("{nowhere, _}"), ElementsAre());
    EXPECT_THAT(answer_.unknown_atoms, ElementsAre("nowhere"));
    EXPECT_EQ(program_.run({"search", "search.beamdump"}).status, 2);
    const Ran ran = program_.run({"search", "search.beamdump", "_", "--limit", "1"});
    EXPECT_THAT(ran.out, HasSubstr("not searched further (--limit): there may be more\n"));
}

}  // namespace
}  // namespace beamdump::test
