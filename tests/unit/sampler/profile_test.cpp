#include <libdump/profile/profile.h>
#include <libdump/profile/profile_text.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

const SampledThread kThread{7, "erts_sched_1", "scheduler 1"};

SampleStack in_erlang(std::vector<std::string> frames) {
    return {
        .kind = SampleKind::kExact,
        .frames = std::move(frames),
        .process = ProcessIdentity{.owner_id = 5, .registered = "worker", .initial_call = "m:i/0"}};
}

TEST(Profile, RecursionCountsOnceAndNativeTimeIsTheCallers) {
    Profile profile(SamplesBy::kNone);
    ASSERT_TRUE(profile.add(in_erlang({"m:f/1", "m:f/1", "m:g/0"}), kThread));
    auto native = in_erlang({"m:g/0"});
    native.native = {"[kernel]", "write", "prim_file:write_nif/2"};
    native.kind = SampleKind::kReadAfter;
    ASSERT_TRUE(profile.add(native, kThread));
    const auto& functions = profile.functions();
    EXPECT_EQ(functions.at("m:f/1").total, 1U);
    EXPECT_EQ(functions.at("m:f/1").self, 1U);
    EXPECT_EQ(functions.at("m:g/0").total, 2U);
    EXPECT_EQ(functions.at("m:g/0").self, 1U);
    EXPECT_EQ(functions.at("m:g/0").native, 1U);
    EXPECT_EQ(profile.native().at("[kernel]").self, 1U);
    EXPECT_EQ(profile.native().at("write").self, 0U);
    EXPECT_EQ(profile.native().at("write").total, 1U);
    EXPECT_EQ(profile.samples(), 2U);
}

std::vector<std::string> outermost_frames(const Profile& profile) {
    std::vector<std::string> names;
    const auto& stacks = profile.stacks();
    for (std::uint32_t at = 0; at < stacks.nodes().size(); ++at) {
        if (stacks.nodes()[at].weight != 0) {
            names.push_back(stacks.places()[stacks.stack(at).front()].function);
        }
    }
    return names;
}

TEST(Profile, StacksSayWhatIsNotKnown) {
    Profile profile(SamplesBy::kNone);
    auto sample = in_erlang({"m:f/1"});
    sample.unknown = UnknownCallers::kWentOn;
    sample.kind = SampleKind::kFunctionOnly;
    ASSERT_TRUE(profile.add(sample, kThread));
    sample = in_erlang({"m:f/1"});
    sample.more = true;
    ASSERT_TRUE(profile.add(sample, kThread));
    ASSERT_TRUE(profile.add({.kind = SampleKind::kEmulator, .native = {"erts_schedule"}}, kThread));
    ASSERT_TRUE(
        profile.add({.kind = SampleKind::kOtherThread, .native = {"poll"}}, {8, "erts_aux_1", {}}));
    EXPECT_EQ(outermost_frames(profile),
              (std::vector<std::string>{"(callers not known)", "(further callers)", "[emulator]",
                                        "[thread erts_aux_1]"}));
    EXPECT_EQ(profile.other_threads().at("erts_aux_1"), 1U);
    EXPECT_EQ(profile.unknown().at(UnknownCallers::kWentOn), 1U);
    EXPECT_EQ(profile.ended(), 0U);
}

TEST(Profile, GroupsAreOfAllSamples) {
    const std::pair<SamplesBy, std::vector<std::string>> cases[] = {
        {SamplesBy::kProcess, {"<0.5.0> worker", "[emulator]", "[process not known]"}},
        {SamplesBy::kName, {"worker", "[emulator]", "[process not known]"}},
        {SamplesBy::kInitialCall, {"m:i/0", "[emulator]", "[process not known]"}},
        {SamplesBy::kScheduler, {"scheduler 1"}},
        {SamplesBy::kThread, {"erts_sched_1 (7)"}}};
    for (const auto& [by, names] : cases) {
        Profile profile(by);
        auto ended = in_erlang({"m:f/1"});
        ended.process.reset();
        ASSERT_TRUE(profile.add(in_erlang({"m:f/1"}), kThread));
        ASSERT_TRUE(profile.add({.kind = SampleKind::kEmulator}, kThread));
        ASSERT_TRUE(profile.add(ended, kThread));
        EXPECT_EQ(profile.ended(), 1U);
        std::uint64_t samples = 0;
        for (const auto& [name, group] : profile.groups()) {
            EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
            samples += group.samples;
        }
        EXPECT_EQ(profile.groups().size(), names.size());
        EXPECT_EQ(samples, 3U);
    }
}

TEST(Profile, MostSamplesOfTheirOwnComeFirst) {
    Profile profile(SamplesBy::kNone);
    ASSERT_TRUE(profile.add(in_erlang({"m:b/1", "m:top/0"}), kThread));
    ASSERT_TRUE(profile.add(in_erlang({"m:b/1", "m:top/0"}), kThread));
    ASSERT_TRUE(profile.add(in_erlang({"m:a/1", "m:top/0"}), kThread));
    const auto sorted = sorted_functions(profile.functions());
    ASSERT_EQ(sorted.size(), 3U);
    EXPECT_EQ(sorted[0].first, "m:b/1");
    EXPECT_EQ(sorted[1].first, "m:a/1");
    EXPECT_EQ(sorted[2].first, "m:top/0");
    EXPECT_EQ(sorted[2].second.total, 3U);
}

TEST(SamplesBy, AnUnknownNameIsRefused) {
    EXPECT_EQ(parse_samples_by("initial_call").value(), SamplesBy::kInitialCall);
    EXPECT_EQ(parse_samples_by("pid").error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace beamdump::sampler
