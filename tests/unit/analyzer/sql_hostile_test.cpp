#include "program.h"
#include "sample_tables.h"
#include "sql/sql_question.h"
#include "support/hostile_statements.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

namespace beamdump::test {
namespace {

constexpr int kHostileStatements = 10'000;

TEST(SqlHostile, TenThousandStatementsTouchNoFileAndEachEnds) {
    constexpr std::uint64_t kMostBytes = 8U << 20U;
    constexpr std::uint64_t kMostSteps = 50'000;
    constexpr int kMostRows = 100;
    Program program;
    program.put("tables.beamdump", sample_dump_with_tables());
    const auto file = program.path("tables.beamdump");
    const auto root = std::filesystem::path(file).parent_path();
    auto opened = Dump::open(file);
    ASSERT_TRUE(opened.has_value());
    const auto entries = [&root] {
        return std::distance(std::filesystem::directory_iterator(root),
                             std::filesystem::directory_iterator());
    };
    const auto before = entries();
    AnyStatements statements((root / "touched").string(), 39);
    int asked = 0;
    int answered = 0;
    for (int number = 0; number < kHostileStatements; ++number) {
        const auto statement = statements.next();
        auto question =
            sql::Question::prepare(statement, {.memory = kMostBytes, .steps = kMostSteps});
        if (!question) {
            EXPECT_NE(question.error().message, "") << statement;
            continue;
        }
        ++asked;
        int rows = 0;
        const auto done =
            (*question)->run({{opened->get(), "sample.beamdump", {.memory = kMostBytes}, false}},
                             [&rows](const auto& /*row*/) { return ++rows < kMostRows; });
        if (done) {
            ++answered;
        } else {
            EXPECT_NE(done.error().message, "") << statement;
        }
    }
    EXPECT_EQ(entries(), before);
    RecordProperty("asked", asked);
    RecordProperty("answered", answered);
    // Most are not refused before anything is read.
    EXPECT_GT(asked, 5'000);
    EXPECT_GT(answered, 1'000);
}

}  // namespace
}  // namespace beamdump::test
