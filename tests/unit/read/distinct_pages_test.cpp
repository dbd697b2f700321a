#include <libdump/read/distinct_pages.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(DistinctPages, APageThatIsNamedAgainIsReadOnce) {
    records::Trailer trailer;
    for (int i = 0; i < 3; ++i) {
        for (const std::uint64_t offset : {800U, 400U, 0U}) {
            trailer.add_module_index_offset(offset);
            trailer.add_atoms()->set_offset(offset);
            trailer.mutable_atoms()->rbegin()->set_first_index(i);
            auto* page = trailer.add_process_pages();
            page->add_column_offset(16);
            page->add_column_offset(offset);
        }
    }
    trailer.add_process_pages()->set_rows(7);
    EXPECT_EQ(keep_distinct_pages(trailer), 7U + 7U + 8U);
    ASSERT_EQ(trailer.module_index_offset_size(), 2);
    EXPECT_EQ(trailer.module_index_offset(0), 800U);
    EXPECT_EQ(trailer.module_index_offset(1), 400U);
    ASSERT_EQ(trailer.atoms_size(), 2);
    EXPECT_EQ(trailer.atoms(1).offset(), 400U);
    EXPECT_EQ(trailer.atoms(1).first_index(), 0U);
    ASSERT_EQ(trailer.process_pages_size(), 2);
    EXPECT_EQ(trailer.process_pages(0).column_offset(1), 800U);
}

}  // namespace
}  // namespace beamdump
