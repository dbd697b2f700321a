#include "program.h"
#include "query/tables/atoms.h"
#include "query/tables/module_version.h"
#include "query/tables/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FoldedDigits, EachRunIsOneN) {
    EXPECT_EQ(query::folded_digits("param_511263"), "param_N");
    EXPECT_EQ(query::folded_digits("1a22b"), "NaNb");
    EXPECT_EQ(query::folded_digits("N"), "N");
    EXPECT_EQ(query::folded_digits(""), "");
}

query::RowQuery asked(std::string sort, std::vector<std::string> filters,
                      std::uint64_t limit = 20) {
    query::RowQuery query;
    query.sort = std::move(sort);
    query.filters = std::move(filters);
    query.limit = limit;
    return query;
}

/// A node with atoms that were made from input, started with the emulator flags given.
class AtomsTest : public ::testing::Test {
  protected:
    query::AtomsAnswer answer(const std::vector<std::string>& arguments,
                              query::AtomRows rows = query::AtomRows::kGroups,
                              const query::RowQuery& query = {}) {
        DumpWriterOptions writing;
        writing.threads = 1;
        writing.frame_bytes = 4096;
        DumpBuilder builder(writing);
        records::Capture capture;
        builder.trailer().set_capture_offset(builder.append(format::RecordKind::kCapture, capture));
        records::Node node;
        node.set_term_scheme(static_cast<std::uint32_t>(format::TermScheme::kOtp25));
        node.mutable_arguments()->Assign(arguments.begin(), arguments.end());
        builder.trailer().set_node_offset(builder.append(format::RecordKind::kNode, node));
        builder.add_atoms(0, {"false", "true", "param_1", "sole"});
        builder.add_atoms(4, {"param_22", "param_333", "Other 7"});
        constexpr std::size_t kAtomsOfARecord = 100;
        for (std::size_t at = 0; at < more_atoms_.size(); at += kAtomsOfARecord) {
            const auto end = std::min(at + kAtomsOfARecord, more_atoms_.size());
            builder.add_atoms(static_cast<std::uint32_t>(7 + at),
                              {more_atoms_.begin() + static_cast<std::ptrdiff_t>(at),
                               more_atoms_.begin() + static_cast<std::ptrdiff_t>(end)});
        }
        builder.add_process_index();
        program_.put("atoms.beamdump", builder.finish());
        dump_ = expect_value(Dump::open(program_.path("atoms.beamdump")));
        return expect_value(query::list_atoms(*dump_, "atoms.beamdump", rows, query));
    }

    query::AtomCounts counts(const std::vector<std::string>& arguments) {
        return answer(arguments).counts;
    }

    std::vector<std::string> names(query::AtomRows rows, const query::RowQuery& query) {
        auto listed = answer({}, rows, query);
        const auto name = query::column_place(query::atom_columns(rows), "name");
        std::vector<std::string> texts;
        for (const auto& row : listed.list.take()) {
            texts.push_back(std::get<std::string>(row[name]));
        }
        return texts;
    }

    /// As many with different letters between `begin` and `end`.
    void add_random(std::size_t count, const std::string& begin, const std::string& end) {
        constexpr std::size_t kLetters = 26;
        for (std::size_t at = 0; at < count; ++at) {
            std::string middle;
            for (std::size_t rest = at; middle.size() < 4; rest /= kLetters) {
                middle += static_cast<char>('a' + rest % kLetters);
            }
            more_atoms_.push_back(begin + middle + end);
        }
    }

    Program program_;
    std::unique_ptr<Dump> dump_;
    std::vector<std::string> more_atoms_;
};

