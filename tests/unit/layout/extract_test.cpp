#include "dwarf/extract.h"

#include "c_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kSource = R"(
typedef unsigned long Eterm;
typedef struct queue { struct queue *first, **last; long len; } Queue;
typedef const volatile Queue FixedQueue;
typedef struct process {
    struct { Eterm id; union { struct { long interval; Queue *reg; } alive; char later[32]; } u; }
        common;
    unsigned char arity;
    Eterm registers[6];
    union { Eterm name; void *place; };
    struct { int deep; struct { short deeper; }; };
    unsigned long hash : 63, dead : 1;
    unsigned : 0;
    FixedQueue inner;
} Process;
struct table { int size; Eterm entries[]; };
struct bytes { char first; char rest[]; };
union aligned { struct { int a, b; } fields; char bytes[64]; };
typedef union aligned Aligned;
Process a_process; struct table *a_table; Aligned an_aligned; struct bytes *some_bytes;
)";

/// Names with one structure, of which each field has one path: its name.
Names only(const std::string& structure, std::vector<std::string> types,
           const std::vector<std::string>& fields) {
    StructureNames names{std::move(types), {}, {}};
    for (const auto& field : fields) {
        names.fields.emplace_back(field, std::vector{field});
    }
    return {{{structure, names}}, {}, {}};
}

class ExtractTest : public ::testing::Test {
  protected:
    Extracted run(const Names& names, std::initializer_list<std::string_view> sources = {kSource}) {
        const auto types = DebugTypes::open(c_.library(sources));
        EXPECT_TRUE(types) << types.error().message;
        auto extracted = extract(*types, {}, names);
        EXPECT_TRUE(extracted) << extracted.error().message;
        return *extracted;
    }
    Field field(const std::string& type, const std::string& name) {
        const auto extracted = run(only("S", {type}, {name}));
        EXPECT_THAT(extracted.missing, IsEmpty());
        const auto* structure = find(extracted.structs, "S");
        const auto* place = structure == nullptr ? nullptr : find(structure->fields, name);
        return place == nullptr ? Field{} : *place;
    }

    CFixture c_;
};

TEST_F(ExtractTest, MeasuresStructures) {
    const auto extracted = run(only("Process", {"struct process"}, {"arity"}));
    EXPECT_EQ(find(extracted.structs, "Process")->bytes, 144U);
    EXPECT_THAT(extracted.missing, IsEmpty());
}

TEST_F(ExtractTest, FollowsPathsIntoStructuresAndUnions) {
    EXPECT_EQ(field("struct process", "common.id"), (Field{0, 8}));
    EXPECT_EQ(field("struct process", "common.u"), (Field{8, 32}));
    EXPECT_EQ(field("struct process", "common.u.alive.interval"), (Field{8, 8}));
    EXPECT_EQ(field("struct process", "common.u.alive.reg"), (Field{16, 8}));
    EXPECT_EQ(field("struct process", "arity"), (Field{40, 1}));
}

TEST_F(ExtractTest, MembersWithoutANameAreTransparent) {
    EXPECT_EQ(field("struct process", "name"), (Field{96, 8}));
    EXPECT_EQ(field("struct process", "place"), (Field{96, 8}));
    EXPECT_EQ(field("struct process", "deep"), (Field{104, 4}));
    EXPECT_EQ(field("struct process", "deeper"), (Field{108, 2}));
}

TEST_F(ExtractTest, AnArrayCountsWhole) {
    EXPECT_EQ(field("struct process", "registers"), (Field{48, 48}));
    EXPECT_EQ(field("Aligned", "bytes"), (Field{0, 64}));
}

TEST_F(ExtractTest, TypedefsAndQualifiersAreSeenThrough) {
    EXPECT_EQ(field("Process", "inner.len"), (Field{136, 8}));
    EXPECT_EQ(field("FixedQueue", "last"), (Field{8, 8}));
    EXPECT_EQ(field("union aligned", "fields.b"), (Field{4, 4}));
}

TEST_F(ExtractTest, AnArrayOfNoFixedLengthIsOneElementAndPartOfItsStructure) {
    const auto table = run(only("Table", {"struct table"}, {"entries"}));
    EXPECT_EQ(find(table.structs, "Table")->bytes, 16U);
    EXPECT_EQ(find(find(table.structs, "Table")->fields, "entries")->offset, 8U);
    EXPECT_EQ(find(find(table.structs, "Table")->fields, "entries")->bytes, 8U);
    EXPECT_EQ(find(run(only("Table", {"struct table"}, {"size"})).structs, "Table")->bytes, 8U);
    EXPECT_EQ(find(run(only("B", {"struct bytes"}, {"rest"})).structs, "B")->bytes, 2U);
}

TEST_F(ExtractTest, ABitFieldIsNotTold) {
    const auto extracted = run(only("Process", {"struct process"}, {"hash", "dead", "inner"}));
    ASSERT_EQ(extracted.missing.size(), 2U);
    EXPECT_THAT(extracted.missing[0], HasSubstr("Process.hash: hash: a bit-field"));
    EXPECT_THAT(extracted.missing[1], HasSubstr("Process.dead"));
    EXPECT_EQ(*find(find(extracted.structs, "Process")->fields, "inner"), (Field{120, 24}));
}

