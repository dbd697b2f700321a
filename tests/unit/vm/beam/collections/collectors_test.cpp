#include "fake_vm/each_layout.h"

#include <libvm/beam/collections/collectors.h>
#include <libvm/beam/layout/term_bits.h>

#include <gmock/gmock.h>

#include <sys/syscall.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr pid_t kThread = 77;
constexpr std::uint64_t kCopy = 0x7000'0000;
constexpr std::uint64_t kLargeWords = std::uint64_t{1} << 20U;
constexpr std::uint64_t kTupleOfTwo = 2U << 6U;  // header of a tuple of two

/// A process that a dirty scheduler collects, and a stopped thread with one register in use.
class CollectorsTest : public OnStandardNode {
  protected:
    CollectorsTest() {
        collecting();
        node.vm.at("ErtsSchedulerData", node.vm.located()->tables().dirty_cpu_schedulers)
            .set("current_process", process().address());
    }
    FakeProcess& process() { return node.init; }
    void collecting() {
        process().structure().set(
            "state", node.vm.constant("state_gc") | node.vm.constant("state_dirty_running_sys"));
    }
    /// Its heap begins where there is no memory.
    void make_large() {
        const auto heap = process().structure().get("hend") - kLargeWords * 8;
        process().structure().set("heap", heap).set("heap_sz", kLargeWords);
    }

    static target::ThreadRegisters with(std::initializer_list<std::uint64_t> values) {
        target::ThreadRegisters thread{.thread = kThread};
        std::ranges::copy(values, thread.general_words.begin());
        thread.general_count = values.size();
        return thread;
    }
    YieldState known = YieldState::open(layout).value();
    std::vector<pid_t> between(const target::ThreadRegisters& thread) {
        return Collectors::open(fresh()).value().between_stores({&thread, 1});
    }
};

TEST_P(CollectorsTest, AHeaderInHandIsNotYetInTheCopy) {
    const auto object = process().build({kTupleOfTwo, node.vm.small(1), node.vm.small(2)});
    EXPECT_THAT(between(with({object, kTupleOfTwo})), ElementsAre(kThread));
    EXPECT_THAT(between(with({object | kPrimaryBoxed, kTupleOfTwo})), ElementsAre(kThread));
    // It only looks at the object, or at one that is elsewhere.
    EXPECT_THAT(between(with({object})), IsEmpty());
    EXPECT_THAT(between(with({node.worker.build({kTupleOfTwo, 0, 0}), kTupleOfTwo})), IsEmpty());
    auto waiting = with({object, kTupleOfTwo});
    waiting.system_call = SYS_futex;
    EXPECT_THAT(between(waiting), IsEmpty());
}

TEST_P(CollectorsTest, ACopyMayLackItsHeader) {
    const auto copy = node.worker.build({0, 0, 0});
    const auto object = process().build({copy | kPrimaryBoxed, node.vm.small(1), 0});
    EXPECT_THAT(between(with({object, copy, kTupleOfTwo})), ElementsAre(kThread));
    node.vm.memory.put(copy, kTupleOfTwo);
    EXPECT_THAT(between(with({object, copy, kTupleOfTwo})), IsEmpty());
    // It only follows the object's new address.
    EXPECT_THAT(between(with({object, 0})), IsEmpty());
}

/// A collection remembers where its spaces begin: both addresses are in registers all the time.
TEST_P(CollectorsTest, ACopyThatIsThereNeedsNoHeaderInARegister) {
    const auto copy = node.worker.build({kTupleOfTwo, node.vm.small(1), node.vm.small(2)});
    const auto object = process().build({copy | kPrimaryBoxed, node.vm.small(1), node.vm.small(2)});
    EXPECT_THAT(between(with({object, copy})), IsEmpty());
    // What is there may be of a former use of that memory.
    node.vm.memory.put(copy + 16, node.vm.small(7));
    EXPECT_THAT(between(with({object, copy})), ElementsAre(kThread));
}

