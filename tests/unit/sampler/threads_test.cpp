#include <libsample/events/threads.h>

#include <gtest/gtest.h>

#include <unistd.h>

namespace beamdump::sampler {
namespace {

TEST(SchedulerNumber, ReadsBothNamings) {
    EXPECT_EQ(scheduler_number("1_scheduler"), 1U);
    EXPECT_EQ(scheduler_number("erts_sched_12"), 12U);
    EXPECT_EQ(scheduler_number("erts_dcpus_1"), std::nullopt);
    EXPECT_EQ(scheduler_number("1_dirty_io_sche"), std::nullopt);
    EXPECT_EQ(scheduler_number("erts_sched_99999"), std::nullopt) << "there are 1024 at most";
    EXPECT_EQ(scheduler_number(""), std::nullopt);
}

TEST(SchedulerOfThread, ReadsBothNamingsOfAllKinds) {
    using Found = std::pair<records::SchedulerKind, std::uint32_t>;
    const auto normal = records::SCHEDULER_KIND_NORMAL;
    EXPECT_EQ(scheduler_of_thread("1_scheduler"), Found(normal, 1));
    EXPECT_EQ(scheduler_of_thread("erts_dcpus_2"), Found(records::SCHEDULER_KIND_DIRTY_CPU, 2));
    EXPECT_EQ(scheduler_of_thread("2_dirty_cpu_sch"), Found(records::SCHEDULER_KIND_DIRTY_CPU, 2));
    EXPECT_EQ(scheduler_of_thread("erts_dios_10"), Found(records::SCHEDULER_KIND_DIRTY_IO, 10));
    EXPECT_EQ(scheduler_of_thread("10_dirty_io_sch"), Found(records::SCHEDULER_KIND_DIRTY_IO, 10));
    for (const auto* other : {"erts_aux_1", "1_aux", "async_1", "erts_dcpus_", "erts_dcpus_1x",
                              "erts_dios_4000", "beam.smp", ""}) {
        EXPECT_EQ(scheduler_of_thread(other).second, 0U) << other;
    }
}

constexpr std::string_view kStatus =
    "Name:\t1_scheduler\nState:\tS (sleeping)\nPid:\t12\n"
    "voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";

TEST(ThreadRest, ReadsAStatusFile) {
    const auto rest = parse_thread_rest(kStatus);
    ASSERT_TRUE(rest);
    EXPECT_TRUE(rest->sleeps);
    EXPECT_EQ(rest->switches, 42U);
}

TEST(ThreadRest, RefusesAFileWithoutItsFields) {
    for (const std::string_view field :
         {"State", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"}) {
        std::string status(kStatus);
        status.replace(status.find(std::string("\n") + std::string(field)) + 1, 1, "x");
        EXPECT_FALSE(parse_thread_rest(status)) << status;
    }
}

TEST(ThreadRest, OnlyAThreadThatSleptAtBothTimesRested) {
    const ThreadRest asleep{true, 7};
    EXPECT_TRUE(asleep.rested_until({true, 7}));
    EXPECT_FALSE(asleep.rested_until({true, 8}));
    EXPECT_FALSE(asleep.rested_until({false, 7}));
    EXPECT_FALSE((ThreadRest{false, 7}).rested_until({true, 7}));
}

TEST(ThreadRest, ReadsThatOfThisThread) {
    const auto rest = thread_rest(::getpid(), ::gettid());
    ASSERT_TRUE(rest) << rest.error().message;
    EXPECT_FALSE(rest->sleeps) << "it runs";
}

TEST(ThreadsOfNode, ListsThisThread) {
    const auto threads = threads_of_node(::getpid());
    ASSERT_TRUE(threads);
    bool found = false;
    for (const auto& thread : *threads) {
        found = found || thread.id == ::gettid();
        EXPECT_EQ(thread.name.find('\n'), std::string::npos);
    }
    EXPECT_TRUE(found);
}

}  // namespace
}  // namespace beamdump::sampler
