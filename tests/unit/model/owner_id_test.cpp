#include <libdump/format/format.h>
#include <libdump/model/owner_id.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(OwnerId, PrintsAsErlangDoes) {
    EXPECT_EQ(pid_text(format::owner_id_of(123, 0)), "<0.123.0>");
    EXPECT_EQ(pid_text(format::owner_id_of(32767, 8191)), "<0.32767.8191>");
}

TEST(OwnerId, ReadsBothForms) {
    EXPECT_EQ(parse_pid("<0.123.7>"), format::owner_id_of(123, 7));
    EXPECT_EQ(parse_pid("0.123.7"), format::owner_id_of(123, 7));
}

TEST(OwnerId, ReadsBackWhatItPrints) {
    for (const std::uint64_t number : {0ULL, 1ULL, 65535ULL, 0xFFFFFFFFULL}) {
        const std::uint64_t id = format::owner_id_of(number, number / 2);
        EXPECT_EQ(parse_pid(pid_text(id)), id);
    }
}

TEST(OwnerId, RefusesEverythingElse) {
    for (const char* text :
         {"", "<>", "0", "0.", "0.1", "<0.1>", "<0.1.2", "0.1.2>", "<1.2.3>", "<0.1.2>x", "0.-1.2",
          "0.1.4294967296", "0.4294967296.0", "init", "0. 1.2", "<0.1.2.3>", "0x0.1.2"}) {
        EXPECT_FALSE(parse_pid(text)) << text;
    }
}

}  // namespace
}  // namespace beamdump