TEST_P(CollectorsTest, ACellThatStaysAsItIsWhileItsThreadRunsIsMoved) {
    const auto cell = process().build({0, kCopy | kPrimaryList});
    auto collectors = Collectors::open(fresh()).value();
    const auto look = [&](std::uint64_t place) {
        auto thread = with({cell, kCopy, place});
        return collectors.between_stores({&thread, 1});
    };
    // A thread that has not run has stored nothing.
    for (int looks = 0; looks < 10; ++looks) {
        EXPECT_THAT(look(1), ElementsAre(kThread));
    }
    for (const std::uint64_t place : {2, 3, 4}) {
        EXPECT_THAT(look(place), ElementsAre(kThread));
    }
    EXPECT_THAT(look(5), IsEmpty());
    const auto stopped = with({cell, kCopy, 5});
    collectors.record({&stopped, 1});
    EXPECT_THAT(collectors.unclear(process().address()), IsEmpty());
    collectors.forget();
    EXPECT_THAT(look(6), ElementsAre(kThread));
}

TEST_P(CollectorsTest, WordsThatStayAsTheyAreWhileTheThreadRunsAreNotBeingMoved) {
    // A number that is also a header of the object beside it; a zero that is no cell's.
    const auto object = process().build({kTupleOfTwo, node.vm.small(1), node.vm.small(2)});
    const auto zero = process().build({0, node.vm.small(3)});
    for (const auto& registers :
         {std::pair{object, kTupleOfTwo}, std::pair{zero, std::uint64_t{0x18}}}) {
        auto collectors = Collectors::open(fresh()).value();
        const auto look = [&](std::uint64_t place) {
            auto thread = with({registers.first, registers.second, place});
            return collectors.between_stores({&thread, 1});
        };
        for (const std::uint64_t place : {1, 1, 1, 1, 1, 1, 2, 3, 4}) {
            EXPECT_THAT(look(place), ElementsAre(kThread)) << place;
        }
        EXPECT_THAT(look(5), IsEmpty());
        node.vm.memory.put(registers.first + 8, node.vm.small(4));
        EXPECT_EQ(look(6).empty(), registers.second == kTupleOfTwo) << "another tail";
    }
}

TEST_P(CollectorsTest, ACellWithoutItsHeadAndItsNewAddressIsHalfMoved) {
    const auto cell = process().build({0, node.vm.small(3)});
    EXPECT_THAT(between(with({cell})), ElementsAre(kThread));
    // The thread's register is already at the next cell.
    EXPECT_THAT(between(with({cell + 16})), ElementsAre(kThread));
    EXPECT_THAT(between(with({cell + 24})), IsEmpty());
    node.vm.memory.put(cell + 8, kCopy | kPrimaryList);
    EXPECT_THAT(between(with({cell})), IsEmpty());
    // Its address may be there before the copy is.
    EXPECT_THAT(between(with({cell, kCopy + 16})), ElementsAre(kThread));
    EXPECT_THAT(between(with({cell, kCopy + 24})), IsEmpty());
    // Its tail leads to words that are collected: it is no new address.
    node.vm.memory.put(cell + 8, process().structure().get("heap") | kPrimaryList);
    EXPECT_THAT(between(with({cell})), ElementsAre(kThread));
}

/// A long list is moved cell by cell: registers lead to the last one and its copy all the time.
TEST_P(CollectorsTest, ACopyOfACellWhoseTailLeadsToCollectedWordsIsThere) {
    const auto next = process().build({node.vm.small(2), node.vm.small(3)});
    const auto copy = node.worker.build({node.vm.small(1), next | kPrimaryList});
    const auto cell = process().build({0, copy | kPrimaryList});
    EXPECT_THAT(between(with({cell, copy})), IsEmpty());
    EXPECT_THAT(between(with({cell + 16, copy + 16})), IsEmpty());
    // A cell of the former collection that was moved to the heap of this one, in memory used again.
    node.vm.memory.put(copy, std::uint64_t{0});
    EXPECT_THAT(between(with({cell, copy})), ElementsAre(kThread));
    // Its tail may be what was there before.
    node.vm.memory.put(copy, node.vm.small(1));
    for (const auto tail : {node.vm.small(3), copy | kPrimaryList, next | kPrimaryBoxed}) {
        node.vm.memory.put(copy + 8, tail);
        EXPECT_THAT(between(with({cell, copy})), ElementsAre(kThread)) << tail;
    }
}

