#include <libdump/profile/native_filter.h>
#include <libdump/profile/profile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::sampler {
namespace {

const SampledThread kScheduler{7, "erts_sched_1", "scheduler 1"};

NativeFilter filter(std::string_view text) {
    return NativeFilter::parse(text).value();
}

TEST(NativeFilter, NamesPatternsAndSets) {
    EXPECT_TRUE(filter("copy_struct_x").matches(std::string("copy_struct_x")));
    EXPECT_FALSE(filter("copy_struct").matches(std::string("copy_struct_x")));
    EXPECT_TRUE(filter("copy_*").matches(std::string("copy_struct_x")));
    EXPECT_TRUE(filter("[kernel]").matches(std::string("[kernel]")));
    EXPECT_TRUE(filter("ets").matches(std::string("ets:lookup/2")));
    EXPECT_TRUE(filter("gc").matches(std::string("<garbage_collect>")));
    EXPECT_FALSE(filter("gc").matches(std::string("gc")));
}

TEST(NativeFilter, OfASampleAllNativeFramesAndTheFragmentCount) {
    const SampleStack sample{.kind = SampleKind::kReadAfter,
                             .native = {"memmove", "copy_struct_x", "erlang:send/2"},
                             .fragment = "<call_nif_shared>"};
    for (const auto* wanted : {"memmove", "copy", "erlang:send/2", "nif"}) {
        EXPECT_TRUE(filter(wanted).matches(sample)) << wanted;
    }
    EXPECT_FALSE(filter("gc").matches(sample));
}

TEST(NativeFilter, NothingAndBlanksAreRefused) {
    for (const auto* text : {"", "a b", "\n"}) {
        const auto parsed = NativeFilter::parse(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
    }
}

TEST(NativeFilter, AProfileCountsWhatItLeavesOut) {
    Profile profile(SamplesBy::kNone, filter("copy"));
    const auto add = [&](std::vector<std::string> native) {
        EXPECT_TRUE(profile.add({.kind = SampleKind::kReadAfter,
                                 .native = std::move(native),
                                 .frames = {"m:f/1"},
                                 .process = ProcessIdentity{.owner_id = 5}},
                                kScheduler));
    };
    add({"copy_struct_x"});
    add({"beam.smp+0x1234", "erl_send"});
    add({"erts_schedule"});
    EXPECT_EQ(profile.samples(), 1U);
    EXPECT_EQ(profile.all_samples(), 3U);
    EXPECT_EQ(profile.unnamed(), 1U) << "it may be a copy";
    EXPECT_EQ(profile.functions().at("m:f/1").self, 1U);
}

TEST(NativeFilter, ABifsFunctionHasItsNameAndArity) {
    using ::testing::ElementsAre;
    using ::testing::IsEmpty;
    EXPECT_THAT(native_names_of_bif("erlang:list_to_atom/1"),
                ElementsAre("list_to_atom_1", "erlang_list_to_atom_1"));
    EXPECT_THAT(native_names_of_bif("ets:lookup/2"), ElementsAre("ets_lookup_2"));
    for (const auto* other : {"copy_struct_x", "gc", ":f/1", "m:/1", "m:f/x", "m:f", "m/f:1"}) {
        EXPECT_THAT(native_names_of_bif(other), IsEmpty()) << other;
    }
}

}  // namespace
}  // namespace beamdump::sampler
