// The dump's file cut off while a backtrace is being read from it.

#include "open_bytes.h"

#include <libdump/model/process_context.h>
#include <libdump/term/backtrace_cursor.h>

#include <gtest/gtest.h>

#include <filesystem>

namespace beamdump::test {
namespace {

TEST(VanishingFile, ABacktraceEndsAndTheDumpSaysWhatHappened) {
    DumpShape shape;
    shape.processes = 200;
    DumpReaderOptions one_frame;
    one_frame.cache_bytes = 1;
    OpenedBytes opened(DumpBuilder::whole(small_frames(), shape), one_frame);
    const ProcessRun run = opened.run("<0.100.0>");
    ProcessContext context(opened.dump(), run);
    const auto scheme = expect_value(scheme_of(format::TermScheme::kOtp25));
    const Region* stack = run.region(format::RegionKind::kStack);
    ASSERT_NE(stack, nullptr);
    BacktraceCursor cursor(
        context, scheme, {.instruction = 0, .top = stack->address, .bottom = stack->end_address()});
    static_cast<void>(opened.run("<0.1.0>"));  // its frame takes the place of the other's
    std::filesystem::resize_file(opened.path(), 100);
    std::string text;
    while (cursor.next(7, text) != 0) {
        ASSERT_LT(text.size(), 10'000U);
    }
    EXPECT_TRUE(cursor.done());
    EXPECT_NE(text.find("#Absent<"), std::string::npos) << text;
    ASSERT_TRUE(opened.dump().faults().first());
    EXPECT_NE(opened.dump().faults().first()->message.find("test.beamdump"), std::string::npos)
        << opened.dump().faults().first()->message;
}

}  // namespace
}  // namespace beamdump::test
