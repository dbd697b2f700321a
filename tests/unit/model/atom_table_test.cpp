#include "open_bytes.h"

#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

TEST(AtomTable, FindsTextsOverSeveralPages) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    AtomTable& atoms = opened.dump().atoms();
    EXPECT_EQ(atoms.text(0), "false");
    EXPECT_EQ(atoms.text(4), "reverse");
    EXPECT_EQ(atoms.text(5), "late");
    EXPECT_EQ(atoms.text(6), "atom");
    EXPECT_EQ(atoms.text(7), std::nullopt);
    EXPECT_EQ(atoms.text(0xFFFFFFFF), std::nullopt);
    EXPECT_FALSE(opened.dump().faults().first());
}

TEST(AtomTable, FindsIndexes) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    AtomTable& atoms = opened.dump().atoms();
    EXPECT_EQ(expect_value(atoms.index_of("lists")), 3U);
    EXPECT_EQ(expect_value(atoms.index_of("atom")), 6U);
    EXPECT_EQ(expect_value(atoms.index_of("nowhere")), std::nullopt);
}

TEST(AtomTable, GapBetweenPagesIsUnknown) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    builder.add_atoms(0, {"false"});
    builder.add_atoms(10, {"ten"});
    OpenedBytes opened(builder.finish());
    EXPECT_EQ(opened.dump().atoms().text(5), std::nullopt);
    EXPECT_EQ(opened.dump().atoms().text(10), "ten");
}

}  // namespace
}  // namespace beamdump::test