TEST_F(ExtractTest, ReportsWhatIsAbsentAndLeavesItOut) {
    auto names = only("Process", {"struct process"}, {"arity", "gone", "common.gone", "arity.x"});
    names.structures.emplace_back("Other", StructureNames{{"struct other", "Other_"}, {}, {}});
    const auto extracted = run(names);
    EXPECT_THAT(extracted.missing,
                ElementsAre("Process.gone: absent (looked for gone)",
                            "Process.common.gone: absent (looked for common.gone)",
                            "Process.arity.x: absent (looked for arity.x)",
                            "Other: absent (looked for struct other, Other_)"));
    EXPECT_EQ(extracted.structs.size(), 1U);
    EXPECT_EQ(find(extracted.structs, "Process")->fields.size(), 1U);
}

TEST_F(ExtractTest, TheFirstTypeAndPathThatExistWin) {
    auto names = only("Process", {"ProcessOf99", "Process", "struct table"}, {});
    names.structures[0].second.fields = {{"id", {"common.gone", "common.id", "arity"}}};
    const auto extracted = run(names);
    EXPECT_THAT(extracted.missing, IsEmpty());
    EXPECT_EQ(*find(find(extracted.structs, "Process")->fields, "id"), (Field{0, 8}));
}

TEST_F(ExtractTest, ATypedefFindsItsStructureInAnotherUnit) {
    const auto extracted =
        run(only("T", {"T"}, {"b"}),
            {"typedef struct t T; T *only_declared;", "struct t { int a, b; }; struct t defined;"});
    EXPECT_EQ(find(extracted.structs, "T")->bytes, 8U);
    EXPECT_EQ(*find(find(extracted.structs, "T")->fields, "b"), (Field{4, 4}));
}

TEST_F(ExtractTest, TwoShapesOfOneStructureAreAnError) {
    const auto types = DebugTypes::open(c_.library(
        {"struct t { int a, b; }; struct t one;", "struct t { long a, b; }; struct t two;"}));
    ASSERT_TRUE(types);
    const auto extracted = extract(*types, {}, only("T", {"struct t"}, {"b"}));
    ASSERT_FALSE(extracted);
    EXPECT_EQ(extracted.error().code, ErrorCode::kImplausible);
    EXPECT_THAT(extracted.error().message,
                HasSubstr("T has a definition of 8 bytes and another of 16"));
}

TEST_F(ExtractTest, OneUnitCountsWhereTheNamesSaySo) {
    const auto types = DebugTypes::open(c_.library(
        {"struct t { int a, b; }; struct t one;", "struct t { long a, b; }; struct t two;"}));
    ASSERT_TRUE(types);
    auto names = only("T", {"struct t"}, {"b"});
    std::vector<std::uint64_t> sizes;
    for (const auto& definition : types->definitions("struct t")) {
        auto die = definition;
        Dwarf_Die unit{};
        ASSERT_NE(dwarf_diecu(&die, &unit, nullptr, nullptr), nullptr);
        const std::string path = dwarf_diename(&unit);
        names.structures[0].second.unit = path.substr(path.rfind('/') + 1);
        const auto extracted = extract(*types, {}, names);
        ASSERT_TRUE(extracted) << extracted.error().message;
        sizes.push_back(find(extracted->structs, "T")->bytes);
    }
    EXPECT_THAT(sizes, ElementsAre(8U, 16U));
    names.structures[0].second.unit = "nowhere.c";
    const auto extracted = extract(*types, {}, names);
    ASSERT_TRUE(extracted);
    EXPECT_THAT(extracted->missing, ElementsAre("T: absent (looked for struct t in nowhere.c)"));
}

TEST_F(ExtractTest, OlderDwarfGivesTheSame) {
    const auto names = only("Process", {"struct process"},
                            {"common.u.alive.reg", "registers", "deeper", "inner.len"});
    const auto modern = run(names);
    const auto types = DebugTypes::open(c_.library({kSource}, "-gdwarf-3 -gstrict-dwarf"));
    ASSERT_TRUE(types) << types.error().message;
    const auto older = extract(*types, {}, names);
    ASSERT_TRUE(older) << older.error().message;
    EXPECT_EQ(older->structs[0].second.bytes, modern.structs[0].second.bytes);
    EXPECT_EQ(older->structs[0].second.fields, modern.structs[0].second.fields);
    EXPECT_EQ(older->structs[0].second.fields.size(), 4U);
}

TEST_F(ExtractTest, ConstantsComeInTheOrderOfTheNames) {
    const auto types = DebugTypes::open(c_.library({kSource}));
    ASSERT_TRUE(types);
    Names names;
    names.constants = {"two", "gone", "one"};
    const ConstantsObject constants{{{"one", 1}, {"three", 3}, {"two", 2}}, {}};
    const auto extracted = extract(*types, constants, names);
    ASSERT_TRUE(extracted);
    EXPECT_EQ(extracted->constants, (Named<std::uint64_t>{{"two", 2}, {"one", 1}, {"three", 3}}));
    EXPECT_THAT(extracted->missing, ElementsAre("constant gone: absent"));
}

TEST_F(ExtractTest, RefusesFilesWithoutLinkedDwarf) {
    const auto stripped = DebugTypes::open(c_.library({kSource}, "-s"));
    ASSERT_FALSE(stripped);
    EXPECT_THAT(stripped.error().message, HasSubstr("-g"));
    const auto object = DebugTypes::open(c_.object(kSource, "-g"));
    ASSERT_FALSE(object);
    EXPECT_THAT(object.error().message, HasSubstr("neither a program nor a shared library"));
    EXPECT_FALSE(DebugTypes::open(c_.file("text", "no ELF file")));
    EXPECT_EQ(DebugTypes::open(c_.path("nowhere")).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace beamdump::layout