TEST_P(CollectorsTest, ACellWhoseWordsAreInAVectorRegisterIsMended) {
    const auto tail = process().structure().get("heap") | kPrimaryList;
    const auto cell = process().build({0, tail});
    const auto copy = node.worker.build({0, 0});
    auto thread = with({cell, copy | kPrimaryList});
    thread.vectors[3] = {node.vm.small(7), tail};
    EXPECT_THAT(between(thread), IsEmpty());
    auto collectors = Collectors::open(fresh()).value();
    const auto mended = [&] {
        vm->forget();
        collectors.record({&thread, 1});
        EXPECT_THAT(collectors.unclear(process().address()), IsEmpty());
        const auto words = collectors.mended(process().address());
        EXPECT_EQ(words.size(), 1U);
        return words.empty() ? std::pair<Address, std::uint64_t>()
                             : std::pair(words[0].address, words[0].word);
    };
    // Not copied yet: it gets its first word back.
    EXPECT_EQ(mended(), std::pair(cell, node.vm.small(7)));
    // Copied: it gets the address of its copy.
    node.vm.memory.put(copy, node.vm.small(7));
    EXPECT_EQ(mended(), std::pair(cell, node.vm.small(7)));
    node.vm.memory.put(copy + 8, tail);
    EXPECT_EQ(mended(), std::pair(cell + 8, copy | kPrimaryList));
    EXPECT_THAT(collectors.mended(node.worker.address()), IsEmpty());
    collectors.forget();
    EXPECT_THAT(collectors.mended(process().address()), IsEmpty());
    // Which of two that have this tail is not known.
    thread.vectors[5] = {node.vm.small(8), tail};
    EXPECT_THAT(between(thread), ElementsAre(kThread));
    thread.vectors[5] = {};
    // Words of another cell.
    thread.vectors[3] = {node.vm.small(7), tail + 16};
    EXPECT_THAT(between(thread), ElementsAre(kThread));
    thread.vectors[3] = {0, tail};
    EXPECT_THAT(between(thread), ElementsAre(kThread));
}

TEST_P(CollectorsTest, ObjectsInFragmentsAreMovedToo) {
    auto fragment = process().fragment({kTupleOfTwo, node.vm.small(1), node.vm.small(2)});
    const auto object = fragment.at("mem");
    EXPECT_THAT(between(with({object, kTupleOfTwo})), ElementsAre(kThread));
    const auto thread = with({object, kTupleOfTwo});
    auto collectors = Collectors::open(fresh()).value();
    EXPECT_THAT(collectors.unclear(process().address()), IsEmpty());
    collectors.record({&thread, 1});
    EXPECT_EQ(collectors.unclear(process().address()), "one of its objects was between two places");
    EXPECT_THAT(collectors.unclear(node.worker.address()), IsEmpty());
    collectors.forget();
    EXPECT_THAT(collectors.unclear(process().address()), IsEmpty());
}

TEST_P(CollectorsTest, FragmentsThatCannotBeReadMakeAProcessUnclear) {
    process().structure().set("mbuf", 0x7777770);
    auto collectors = Collectors::open(fresh()).value();
    collectors.record({});
    EXPECT_EQ(collectors.unclear(process().address()), "its heap fragments could not be read");
}

TEST_P(CollectorsTest, NothingIsMovedOnceTheMarkIsThatOfTheNewBlock) {
    // Its binaries are being looked at, object by object.
    const auto object = process().build({kTupleOfTwo, node.vm.small(1), node.vm.small(2)});
    EXPECT_THAT(between(with({object, kTupleOfTwo})), ElementsAre(kThread));
    process().structure().set("high_water", node.worker.structure().get("heap"));
    EXPECT_THAT(between(with({object, kTupleOfTwo})), IsEmpty());
}

TEST_P(CollectorsTest, AMomentInWhichMessagesAreCopiedToALargeHeapIsNotGood) {
    make_large();
    auto collectors = Collectors::open(fresh()).value();
    EXPECT_FALSE(collectors.is_good_moment());
    for (int message = 0; message < 3; ++message) {
        process().structure().set("htop", process().structure().get("htop") + 64);
        EXPECT_FALSE(collectors.is_good_moment()) << message;
    }
    EXPECT_TRUE(collectors.is_good_moment());
}

