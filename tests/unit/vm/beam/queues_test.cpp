#include "fake_vm/each_layout.h"
#include "fake_vm/fake_queue.h"

#include <libvm/beam/processes/messages.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kEnough = 1000;

class Queues : public OnStandardNode {
  protected:
    Result<std::vector<QueueEntry>> walk(const FakeProcess& process,
                                         std::uint64_t limit = kEnough) {
        const auto where = view(process);
        auto walker = MessageWalker::open(*vm).value();
        std::vector<QueueEntry> entries;
        auto done = walker.walk(where, limit, [&](QueueEntry& entry) {
            entries.push_back(entry);
            return Result<void>();
        });
        return done ? Result<std::vector<QueueEntry>>(std::move(entries))
                    : std::unexpected(done.error());
    }
    /// The terms of the messages of a process without any before.
    std::vector<std::uint64_t> terms() {
        const auto entries = walk(node.init).value();
        std::vector<std::uint64_t> words;
        for (const auto& entry : entries) {
            words.push_back(entry.message.term_word());
        }
        return words;
    }
    QueueLengths lengths(const FakeProcess& process) {
        LayoutNames names(layout);
        const auto bytes = process.bytes();
        return QueueCounter(names).count(fresh(), StructView(bytes));
    }
    std::uint64_t number(std::int64_t value) { return node.vm.small(value); }
};

TEST_P(Queues, AreWalkedFromTheInnerToTheOuter) {
    add_message(node.vm, node.init, FakeQueue::kOuter, number(5));
    add_message(node.vm, node.init, FakeQueue::kMiddle, number(3));
    add_message(node.vm, node.init, FakeQueue::kInner, number(1));
    add_message(node.vm, node.init, FakeQueue::kInner, number(2));
    add_message(node.vm, node.init, FakeQueue::kMiddle, number(4));
    // From OTP 25 on there are parallel buffers (erl_proc_sig_queue.h).
    const bool buffered = node.vm.has("ErtsSignalInQueueBuffer");
    if (buffered) {
        const auto buffers = add_buffers(node.vm, node.init);
        add_buffered_message(node.vm, buffer_of(node.vm, buffers, 63), number(7));
        add_buffered_message(node.vm, buffer_of(node.vm, buffers, 2), number(6));
    }
    std::vector<std::uint64_t> expected;
    for (std::int64_t value = 1; value <= (buffered ? 7 : 5); ++value) {
        expected.push_back(number(value));
    }
    EXPECT_THAT(terms(), ElementsAreArray(expected));
    const auto entries = walk(node.init).value();
    EXPECT_EQ(entries[0].message.queue(), records::QUEUE_KIND_INNER);
    EXPECT_EQ(entries[2].message.queue(), records::QUEUE_KIND_MIDDLE);
    EXPECT_EQ(entries[4].message.queue(), records::QUEUE_KIND_OUTER);
    EXPECT_EQ(entries.back().message.queue(),
              buffered ? records::QUEUE_KIND_BUFFER : records::QUEUE_KIND_OUTER);
    EXPECT_EQ(entries[0].message.token_word(), node.vm.constant("nil"));
    EXPECT_EQ(entries[0].message.from_word(), node.init.pid());
    EXPECT_EQ(entries[0].bytes, node.vm.bytes("ErtsMessage"));
    const auto counted = lengths(node.init);
    EXPECT_EQ(counted.own, 4U);
    EXPECT_EQ(counted.outer, 1U);
    EXPECT_EQ(counted.buffered, buffered ? 2U : 0U);
    EXPECT_EQ(counted.all(), expected.size());
    EXPECT_EQ(view(node.init).facts.buffered_queue_length(), buffered ? 2U : 0U);
}

TEST_P(Queues, TheOuterOneEndsWhereTheStructureSaid) {
    add_message(node.vm, node.init, FakeQueue::kOuter, number(1));
    const auto last = node.init.structure().get("sig_inq.last");
    auto later = add_message(node.vm, node.init, FakeQueue::kOuter, number(2));
    node.init.structure().set("sig_inq.last", last);
    later.set("next", kNowhere);
    EXPECT_THAT(terms(), ElementsAre(number(1)));
}

TEST_P(Queues, ThatDoNotEndAreImplausible) {
    add_message(node.vm, node.init, FakeQueue::kInner, number(1));
    auto ring = add_message(node.vm, node.init, FakeQueue::kInner, number(2));
    ring.set("next", ring.address());
    const auto endless = walk(node.init);
    EXPECT_EQ(endless.error().code, ErrorCode::kImplausible);
    EXPECT_THAT(endless.error().message, HasSubstr("does not end"));
    ring.set("next", kNowhere);
    EXPECT_EQ(walk(node.init).error().code, ErrorCode::kUnmapped);
    ring.set("next", 0);
    EXPECT_TRUE(walk(node.init, 2));
    EXPECT_FALSE(walk(node.init, 1));
}

