#include <libvm/fit/field_probe.h>

#include <gmock/gmock.h>

namespace beamdump::fit {
namespace {

using ::testing::ElementsAre;

beam::Layout small_layout() {
    return beam::Layout::parse(R"({
      "name": "otp-1", "otp_release": "1", "word_bytes": 8, "constants": {}, "structs": {
        "Process": {"bytes": 16, "fields": {"heap": {"offset": 0, "bytes": 8},
                                            "reds": {"offset": 8, "bytes": 8}}},
        "CodeRanges": {"bytes": 8, "fields": {"n": {"offset": 0, "bytes": 8}}}}})")
        .value();
}

TEST(FieldProbe, TriesEachFieldThatAnyCheckReads) {
    std::vector<std::string> told;
    const auto sight = probe_fields(
        small_layout(),
        [](const beam::Layout& tried) {
            EXPECT_EQ(tried.field("CodeRanges", "n")->offset, 0U);
            return tried.field("Process", "heap")->offset == 0;
        },
        [&](std::size_t done, std::size_t total) {
            told.push_back(std::to_string(done) + " of " + std::to_string(total));
        });
    EXPECT_THAT(told, ElementsAre("0 of 2", "1 of 2"));
    EXPECT_THAT(sight.seen, ElementsAre("Process.heap"));
    EXPECT_THAT(sight.unseen, ElementsAre("CodeRanges.n", "Process.reds"));
}

}  // namespace
}  // namespace beamdump::fit