TEST_P(CollectorsTest, AMomentInWhichALargeHeapHasMovedIsNotGood) {
    make_large();
    auto collectors = Collectors::open(fresh()).value();
    EXPECT_FALSE(collectors.is_good_moment());
    EXPECT_TRUE(collectors.is_good_moment());
    EXPECT_TRUE(collectors.can_be_captured(known));
    // It has another heap, to which its words may not lead yet.
    process().structure().set("heap", process().structure().get("heap") + 64);
    process().structure().set("heap_sz", kLargeWords - 8);
    EXPECT_FALSE(collectors.can_be_captured(known));
    for (int looks = 0; looks < 3; ++looks) {
        EXPECT_FALSE(collectors.is_good_moment()) << looks;
        EXPECT_FALSE(collectors.can_be_captured(known)) << looks;
    }
    // The next collection.
    process().structure().set("state", 0);
    EXPECT_TRUE(collectors.is_good_moment());
    EXPECT_TRUE(collectors.can_be_captured(known));
    collecting();
    EXPECT_FALSE(collectors.is_good_moment());
    EXPECT_TRUE(collectors.is_good_moment());
    EXPECT_TRUE(collectors.can_be_captured(known));
}

TEST_P(CollectorsTest, AHeapWhoseFieldsDisagreeOrWhoseStackIsGoneIsNotCaptured) {
    make_large();
    auto collectors = Collectors::open(fresh()).value();
    EXPECT_TRUE(collectors.can_be_captured(known));
    process().structure().set("heap_sz", kLargeWords + 8);
    EXPECT_FALSE(collectors.can_be_captured(known));
    EXPECT_FALSE(collectors.is_good_moment());
    EXPECT_FALSE(collectors.is_good_moment());
    process().structure().set("heap_sz", kLargeWords);
    EXPECT_TRUE(collectors.can_be_captured(known));
    // realloc() has moved the block.
    process().structure().set("stop", process().structure().get("heap") + 64);
    EXPECT_FALSE(collectors.can_be_captured(known));
    EXPECT_FALSE(collectors.is_good_moment());
}

TEST_P(CollectorsTest, AHeapThatWasCopiedIsCapturedThoughThatMomentIsNotWaitedFor) {
    make_large();
    const auto elsewhere = node.worker.structure().get("heap");
    // Of a fullsweep nothing is known once its old heap may be freed, until the stack has moved.
    process().structure().set("old_heap", std::uint64_t{0}).set("gen_gcs", std::uint64_t{1});
    auto collectors = Collectors::open(fresh()).value();
    EXPECT_FALSE(collectors.can_be_captured(known));
    for (const auto* const field : {"high_water", "stop"}) {
        const auto before = process().structure().get(field);
        process().structure().set(field, elsewhere);
        EXPECT_TRUE(collectors.can_be_captured(known)) << field;
        EXPECT_FALSE(collectors.is_good_moment()) << field;
        EXPECT_FALSE(collectors.is_good_moment()) << field;
        process().structure().set(field, before);
    }
}

TEST_P(CollectorsTest, ALargeProcessThatRunsIsCapturedWhereItsStateIsKnown) {
    make_large();
    auto collectors = Collectors::open(fresh()).value();
    const auto running = node.vm.constant("state_running");
    const auto collecting_itself = running | node.vm.constant("state_gc");
    for (const auto state : {running, collecting_itself}) {
        process().structure().set("state", state);
        EXPECT_FALSE(collectors.can_be_captured(known)) << state;
    }
    auto state = YieldState::State{};
    known.know(process().address(), state);
    EXPECT_FALSE(collectors.can_be_captured(known)) << "not the words of the call";
    process().structure().set("state", running);
    EXPECT_TRUE(collectors.can_be_captured(known));
    state.collection_words = 1;
    known.know(process().address(), state);
    process().structure().set("state", collecting_itself);
    EXPECT_TRUE(collectors.can_be_captured(known));
    // A small one is not waited for.
    known.forget();
    process().structure().set("heap_sz", 233);
    EXPECT_TRUE(collectors.can_be_captured(known));
}

TEST_P(CollectorsTest, NothingOfAProcessThatDoesNotCollectIsMoved) {
    process().structure().set("state", node.vm.constant("state_dirty_running_sys"));
    const auto object = process().build({kTupleOfTwo, node.vm.small(1), node.vm.small(2)});
    EXPECT_THAT(between(with({object, kTupleOfTwo})), IsEmpty());
}

BEAMDUMP_FOR_EACH_LAYOUT(CollectorsTest);

}  // namespace
}  // namespace beamdump::beam
