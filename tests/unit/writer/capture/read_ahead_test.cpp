#include "capture/modes/at_rest.h"
#include "capture/modes/batches.h"
#include "capture/modes/live.h"
#include "captured.h"
#include "fake_vm/each_layout.h"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <set>

namespace beamdump::capture {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadingThread, GivesTheOutcomesInTheirOrder) {
    ReadingThread thread;
    std::vector<int> done;
    for (int job = 0; job < 3; ++job) {
        thread.add([&done, job]() -> Result<void> {
            done.push_back(job);
            return job == 1 ? fail(ErrorCode::kUnmapped, "nothing there") : Result<void>();
        });
    }
    EXPECT_TRUE(thread.wait());
    EXPECT_THAT(thread.wait().error().message, HasSubstr("nothing there"));
    EXPECT_TRUE(thread.wait());
    EXPECT_THAT(done, ElementsAre(0, 1, 2));
}

TEST(ReadingThread, EndsWithoutBeingWaitedFor) {
    std::atomic<int> begun = 0;
    {
        ReadingThread thread;
        for (int job = 0; job < 100; ++job) {
            thread.add([&]() -> Result<void> {
                ++begun;
                return {};
            });
        }
    }
    EXPECT_LE(begun, 100);
}

class ReadAhead : public EachLayout {
  protected:
    /// A capture up to the processes.
    Session& begin(CaptureOptions options = {}) {
        capture_.emplace(node.vm, std::move(options));
        EXPECT_TRUE(capture_->begin());
        auto& session = capture_->session();
        EXPECT_TRUE(session.node_facts(records::MEMORY_SOURCE_CORE, Session::never));
        return session;
    }
    /// Of each process, how many of its words were captured, and the reads from the node.
    std::pair<std::map<std::uint64_t, std::uint64_t>, std::uint64_t> captured(bool live) {
        const auto before = node.vm.memory.stats().reads;
        auto& session = begin();
        if (live) {
            auto retrier = ProcessRetrier::open(session).value();
            EXPECT_THAT(capture_live(session, retrier).value(), ::testing::IsEmpty());
        } else {
            EXPECT_TRUE(capture_at_rest(session, LeftOver::kListed, nullptr));
        }
        const auto report = session.finish().value();
        std::map<std::uint64_t, std::uint64_t> words;
        Captured dump(capture_->content());
        for (const auto& end : dump.all<records::ProcessEnd>(format::RecordKind::kProcessEnd)) {
            EXPECT_EQ(end.void_reason(), records::VOID_REASON_NONE);
            words[end.owner_id()] = end.words_captured();
        }
        return {words, report.cost.reads() - before};
    }

    StandardNode node{layout};
    std::optional<FakeCapture> capture_;
};

/// Remembers what was read, and by whom.
struct Recorded {
    void begin(std::span<const beam::IdSlot> slots) { slot = slots.front().slot; }
    Result<void> read(memory::MemorySource& source, const WantedContents& /*wanted*/) {
        by = std::this_thread::get_id();
        std::vector<std::byte> bytes(8);
        return source.read(address, bytes);
    }
    std::uint64_t address = 0;
    std::uint32_t slot = 0;
    std::thread::id by = {};
};

TEST_P(ReadAhead, CapturesWhatIsCapturedInTurn) {
    for (const bool live : {false, true}) {
        const auto in_turn = captured(live);
        EXPECT_EQ(in_turn.first.size(), 3U);
        node.vm.memory.offer_second_source();
        const auto ahead = captured(live);
        EXPECT_EQ(ahead.first, in_turn.first);
        EXPECT_EQ(ahead.second, in_turn.second);
    }
}

TEST_P(ReadAhead, CapturesBatchesInTheirOrder) {
    node.vm.memory.offer_second_source();
    auto& session = begin();
    std::vector<std::uint32_t> order;
    std::set<std::thread::id> readers;
    BatchesAhead<Recorded> batches(session, {.address = node.worker.address()},
                                   [&](Recorded& batch) -> Result<void> {
                                       order.push_back(batch.slot);
                                       readers.insert(batch.by);
                                       return {};
                                   });
    std::vector<std::uint32_t> expected;
    for (std::uint32_t slot = 0; slot < 20; ++slot) {
        const beam::IdSlot one{slot, node.worker.address()};
        ASSERT_TRUE(batches.hand_over({&one, 1}));
        expected.push_back(slot);
    }
    ASSERT_TRUE(batches.finish());
    EXPECT_EQ(order, expected);
    EXPECT_EQ(readers.size(), 1U);
    EXPECT_FALSE(readers.contains(std::this_thread::get_id()));
}

TEST_P(ReadAhead, ReadsHereWhatTheThreadCannotRead) {
    node.vm.memory.offer_second_source(true);
    auto& session = begin();
    std::set<std::thread::id> readers;
    BatchesAhead<Recorded> batches(session, {.address = node.worker.address()},
                                   [&](Recorded& batch) -> Result<void> {
                                       readers.insert(batch.by);
                                       return {};
                                   });
    for (std::uint32_t slot = 0; slot < 10; ++slot) {
        const beam::IdSlot one{slot, node.worker.address()};
        ASSERT_TRUE(batches.hand_over({&one, 1}));
    }
    ASSERT_TRUE(batches.finish());
    EXPECT_THAT(readers, ElementsAre(std::this_thread::get_id()));
}

TEST_P(ReadAhead, EndsWithTheFirstErrorOfACapture) {
    node.vm.memory.offer_second_source();
    auto& session = begin();
    BatchesAhead<Recorded> batches(
        session, {.address = node.worker.address()}, [&](Recorded& batch) -> Result<void> {
            return batch.slot == 2 ? fail(ErrorCode::kIo, "the disk is full") : Result<void>();
        });
    Result<void> done;
    for (std::uint32_t slot = 0; slot < 20 && done; ++slot) {
        const beam::IdSlot one{slot, node.worker.address()};
        done = batches.hand_over({&one, 1});
    }
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "the disk is full");
}

TEST_P(ReadAhead, ReadsInTurnWhereTheOutputIsLimitedOrThatIsWanted) {
    node.vm.memory.offer_second_source();
    CaptureOptions limited;
    limited.max_bytes = 1U << 30U;
    CaptureOptions in_turn;
    in_turn.read_ahead = false;
    for (const auto& options : {limited, in_turn}) {
        auto& session = begin(options);
        std::set<std::thread::id> readers;
        BatchesAhead<Recorded> batches(session, {.address = node.worker.address()},
                                       [&](Recorded& batch) -> Result<void> {
                                           readers.insert(batch.by);
                                           return {};
                                       });
        const beam::IdSlot one{0, node.worker.address()};
        ASSERT_TRUE(batches.hand_over({&one, 1}));
        EXPECT_THAT(readers, ElementsAre(std::this_thread::get_id()));
    }
}

BEAMDUMP_FOR_EACH_LAYOUT(ReadAhead);

}  // namespace
}  // namespace beamdump::capture
