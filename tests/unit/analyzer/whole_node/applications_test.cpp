#include "query/tables/applications.h"

#include "program.h"
#include "sample_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::uint32_t kTableAtom = 100;  // and the names that follow
enum Name : std::uint32_t { kTable = kTableAtom, kLoaded, kAppl, kApplData, kKernel, kCode, kInit };

std::uint64_t boxed(std::uint64_t address) {
    return address | 2U;
}

/// {{loaded,kernel},{appl,kernel,Data,descr,id,Vsn}} with the modules code and init; version
/// [$8,$5].
std::vector<std::uint64_t> row() {
    const auto at = [](std::uint64_t word) { return kEtsRow + word * 8; };
    return {tuple_header(2),
            boxed(at(3)),
            boxed(at(6)),  // 0
            tuple_header(2),
            atom_word(kLoaded),
            atom_word(kKernel),  // 3
            tuple_header(6),
            atom_word(kAppl),
            atom_word(kKernel),
            boxed(at(13)),  // 6
            kNil,
            kNil,
            list_word(at(24)),  // 10
            tuple_header(6),
            atom_word(kApplData),
            atom_word(kKernel),
            kNil,
            kNil,  // 13
            kNil,
            list_word(at(20)),  // 18
            atom_word(kCode),
            list_word(at(22)),
            atom_word(kInit),
            kNil,  // 20
            small_word('8'),
            list_word(at(26)),
            small_word('5'),
            kNil};  // 24
}

class ApplicationsTest : public ::testing::Test {
  protected:
    Result<query::ModuleApplications> with_row(const std::vector<std::uint64_t>& words) {
        SampleDump sample;
        sample.builder().add_atoms(
            kTableAtom, {"ac_tab", "loaded", "appl", "appl_data", "kernel", "code", "init"});
        records::EtsTables page;
        page.set_first_index(0);
        auto& table = *page.add_table();
        table.set_name_atom(kTable);
        table.set_named(true);
        table.set_compressed(false);
        sample.builder().trailer().add_ets_tables_offset(
            sample.builder().append(format::RecordKind::kEtsTables, page));
        add_ets_row(sample.builder(), 0, words);
        program_.put("applications.beamdump", sample.finish());
        dump_ = expect_value(Dump::open(program_.path("applications.beamdump")));
        return query::module_applications(*dump_);
    }

    Program program_;
    std::unique_ptr<Dump> dump_;
};

TEST_F(ApplicationsTest, NameTheirModules) {
    const auto found = expect_value(with_row(row()));
    EXPECT_THAT(found.applications, ElementsAre(FieldsAre("kernel", Optional(std::string("85")))));
    EXPECT_THAT(found.by_module, ElementsAre(Pair(kCode, 0U), Pair(kInit, 0U)));
    EXPECT_EQ(found.of(kLoopAtom), nullptr);
}

TEST_F(ApplicationsTest, AListWithoutAnEndEnds) {
    auto words = row();
    words[23] = list_word(kEtsRow + 20 * 8);  // behind init comes code again
    EXPECT_THAT(expect_value(with_row(words)).by_module, SizeIs(2));
}

TEST_F(ApplicationsTest, IgnoresRowsThatNameNoApplication) {
    for (const auto& [at, word] :
         {std::pair(std::size_t{4}, atom_word(kAppl)), std::pair(std::size_t{5}, kNil),
          std::pair(std::size_t{7}, atom_word(kLoaded)), std::pair(std::size_t{2}, boxed(0x10)),
          std::pair(std::size_t{6}, tuple_header(5))}) {
        auto words = row();
        words[at] = word;
        EXPECT_THAT(expect_value(with_row(words)).applications, IsEmpty()) << at;
    }
}

TEST_F(ApplicationsTest, ADumpWithoutTheTableHasNone) {
    SampleDump sample;
    program_.put("none.beamdump", sample.finish());
    dump_ = expect_value(Dump::open(program_.path("none.beamdump")));
    const auto found = query::module_applications(*dump_);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace beamdump::test
