#include <libdump/profile/sample_pages.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace beamdump::sampler {
namespace {

const SampledThread kOneScheduler{7, "erts_sched_1", "scheduler 1"};

SampleStack of_process(std::uint64_t owner, std::vector<std::string> frames) {
    return {.kind = SampleKind::kExact,
            .frames = std::move(frames),
            .process = ProcessIdentity{.owner_id = owner,
                                       .registered = "worker",
                                       .registered_atom = 3,
                                       .initial_call = "a:b/2",
                                       .initial_call_atoms = FunctionAtoms{1, 2, 2}}};
}

ProfileReport report() {
    ProfileReport made{.node = {},
                       .otp_release = {},
                       .began_us = 5,
                       .took_ns = 6,
                       .rate = 99,
                       .profile = Profile(SamplesBy::kNone)};
    made.log.emplace();
    return made;
}

std::vector<records::Samples> written_of(const ProfileReport& of) {
    std::vector<records::Samples> pages;
    EXPECT_TRUE(sample_pages(of, [&](const records::Samples& page) -> Result<void> {
        pages.push_back(page);
        return {};
    }));
    return pages;
}

SamplePages reader(SamplesBy by) {
    return {by,
            [](std::uint32_t atom) {
                return std::optional(atom == 3 ? std::string("worker") : std::string("?"));
            },
            [](const records::Mfa& call) {
                return std::optional("a:b/" + std::to_string(call.arity()));
            }};
}

Result<ProfileReport> counted(const std::vector<records::Samples>& pages, SamplesBy by) {
    auto to = reader(by);
    for (const auto& page : pages) {
        if (auto added = to.add(page); !added) {
            return std::unexpected(added.error());
        }
    }
    return to.finish();
}

/// Folded stacks are all that a profile's stacks say.
std::vector<std::string> stacks_of(const Profile& profile) {
    std::vector<std::string> lines;
    const auto& stacks = profile.stacks();
    for (std::uint32_t at = 0; at < stacks.nodes().size(); ++at) {
        if (stacks.nodes()[at].weight != 0) {
            std::string line;
            for (const auto place : stacks.stack(at)) {
                line += stacks.places()[place].function + ";";
            }
            lines.push_back(line + std::to_string(stacks.nodes()[at].weight));
        }
    }
    std::ranges::sort(lines);
    return lines;
}

TEST(SamplePages, CountAsTheSamplesThemselves) {
    auto made = report();
    made.lost = 4;
    made.kernel_seen = false;
    made.delay_ns = 10;
    made.longest_delay_ns = 20;
    made.not_sampled["they ended"] = 2;
    made.remarks = {"one", "two"};
    std::vector<std::pair<SampleStack, SampledThread>> samples;
    for (std::uint64_t owner = 0; owner < 700; ++owner) {
        // Long names, so that there are several pages.
        samples.emplace_back(of_process(owner, {std::string(400, 'f') + std::to_string(owner)}),
                             kOneScheduler);
    }
    auto native = of_process(1, {"m:g/0"});
    native.kind = SampleKind::kReadAfter;
    native.native = {"[kernel]", "write"};
    native.more = true;
    samples.emplace_back(native, kOneScheduler);
    samples.emplace_back(native, kOneScheduler);
    samples.emplace_back(SampleStack{.kind = SampleKind::kFunctionOnly,
                                     .unknown = UnknownCallers::kWentOn,
                                     .frames = {"m:h/0"}},
                         kOneScheduler);
    samples.emplace_back(SampleStack{.kind = SampleKind::kOtherThread, .native = {"poll"}},
                         SampledThread{9, "async_1", {}});
    for (const auto by : {SamplesBy::kNone, SamplesBy::kProcess, SamplesBy::kName,
                          SamplesBy::kInitialCall, SamplesBy::kScheduler, SamplesBy::kThread}) {
        Profile wanted(by);
        made.log.emplace();
        for (const auto& [stack, thread] : samples) {
            ASSERT_TRUE(wanted.add(stack, thread));
            made.log->add(stack, thread);
        }
        const auto pages = written_of(made);
        EXPECT_GT(pages.size(), 3U);
        const auto found = counted(pages, by);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(stacks_of(found->profile), stacks_of(wanted));
        EXPECT_EQ(found->profile.kinds(), wanted.kinds());
        EXPECT_EQ(found->profile.unknown(), wanted.unknown());
        EXPECT_EQ(found->profile.other_threads(), wanted.other_threads());
        EXPECT_EQ(found->profile.ended(), wanted.ended());
        EXPECT_EQ(found->profile.groups().size(), wanted.groups().size());
        for (const auto& [name, group] : wanted.groups()) {
            EXPECT_EQ(found->profile.groups().at(name).samples, group.samples);
        }
        EXPECT_EQ(found->profile.functions().at("m:g/0").native, 2U);
        EXPECT_EQ(found->began_us, 5);
        EXPECT_EQ(found->took_ns, 6);
        EXPECT_EQ(found->rate, 99U);
        EXPECT_EQ(found->lost, 4U);
        EXPECT_FALSE(found->kernel_seen);
        EXPECT_EQ(found->delay_ns, 10);
        EXPECT_EQ(found->longest_delay_ns, 20);
        EXPECT_EQ(found->not_sampled, made.not_sampled);
        EXPECT_EQ(found->remarks, made.remarks);
        EXPECT_FALSE(found->cut_short);
    }
}

TEST(BoundedSamples, HaveTheMostFrequentStacksWithNumbersOfTheirOwn) {
    auto made = report();
    // The rarest come first, with names that the others do not have.
    for (std::uint64_t number = 0; number < 200; ++number) {
        auto stack = of_process(number, {"m:f" + std::to_string(number) + "/0", "m:loop/0"});
        stack.native = {"native" + std::to_string(number)};
        stack.fragment = "<call" + std::to_string(number) + ">";
        for (std::uint64_t count = 0; count <= number; ++count) {
            made.log->add(stack, {static_cast<pid_t>(number), "thread", {}});
        }
    }
    const auto all = bounded_samples(made, std::size_t{1} << 20U);
    EXPECT_EQ(all.sample_size(), 200);
    EXPECT_EQ(all.time().left_out(), 0U);
    const auto whole = counted({all}, SamplesBy::kNone);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(whole->profile.samples(), made.log->kept());
    EXPECT_EQ(stacks_of(whole->profile),
              stacks_of(counted(written_of(made), SamplesBy::kNone)->profile));

    constexpr std::size_t kBytes = 2000;
    const auto some = bounded_samples(made, kBytes);
    EXPECT_GT(some.ByteSizeLong(), kBytes / 2);
    EXPECT_LT(some.ByteSizeLong(), kBytes + 300);
    // A process, a thread and three names for each, and one for all.
    EXPECT_EQ(some.process_size(), some.sample_size());
    EXPECT_EQ(some.thread_size(), some.sample_size());
    EXPECT_EQ(some.code_size(), 3 * some.sample_size() + 1);
    const auto part = counted({some}, SamplesBy::kNone);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part->profile.samples() + some.time().left_out(), made.log->kept());
    const auto& functions = part->profile.functions();
    EXPECT_EQ(functions.at("m:f199/0").self, 200U);
    EXPECT_EQ(functions.at("m:loop/0").total, part->profile.samples());
    EXPECT_FALSE(functions.contains("m:f0/0"));
}