TEST_P(Queues, MessagesHaveTheirTermsInFragments) {
    auto second = make_fragment(node.vm, {7, 8, 9});
    auto first = make_fragment(node.vm, {1, 2});
    first.set("next", second.address());
    add_message(node.vm, node.init, FakeQueue::kInner, first.at("mem") | kBoxed, first.address());
    add_combined_message(node.vm, node.init, FakeQueue::kInner, {4, 5, 6, 7});
    const auto entries = walk(node.init).value();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].message.kind(), records::MESSAGE_KIND_FRAGMENT);
    ASSERT_EQ(entries[0].fragments.size(), 2U);
    EXPECT_EQ(entries[0].fragments[0].words_begin, first.at("mem"));
    EXPECT_EQ(entries[0].fragments[1].used_words, 3U);
    EXPECT_EQ(entries[0].bytes, node.vm.bytes("ErtsMessage") + 5 * 8);
    EXPECT_EQ(entries[1].message.kind(), records::MESSAGE_KIND_COMBINED);
    ASSERT_EQ(entries[1].fragments.size(), 1U);
    EXPECT_EQ(entries[1].fragments[0].used_words, 4U);
}

TEST_P(Queues, FragmentsThatLieAreImplausible) {
    auto fragment = make_fragment(node.vm, {1, 2});
    add_message(node.vm, node.init, FakeQueue::kInner, number(1), fragment.address());
    fragment.set("used_size", 3);
    EXPECT_THAT(walk(node.init).error().message, HasSubstr("3 words used of 2"));
    fragment.set("used_size", 2).set("alloc_size", std::uint64_t{1} << 41U);
    EXPECT_EQ(walk(node.init).error().code, ErrorCode::kImplausible);
    fragment.set("alloc_size", 2).set("next", fragment.address());
    EXPECT_THAT(walk(node.init).error().message, HasSubstr("does not end"));
    fragment.set("next", kNowhere);
    EXPECT_EQ(walk(node.init).error().code, ErrorCode::kUnmapped);
}

TEST_P(Queues, HaveSignalsAndMarkersBetweenMessages) {
    auto& fake = node.vm;
    constexpr std::uint64_t kOtherOperation = 3;
    constexpr std::uint64_t kOtherType = 2;
    add_signal(fake, node.init, FakeQueue::kInner, fake.constant("signal_op_receive_mark"), 0);
    add_signal(fake, node.init, FakeQueue::kInner, kOtherOperation, kOtherType);
    add_signal(fake, node.init, FakeQueue::kInner, kOtherOperation,
               fake.constant("signal_type_generic_exit"));
    add_signal(fake, node.init, FakeQueue::kInner, kOtherOperation,
               fake.constant("signal_type_off_heap"));
    const auto entries = walk(node.init).value();
    ASSERT_EQ(entries.size(), 4U);
    EXPECT_EQ(entries[0].message.kind(), records::MESSAGE_KIND_RECEIVE_MARKER);
    EXPECT_EQ(entries[0].bytes, fake.bytes("ErtsRecvMarker"));
    EXPECT_EQ(entries[1].message.kind(), records::MESSAGE_KIND_SIGNAL);
    EXPECT_THAT(entries[1].fragments, IsEmpty());
    EXPECT_EQ(entries[2].fragments.size(), 1U);
    EXPECT_EQ(entries[3].fragments.size(), 1U);
    EXPECT_NE(entries[3].message.signal_tag(), 0U);
}

TEST_P(Queues, UndecodedMessagesHaveTheirPartsAndAtoms) {
    const auto atom = node.vm.atom("hello");
    add_external_message(node.vm, node.init, FakeQueue::kInner, {"first", "second"}, {atom, atom});
    const auto entries = walk(node.init).value();
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].message.kind(), records::MESSAGE_KIND_EXTERNAL);
    const auto& external = entries[0].message.external();
    EXPECT_EQ(external.fragments(), 2U);
    EXPECT_EQ(external.total_bytes(), 11U);
    EXPECT_THAT(external.atom(),
                ElementsAre(node.vm.atom_index("hello"), node.vm.atom_index("hello")));
    ASSERT_EQ(entries[0].external.size(), 2U);
    EXPECT_EQ(entries[0].external[1].end - entries[0].external[1].begin, 6U);
}

