#include "query/facts/layout_sources.h"

#include "layout_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::IsEmpty;

TEST(LayoutSources, TheTablesAreWhole) {
    EXPECT_THAT(query::source_faults(), IsEmpty());
}

TEST(LayoutSources, EveryFieldOfTheLayoutsFeedsAnAnswerOrIsKnownNotTo) {
    const auto fields = layout_fields();
    ASSERT_GT(fields.size(), 150U);
    for (const std::string& field : fields) {
        EXPECT_EQ(query::values_read_through(std::vector{field}).empty(), is_shown_nowhere(field))
            << field;
    }
    for (const std::string& field : kShownNowhere) {
        EXPECT_TRUE(fields.contains(field)) << field;
    }
}

TEST(LayoutSources, EveryValueIsAMemberOfAnAnswer) {
    const auto fields = layout_fields();
    std::string schemas;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kSchemas + "/json")) {
        if (entry.is_regular_file()) {
            schemas += file_text(entry.path());
        }
    }
    const auto values =
        query::values_read_through(std::vector<std::string>(fields.begin(), fields.end()));
    EXPECT_GT(values.size(), 100U);
    for (const std::string& value : values) {
        if (!value.starts_with("term.")) {
            const std::string member = '"' + value.substr(value.rfind('.') + 1) + "\":";
            EXPECT_NE(schemas.find(member), std::string::npos) << value;
        }
    }
}

}  // namespace
}  // namespace beamdump::test