TEST(SamplePages, ReferencesToWhatIsNotThereAreDamage) {
    auto made = report();
    auto stack = of_process(1, {"m:g/0"});
    stack.fragment = "<call>";
    made.log->add(stack, kOneScheduler);
    const auto pages = written_of(made);
    ASSERT_EQ(pages.size(), 1U);
    const auto fails = [&](auto change) {
        auto page = pages.front();
        change(page);
        const auto found = counted({page}, SamplesBy::kProcess);
        return !found && found.error().code == ErrorCode::kCorrupt;
    };
    EXPECT_TRUE(counted(pages, SamplesBy::kProcess));
    EXPECT_TRUE(fails([](auto& page) { page.mutable_sample(0)->set_function(0, 2); }));
    EXPECT_TRUE(fails([](auto& page) { page.mutable_sample(0)->add_native(77); }));
    EXPECT_TRUE(fails([](auto& page) { page.mutable_sample(0)->set_fragment(2); }));
    EXPECT_TRUE(fails([](auto& page) { page.mutable_sample(0)->set_process(1); }));
    EXPECT_TRUE(fails([](auto& page) { page.mutable_sample(0)->set_thread(1); }));
    EXPECT_TRUE(fails([](auto& page) {
        page.mutable_sample(0)->set_kind(static_cast<records::SampleKind>(99));
    }));
    EXPECT_TRUE(fails([](auto& page) { page.mutable_time()->set_rate(0); }));
    EXPECT_TRUE(fails([](auto& page) { page.clear_time(); }));
}

}  // namespace
}  // namespace beamdump::sampler
