#include "program.h"
#include "sample_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PersistentTermsTest : public ::testing::Test {
  protected:
    void SetUp() override { program_.put("tables.beamdump", sample_dump_with_tables()); }

    Program program_;
};

TEST_F(PersistentTermsTest, ListsTheLargestFirst) {
    const auto ran = program_.run({"persistent-terms", "tables.beamdump"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.err, HasSubstr("persistent terms are missing from the dump"));
    EXPECT_EQ(ran.out,
              "KEY        WORDS    MEMORY  VALUE\n"
              "       2,000,000  15.3 MiB\n"
              "alpha          9      88 B  [0,1,2]\n"
              "               4      48 B\n"
              "\n"
              "3 persistent terms of 4\n"
              "1 term too large to be captured: what is shown of them may be incomplete\n"
              "1 term not captured: they kept changing while they were read\n");
}

TEST_F(PersistentTermsTest, AMemoryThatIsNotWholeIsLeftOut) {
    const auto ran =
        program_.run({"persistent-terms", "tables.beamdump", "--json", "--filter", "key=alpha"});
    EXPECT_THAT(ran.out, HasSubstr("\"total\": 3,\n  \"matching\": 1"));
    EXPECT_THAT(ran.out, HasSubstr("\"value\": \"[0,1,2]\""));
    EXPECT_THAT(ran.out, HasSubstr("\"count\": 4"));
    EXPECT_THAT(ran.out, Not(HasSubstr("memory_bytes")));
}

TEST_F(PersistentTermsTest, ACountOfAnotherMomentIsSaidToBe) {
    SampleDump dump;
    records::PersistentTerms page;
    page.add_term()->set_words(4);
    page.set_last(true);
    page.set_counted(2);
    page.set_table_bytes(160);
    dump.builder().trailer().add_persistent_terms_offset(
        dump.builder().append(format::RecordKind::kPersistentTerms, page));
    program_.put("moments.beamdump", dump.finish());
    const auto ran = program_.run({"persistent-terms", "moments.beamdump"});
    EXPECT_THAT(ran.out,
                HasSubstr("\n1 persistent term, 208 B\n"
                          "the node counted 2 at another moment: it ran while they were read\n"));
}

TEST_F(PersistentTermsTest, ShowsOne) {
    const auto ran = program_.run({"persistent-terms", "tables.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "alpha\n9 words, 88 B\n[0,1,2]\n");
    const auto none = program_.run({"persistent-terms", "tables.beamdump", "alpho", "--json"});
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err, HasSubstr("did you mean \"alpha\"?"));
    EXPECT_EQ(none.out, "");
}

TEST_F(PersistentTermsTest, AKeyAndAFilterExcludeEachOther) {
    const auto ran =
        program_.run({"persistent-terms", "tables.beamdump", "alpha", "--filter", "key=a"});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("name no KEY with them"));
}

TEST_F(PersistentTermsTest, ADumpWithoutThemSaysSo) {
    const auto ran = program_.run({"persistent-terms", "later.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no persistent terms"));
}

}  // namespace
}  // namespace beamdump::test