TEST_F(AtomsTest, ThoseThatBeginAndEndAlikeAreAGroup) {
    add_random(1000, "uid_", "_x");
    add_random(1200, "session_of_", "");
    add_random(999, "few_", "_y");
    auto all = answer({});
    EXPECT_EQ(all.list.matching(), 5 + 2 + 999);
    const auto groups = all.list.take();
    EXPECT_EQ(groups[0][0], query::Cell("'session_of_*'"));
    EXPECT_EQ(groups[0][1], query::Cell(std::uint64_t{1200}));
    EXPECT_EQ(groups[1][0], query::Cell("'uid_*_x'"));
    EXPECT_EQ(groups[1][1], query::Cell(std::uint64_t{1000}));
    EXPECT_EQ(groups[1][3], query::Cell(std::uint64_t{10'000}));
    EXPECT_EQ(groups[1][4], query::Cell("uid_lmba_x")) << "the newest";
    EXPECT_EQ(groups[1][5], query::Cell(std::uint64_t{1006}));
}

TEST_F(AtomsTest, CountsGroupsAndTexts) {
    auto all = answer({"beam.smp", "--"});
    EXPECT_EQ(all.counts.count, 7);
    EXPECT_EQ(all.counts.text_bytes, 5U + 4 + 7 + 4 + 8 + 9 + 7);
    EXPECT_EQ(all.list.matching(), 5);
    const auto groups = all.list.take();
    ASSERT_EQ(groups.size(), 5);
    EXPECT_THAT(groups[0],
                ElementsAre(query::Cell("param_N"), query::Cell(std::uint64_t{3}),
                            query::Cell(std::uint64_t{428}), query::Cell(std::uint64_t{24}),
                            query::Cell("param_333"), query::Cell(std::uint64_t{5})));
    // Of one atom, its own text. Equal counts: the newest first.
    EXPECT_THAT(names(query::AtomRows::kGroups, {}),
                ElementsAre("param_N", "'Other 7'", "sole", "true", "false"));
}

TEST_F(AtomsTest, FiltersOfTextAreOfAtomsAndThoseOfColumnsOfGroups) {
    EXPECT_EQ(answer({}, query::AtomRows::kGroups, asked("", {"param_*3"})).counts.matching, 1);
    EXPECT_THAT(names(query::AtomRows::kGroups, asked("", {"count>1"})), ElementsAre("param_N"));
    EXPECT_THAT(names(query::AtomRows::kGroups, asked("-bytes,atoms", {"count=1"})),
                ElementsAre("sole", "true", "false", "'Other 7'"));
}

TEST_F(AtomsTest, TheLimitIsThatOfTheCommandLine) {
    EXPECT_EQ(counts({"beam.smp", "--"}).limit, 1'048'576);
    EXPECT_TRUE(counts({"beam.smp", "--"}).limit_is_default);
    EXPECT_EQ(counts({"beam.smp", "-t", "20000", "--", "-t", "7"}).limit, 20000);
    EXPECT_EQ(counts({"beam.smp", "-t30000", "--"}).limit, 30000);
    EXPECT_FALSE(counts({"beam.smp", "-t30000", "--"}).limit_is_default);
    // Not the whole command line, or one that says no number.
    EXPECT_EQ(counts({}).limit, std::nullopt);
    EXPECT_EQ(counts({"beam.smp", "-S", "1"}).limit, std::nullopt);
    EXPECT_EQ(counts({"beam.smp", "-t", "--"}).limit, std::nullopt);
}

TEST_F(AtomsTest, ListsTheNewestFirst) {
    EXPECT_THAT(names(query::AtomRows::kEach, asked("", {}, 3)),
                ElementsAre("'Other 7'", "param_333", "param_22"));
    EXPECT_THAT(names(query::AtomRows::kEach, asked("name", {"param", "3"})),
                ElementsAre("param_333"));
    EXPECT_THAT(names(query::AtomRows::kEach, asked("bytes", {"index>=4"})),
                ElementsAre("param_333", "param_22", "'Other 7'"));
}

TEST(Atoms, ACrashDumpWithoutTheirSectionTellsTheirNumber) {
    Program program;
    const std::string text =
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\nSystem version: Erlang/OTP "
        "27 [erts-15.2.7] [64-bit]\nAtoms: 4711\n=proc:<0.9.0>\nState: Waiting\nName: "
        "alpha\n=end\n";
    std::ofstream(program.path("crash.beamdump")) << text;
    const Ran modules = program.run({"modules", "crash.beamdump"});
    EXPECT_EQ(modules.status, 1);
    EXPECT_THAT(modules.err, HasSubstr("the crash dump has no sections of modules"));
    const Ran ran = program.run({"atoms", "crash.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out,
              "4,711 atoms; their texts are unknown: the crash dump has no section of atoms\n");
}

/// Sections of a crash dump; base64 of term_to_binary([{vsn, ["1.2"]}]).
constexpr std::string_view kModuleSections =
    "=loaded_modules\nCurrent code: 5000\nOld code: 1000\n"
    "=mod:'Elixir.Shop'\nCurrent size: 4000\nCurrent attributes: "
    "g2wAAAABaAJ3A3ZzbmwAAAABawADMS4yamo=\nCurrent compilation info: g2o=\n"
    "=mod:beta\nCurrent size: 1000\nOld size: 900\nOld attributes: "
    "g2wAAAABaAJ3A3ZzbmwAAAABawADMS4yamo=\n";

std::string crash_text(std::string_view sections, std::string_view end = "=end\n") {
    return fmt::format(
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\nSystem "
        "version: Erlang/OTP 27 [erts-15.2.7] [64-bit]\nAtoms: 4\n"
        "=proc:<0.9.0>\nState: Waiting\nName: alpha\n{}{}",
        sections, end);
}

TEST(Modules, ACrashDumpsSectionsHaveNamesSizesAndVersions) {
    Program program;
    std::ofstream(program.path("crash.beamdump")) << crash_text(kModuleSections);
    EXPECT_EQ(program.run({"convert", "crash.beamdump", "-o", "converted.beamdump"}).status, 0);
    for (const char* dump : {"crash.beamdump", "converted.beamdump"}) {
        const Ran ran = program.run({"modules", dump, "--sort", "name"});
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("3 module instances, 1 old; code 5.8 KiB\n"));
        EXPECT_THAT(ran.out,
                    ::testing::ContainsRegex("\n'Elixir.Shop' +current +3.9 KiB +\\? .*1.2"));
        EXPECT_THAT(ran.out, ::testing::ContainsRegex("\nbeta +old +900 B +\\? .*1.2"));
        EXPECT_THAT(ran.out, ::testing::ContainsRegex("\nbeta +current +1000 B +\\? "));
        const Ran old = program.run({"modules", dump, "--old", "--json"});
        EXPECT_THAT(old.out, AllOf(HasSubstr("\"matching\": 1"), HasSubstr(R"("vsn": "\"1.2\"")"),
                                   Not(HasSubstr("code_start"))));
    }
}

TEST(Atoms, ACrashDumpsSectionHasThemNewestFirst) {
    Program program;
    const std::string sections =
        "=index_table:atom_tab\nsize: 1024\nlimit: 8192\nentries: 4\n"
        "=atoms\nparam_2\n'it''s'\nparam_1\n'a\\'b\\n'\n";
    std::ofstream(program.path("crash.beamdump")) << crash_text(sections);
    const Ran groups = program.run({"atoms", "crash.beamdump"});
    EXPECT_THAT(groups.out, HasSubstr("4 atoms of at most 8,192, 0.0%; 23 B of text\n"));
    EXPECT_THAT(groups.out, ::testing::ContainsRegex("  2 +50.0% +14 B +param_N +param_2\n"));
    const Ran list = program.run({"atoms", "crash.beamdump", "--list"});
    EXPECT_THAT(list.out, ::testing::ContainsRegex("INDEX.*\n +3 .* param_2\n +2 .*\n +1 .*"
                                                   " param_1\n +0 .* 'a.*b.*n'\n"));
    // The last line may be a part of an atom.
    std::ofstream(program.path("cut.beamdump")) << crash_text(sections + "par", "");
    EXPECT_THAT(program.run({"atoms", "cut.beamdump", "--filter", "par", "--list"}).out,
                Not(::testing::ContainsRegex(" par\n")));
}

TEST(Modules, ListCodeLiteralsAndUsersOfOldCode) {
    Program program;
    SampleDump sample;
    records::ModuleIndexPage page;
    const auto add = [&](records::ModuleInstance instance, std::uint64_t start, bool literals) {
        records::Module module;
        module.set_name_atom(kAlphaAtom);
        module.set_instance(instance);
        module.set_header_address(start - 0x100);
        module.set_code_start(start);
        module.set_code_end(start + 0x100);
        module.set_code_bytes(0x180);
        module.set_function_count(3);
        module.set_md5(std::string("\x01\xab", 2));
        // term_to_binary([{on_load, [a]}, {vsn, ["1.2"]}]), and of a number in a list of one.
        module.set_attributes(literals ? std::string("\x83l\0\0\0\2h\2w\7on_loadl\0\0\0\1w\1aj"
                                                     "h\2w\3vsnl\0\0\0\1k\0\0031.2jj",
                                                     46)
                                       : std::string("\x83l\0\0\0\1h\2w\3vsnk\0\1\x2Aj", 18));
        if (literals) {
            module.set_literal_area_address(0x80000);
            module.set_literal_area_end(0x80040);
        }
        auto* ref = page.add_module();
        ref->set_name_atom(kAlphaAtom);
        ref->set_instance(instance);
        ref->set_code_start(start);
        ref->set_code_end(start + 0x100);
        ref->set_offset(sample.builder().append(format::RecordKind::kModule, module));
    };
    add(records::MODULE_INSTANCE_CURRENT, 0xA000, true);
    add(records::MODULE_INSTANCE_OLD, 0xB000, false);
    sample.builder().trailer().add_module_index_offset(
        sample.builder().append(format::RecordKind::kModuleIndexPage, page));
    SampleProcess old;
    old.number = 7;
    old.stack = {0xB080, kNormalExit};
    sample.add(old);
    SampleProcess current;
    current.number = 8;
    current.stack = {0xA080, kNormalExit};
    sample.add(current);
    program.put("modules.beamdump", sample.finish());

    auto dump = expect_value(Dump::open(program.path("modules.beamdump")));
    query::ModulesOptions options;
    options.users = true;
    const query::RowQuery query{.sort = std::string(query::kModuleSort), .filters = {"name=alpha"}};
    auto answer = expect_value(query::list_modules(*dump, query, options));
    EXPECT_EQ(answer.list.total(), 3);
    EXPECT_EQ(answer.old, 1);
    EXPECT_EQ(answer.list.sum_of_matching("code_bytes"), 0x300);
    EXPECT_EQ(answer.list.sum_of_matching("literal_bytes"), 0x40);
    const auto rows = answer.list.take();
    ASSERT_EQ(rows.size(), 2);
    const auto text = [&rows](std::size_t row, std::string_view column) {
        const auto place = query::column_place(query::module_columns(), column);
        return query::cell_text(query::module_columns()[place], rows.at(row)[place]);
    };
    EXPECT_EQ(text(0, "instance"), "current");
    EXPECT_EQ(text(0, "md5"), "01ab");
    EXPECT_EQ(text(0, "vsn"), "\"1.2\"");
    EXPECT_EQ(text(1, "vsn"), "42");
    EXPECT_EQ(text(1, "literals"), "0");
    EXPECT_THAT(text(0, "code_start"), ::testing::StartsWith("0x"));
    ASSERT_EQ(answer.used.size(), 1);
    EXPECT_EQ(answer.used[0].user_count, 1);
    EXPECT_THAT(answer.used[0].users, ElementsAre("<0.7.0>"));
}

TEST(Modules, AnAbsentFactIsAbsentInTheAnswer) {
    Program program;
    // The sample's module has no sizes.
    const Ran ran = program.run({"modules", "sample.beamdump"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out,
              "1 module instance, 0 old\n\n"
              "MODULE  INSTANCE  CODE  LITERALS  FUNCTIONS  APPLICATION  VSN  MD5\n"
              "demo    current      ?         ?          ?               ?    ?\n");
    const Ran users = program.run({"modules", "sample.beamdump", "--users"});
    EXPECT_EQ(users.status, 3);
    EXPECT_THAT(users.err, HasSubstr("1 process flagged sensitive"));
}

TEST(ModuleVersion, IsPrintedOrAbsent) {
    Program program;
    SampleDump sample;
    program.put("none.beamdump", sample.finish());
    auto dump = expect_value(Dump::open(program.path("none.beamdump")));
    const auto versions = expect_value(query::ModuleVersions::open(*dump));
    const auto of = [&](std::string_view value) {
        std::string bytes("\x83l\0\0\0\1h\2w\3vsn", 13);
        bytes += value;
        bytes += 'j';
        return versions->version(bytes);
    };
    using namespace std::string_view_literals;
    EXPECT_EQ(of("l\0\0\0\1n\5\0\1\2\3\4\5j"sv), "21542142465");
    EXPECT_EQ(of("w\5alpha"sv), "alpha");
    EXPECT_EQ(of("l\0\0\0\2a\1w\1aj"sv), "[1,a]");
    EXPECT_EQ(of("l\0\0\0\1a\1w\1a"sv), "[1|a]");
    EXPECT_EQ(of("k\0\2\1\2"sv), "[1,2]");
    const auto cut = of(std::string("k\1\0"sv) + std::string(256, 'x'));
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->size(), 203U);
    EXPECT_TRUE(cut->ends_with("xx..."));
    // Cut short, nested without an end, another version of the format, no pairs.
    EXPECT_EQ(versions->version("\x83l\0\0\0\1h\2w\3vsnl\0\0"sv), std::nullopt);
    EXPECT_EQ(versions->version("\x83l\0\0\0\1h\2w\3vsnh\xFF"sv), std::nullopt);
    EXPECT_EQ(versions->version("\x82l\0\0\0\1h\2w\3vsna\1j"sv), std::nullopt);
    EXPECT_EQ(versions->version("\x83l\0\0\0\2w\3vsnh\1w\3vsnj"sv), std::nullopt);
    EXPECT_EQ(versions->version("\x83j"sv), std::nullopt);
    EXPECT_EQ(versions->version(""), std::nullopt);
}

}  // namespace
}  // namespace beamdump::test