TEST_P(Queues, UndecodedMessagesThatLieAreRefused) {
    auto message = add_external_message(node.vm, node.init, FakeQueue::kInner, {"part"}, {});
    EXPECT_EQ(walk(node.init)->front().message.external().atom_size(), 0);
    auto fragment = node.vm.at("ErlHeapFragment", message.get("data"));
    auto external = node.vm.at("ErtsDistExternal", fragment.at("mem"));
    auto data = node.vm.at("ErtsDistExternalData", external.get("data"));
    const auto end = data.get("ext_endp");
    data.set("ext_endp", data.get("extp") - 1);
    EXPECT_THAT(walk(node.init).error().message, HasSubstr("part 0 of 1"));
    data.set("ext_endp", end).set("frag_id", std::uint64_t{1} << 40U);
    EXPECT_FALSE(walk(node.init));
    external.set("data", kNowhere);
    EXPECT_EQ(walk(node.init).error().code, ErrorCode::kUnmapped);
    message.set("data", 0);
    EXPECT_THAT(walk(node.init).error().message, HasSubstr("without data"));
}

TEST_P(Queues, ReceivedMessagesKeepTheirFragments) {
    auto first = node.vm.make("ErtsMessage");
    auto second = node.vm.make("ErtsMessage");
    first.set("data", make_fragment(node.vm, {1}).address()).set("next", second.address());
    second.set("data", make_fragment(node.vm, {2, 3}).address());
    node.init.structure().set("msg_frag", first.address());
    std::vector<std::uint64_t> words;
    const auto received = [&](std::uint64_t limit) {
        const auto process = view(node.init);
        words.clear();
        return MessageWalker::open(*vm)->received(process.msg_frag, limit,
                                                  [&](const Fragment& fragment) {
                                                      words.push_back(fragment.used_words);
                                                      return Result<void>();
                                                  });
    };
    EXPECT_TRUE(received(kEnough));
    EXPECT_THAT(words, ElementsAre(1U, 2U));
    second.set("next", first.address());
    EXPECT_THAT(received(kEnough).error().message, HasSubstr("does not end"));
    second.set("next", kNowhere);
    EXPECT_EQ(received(kEnough).error().code, ErrorCode::kUnmapped);
}

TEST_P(Queues, VisitorsCanEndAWalk) {
    const auto process = view(node.worker);
    auto walker = MessageWalker::open(*vm).value();
    int visited = 0;
    const auto done = walker.walk(process, kEnough, [&](QueueEntry&) -> Result<void> {
        ++visited;
        return fail(ErrorCode::kIo, "enough");
    });
    EXPECT_EQ(done.error().code, ErrorCode::kIo);
    EXPECT_EQ(visited, 1);
}

TEST_P(Queues, LengthsAreUnknownWhereARequestIsOnItsWay) {
    auto& structure = node.init.structure();
    structure.set(structure.has("sig_inq.len") ? "sig_inq.len" : "sig_inq.mlenoffs",
                  ~std::uint64_t{0});
    EXPECT_FALSE(lengths(node.init).outer);
    EXPECT_FALSE(lengths(node.init).all());
    EXPECT_TRUE(lengths(node.init).own);
    EXPECT_EQ(lengths(node.init).buffered, 0U);
    if (structure.has("sig_inq_buffers")) {
        structure.set("sig_inq_buffers", kNowhere);
        EXPECT_FALSE(lengths(node.init).buffered);
    }
}

TEST_P(Queues, SignalsCountTheMessagesBeforeThem) {
    auto& structure = node.init.structure();
    if (!structure.has("sig_qs.mlenoffs")) {
        // Queues of this release count themselves.
        EXPECT_TRUE(structure.has("sig_qs.len"));
        return;
    }
    structure.set("sig_qs.mq_len", 1).set("sig_qs.mlenoffs", 2);
    auto first = count_before_signals(node.vm, structure, "sig_qs", {10, 20});
    count_before_signals(node.vm, structure, "sig_inq", {5});
    const auto buffers = add_buffers(node.vm, node.init);
    count_before_signals(node.vm, buffer_of(node.vm, buffers, 1), "queue", {100});
    EXPECT_EQ(lengths(node.init).own, 33U);
    EXPECT_EQ(lengths(node.init).outer, 5U);
    EXPECT_EQ(lengths(node.init).buffered, 100U);
    // A ring, a signal that is not there, a last one that is never reached.
    const auto next = first.get("specific.next");
    first.set("specific.next", structure.get("sig_qs.nmsigs.next"));
    EXPECT_FALSE(lengths(node.init).own);
    first.set("specific.next", kNowhere);
    EXPECT_FALSE(lengths(node.init).own);
    first.set("specific.next", 0);
    EXPECT_FALSE(lengths(node.init).own);
    first.set("specific.next", next).set("mlenoffs", ~std::uint64_t{0});
    EXPECT_FALSE(lengths(node.init).own);
    EXPECT_EQ(lengths(node.init).outer, 5U);
}

BEAMDUMP_FOR_EACH_LAYOUT(Queues);

}  // namespace
}  // namespace beamdump::beam
