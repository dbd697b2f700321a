#include <program/start.h>

#include <gtest/gtest.h>

#include <optional>
#include <sstream>

namespace beamdump::program {
namespace {

TEST(GiveUp, TellsTheWatcherBeforeTheReasonIsWritten) {
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{.out = out, .err = err};
    std::optional<std::string> written;
    streams.finishing = [&] { written = err.str(); };
    EXPECT_EQ(give_up(streams, "beamdump-capture", {ErrorCode::kIo, "no\nroom"}), kFailed);
    EXPECT_EQ(written, "") << "the watcher for signals writes nothing from here on";
    EXPECT_EQ(err.str(), "beamdump-capture: no room\n");
    EXPECT_EQ(give_up(streams, "beamdump-capture", {ErrorCode::kUsage, "what?"}), kWrongUsage);
}

}  // namespace
}  // namespace beamdump::program
