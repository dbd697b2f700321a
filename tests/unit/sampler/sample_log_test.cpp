#include <libdump/profile/sample_pages.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace beamdump {
namespace {

const std::map<std::uint32_t, std::string> kAtoms = {
    {5, "worker"}, {7, "m"}, {8, "f"}, {9, "loop"}};

std::string function_text(const FunctionAtoms& function) {
    return fmt::format("{}:{}/{}", kAtoms.at(function.module), kAtoms.at(function.function),
                       function.arity);
}

std::optional<FunctionAtoms> function_named(const std::string& text) {
    for (const auto& function : {FunctionAtoms{7, 8, 1}, FunctionAtoms{7, 9, 0}}) {
        if (function_text(function) == text) {
            return function;
        }
    }
    return std::nullopt;
}

SamplePages reader() {
    return {SamplesBy::kNone, [](std::uint32_t atom) { return std::optional(kAtoms.at(atom)); },
            [](const records::Mfa& mfa) {
                return std::optional(
                    function_text({mfa.module_atom(), mfa.function_atom(), mfa.arity()}));
            }};
}

std::vector<records::Samples> pages_of(const ProfileReport& report) {
    std::vector<records::Samples> pages;
    EXPECT_TRUE(sample_pages(report, [&](const records::Samples& page) -> Result<void> {
        pages.push_back(page);
        return {};
    }));
    return pages;
}

Result<ProfileReport> read(const std::vector<records::Samples>& pages) {
    auto pages_read = reader();
    for (const auto& page : pages) {
        if (auto added = pages_read.add(page); !added) {
            return std::unexpected(added.error());
        }
    }
    return pages_read.finish();
}

ProfileReport empty() {
    ProfileReport report{.node = {},
                         .otp_release = {},
                         .began_us = 1'700'000'000'000'000,
                         .took_ns = 5,
                         .rate = 99,
                         .profile = Profile(SamplesBy::kNone)};
    report.log.emplace();
    return report;
}

ProfileReport samples() {
    auto report = empty();
    const SampledThread scheduler{7, "erts_sched_1", "scheduler 1"};
    const ProcessIdentity worker{.owner_id = (std::uint64_t{3} << 32U) | 40,
                                 .registered = "worker",
                                 .registered_atom = 5,
                                 .initial_call = "m:loop/0",
                                 .initial_call_atoms = FunctionAtoms{7, 9, 0}};
    const SampleStack exact{
        .kind = SampleKind::kExact, .frames = {"m:f/1", "m:loop/0"}, .process = worker};
    report.log->add(exact, scheduler);
    report.log->name_functions(function_named);
    return report;
}

TEST(SampleLog, HaveFunctionsByTheirAtomsAlone) {
    for (const auto& page : pages_of(samples())) {
        EXPECT_EQ(page.SerializeAsString().find("m:f"), std::string::npos);
        EXPECT_EQ(page.SerializeAsString().find("worker"), std::string::npos);
    }
}

TEST(SampleLog, SayWhatIsLeftOut) {
    auto taken = empty();
    taken.lost = 3;
    taken.not_sampled["no permission"] = 2;
    std::uint64_t samples = 0;
    while (taken.log->left_out() < 5) {
        taken.log->add({.native = {fmt::format("function_{}", samples++)}}, {1, "t", {}});
    }
    EXPECT_FALSE(taken.complete());
    EXPECT_EQ(shortcomings(taken).size(), 3U);
    const auto pages = pages_of(taken);
    EXPECT_GT(pages.size(), 10U);
    std::uint64_t bytes = 0;
    for (const auto& page : pages) {
        bytes += page.ByteSizeLong();
    }
    EXPECT_LT(bytes, SampleLog::kMostBytes);
    const auto found = read(pages);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->profile.samples() + 5, samples);
    EXPECT_FALSE(found->complete());
    EXPECT_EQ(found->lost, 3U);
    ASSERT_EQ(found->remarks.size(), 1U);
    EXPECT_EQ(found->remarks[0],
              "the last 5 samples are left out: there were more different stacks than are kept");
}

TEST(SampleLog, AreBoundedByMoreThanTheirSize) {
    auto pages = pages_of(samples());
    auto& page = pages.front();
    for (std::size_t at = 0; at <= SampleLog::kMostFrames; ++at) {
        page.mutable_sample(0)->add_function(0);
    }
    EXPECT_EQ(read(pages).error().code, ErrorCode::kCorrupt);
    // A name that is long, in many samples of many functions.
    page.clear_sample();
    page.add_code()->set_name(std::string(SampleLog::kMostNameBytes * 2, 'x'));
    auto& sample = *page.add_sample();
    sample.set_kind(records::SAMPLE_KIND_EMULATOR);
    for (std::size_t at = 0; at < SampleLog::kMostFrames; ++at) {
        sample.add_native(static_cast<std::uint32_t>(page.code_size() - 1));
    }
    for (int at = 0; at < 7; ++at) {
        page.add_sample()->CopyFrom(page.sample(0));
    }
    const std::vector<records::Samples> many(pages.size() + 8, page);
    EXPECT_EQ(read(many).error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace beamdump
