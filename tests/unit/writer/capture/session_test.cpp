#include "capture/modes/at_rest.h"
#include "capture/modes/live.h"
#include "capture/modes/process_retrier.h"
#include "captured.h"
#include "fake_vm/each_layout.h"
#include "fake_vm/fake_carrier.h"
#include "fake_vm/fake_queue.h"
#include "fake_vm/fake_relations.h"

#include <gmock/gmock.h>

namespace beamdump::capture {
namespace {

using namespace beamdump::test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SessionTest : public EachLayout {
  protected:
    /// The whole capture of a node that does not move. An error is of any of its steps.
    Result<CaptureReport> capture(CaptureOptions options = {}) {
        capture_.emplace(node.vm, std::move(options));
        if (auto done = capture_->begin(); !done) {
            return std::unexpected(done.error());
        }
        auto& session = capture_->session();
        if (auto done = session.node_facts(records::MEMORY_SOURCE_CORE, Session::never); !done) {
            return std::unexpected(done.error());
        }
        if (auto done = capture_at_rest(session, LeftOver::kListed, nullptr); !done) {
            return std::unexpected(done.error());
        }
        return session.finish();
    }
    Captured dump() { return Captured(capture_->content()); }
    std::uint64_t owner(const FakeProcess& process) {
        return beam::PidWords::resolve(layout, FakeVm::kSlots)->owner_id(process.pid()).value();
    }
    /// What became of a process, in a whole capture.
    records::ProcessEnd end_of(const FakeProcess& process) {
        auto report = capture();
        EXPECT_TRUE(report) << report.error().message;
        return dump().end_of(owner(process)).value();
    }

    StandardNode node{layout};
    std::optional<FakeCapture> capture_;
};

std::string numbers(int count) {
    std::string text;
    for (int number = 0; number < count; ++number) {
        text += std::to_string(10000 + number);
    }
    return text;
}

TEST_P(SessionTest, KeepsThePartsThatSubBinariesShow) {
    const auto text = numbers(200);
    const auto whole = node.vm.add_binary(text);
    node.worker.binary(whole, text.size());
    for (const std::uint64_t first : {0U, 50U, 500U, 505U, 990U}) {
        node.worker.part(whole, first, 20);
    }
    node.auth.binary(whole, text.size());
    node.auth.part(whole, 800, 10);
    // Without an end inside the binary: what only looks like a part.
    node.auth.part(whole, 995, 20);
    CaptureOptions options;
    options.binary_bytes = 64;
    const auto report = capture(options);
    ASSERT_TRUE(report) << report.error().message;
    std::optional<records::Binary> last;
    std::uint64_t captured = 0;
    for (const auto& page : dump().all<records::Binaries>(format::RecordKind::kBinaries)) {
        for (const auto& binary : page.binary()) {
            if (binary.address() == whole) {
                last = binary;
            } else {
                captured += binary.prefix().size();
            }
        }
    }
    ASSERT_TRUE(last);
    EXPECT_EQ(last->prefix(), text.substr(0, 64));
    std::vector<std::pair<std::uint64_t, std::string>> parts;
    for (const auto& part : last->part()) {
        parts.emplace_back(part.first_byte(), part.content());
    }
    const auto expected = [&](std::uint64_t first, std::size_t bytes) {
        return std::pair(first, text.substr(first, bytes));
    };
    EXPECT_THAT(parts, ElementsAre(expected(64, 6), expected(500, 25), expected(800, 10),
                                   expected(990, 10)));
    EXPECT_EQ(report->totals.binary_bytes_captured(), captured + 64 + 51);
}

TEST_P(SessionTest, WritesTheWholeNode) {
    const auto report = capture();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->node_name, "me@here");
    EXPECT_EQ(report->otp_release, layout.release());
    EXPECT_THAT(report->warnings, ::testing::IsEmpty());
    EXPECT_EQ(report->totals.processes(), 3U);
    EXPECT_EQ(report->totals.modules(), 1U);
    EXPECT_GE(report->totals.binaries(), 2U);
    auto written = dump();
    EXPECT_FALSE(written.reader().damage());
    const auto nodes = written.all<records::Node>(format::RecordKind::kNode);
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].process_limit(), FakeVm::kSlots);
    EXPECT_EQ(nodes[0].dirty_io_schedulers(), 3U);
    EXPECT_EQ(nodes[0].term_scheme(), layout.constant("term_scheme").value());
    EXPECT_EQ(written.all<records::Module>(format::RecordKind::kModule).size(), 1U);
    EXPECT_EQ(written.all<records::Lines>(format::RecordKind::kLines)[0].address_size(), 6);
    EXPECT_EQ(written.all<records::FunEntries>(format::RecordKind::kFunEntries)[0].entry_size(), 1);
    // Of this node only, which is not among its connections.
    const auto connections =
        written.all<records::DistributionEntries>(format::RecordKind::kDistributionEntries);
    ASSERT_EQ(connections.size(), 1U);
    EXPECT_EQ(connections[0].entry_size(), 0);
    const auto messages = written.all<records::Messages>(format::RecordKind::kMessages);
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].entry(0).term_word(), node.vm.atom("hello"));
    EXPECT_THAT(messages[0].entry(1).fragment(0).words(),
                ElementsAre(node.vm.header(1, 0), node.vm.small(9)));
    const auto end = written.end_of(owner(node.worker)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_NONE);
    EXPECT_EQ(end.links(), 1U);
    EXPECT_EQ(end.monitors(), 1U);
    EXPECT_EQ(end.queue_entries(), 2U);
    std::set<std::uint32_t> kinds;
    for (const auto& region : end.directory().region()) {
        kinds.insert(region.kind());
        EXPECT_EQ(region.here(), region.total());
    }
    for (const auto kind :
         {format::RegionKind::kStack, format::RegionKind::kHeap, format::RegionKind::kDictionary}) {
        EXPECT_THAT(kinds, Contains(static_cast<std::uint32_t>(kind)));
    }
    // The worker's heap, words and all.
    auto& structure = node.worker.structure();
    EXPECT_EQ(end.words_captured(), (structure.get("htop") - structure.get("heap")) / 8 +
                                        (structure.get("hend") - structure.get("stop")) / 8 + 3 +
                                        2 + 2);
    EXPECT_THAT(capture_->phases, Contains("processes"));
}

TEST_P(SessionTest, KeepsWhatProcLibStarted) {
    const auto call =
        node.worker.tuple({node.vm.atom("kernel"), node.vm.atom("init"), node.vm.small(1)});
    const auto entry = node.worker.tuple({node.vm.atom("$initial_call"), call});
    node.worker.dictionary({entry});
    for (const bool no_heaps : {false, true}) {
        CaptureOptions options;
        options.no_heaps = no_heaps;
        ASSERT_TRUE(capture(options));
        auto written = dump();
        std::vector<records::Mfa> calls;
        for (const auto& process : written.all<records::Process>(format::RecordKind::kProcess)) {
            if (process.has_translated_initial_call()) {
                EXPECT_EQ(process.owner_id(), owner(node.worker));
                calls.push_back(process.translated_initial_call());
            }
        }
        for (const auto& row : written.reader().trailer().top(0).row()) {
            if (row.has_translated_initial_call()) {
                calls.push_back(row.translated_initial_call());
            }
        }
        ASSERT_EQ(calls.size(), 2U);
        for (const auto& translated : calls) {
            EXPECT_EQ(translated.module_atom(), node.vm.atom_index("kernel"));
            EXPECT_EQ(translated.function_atom(), node.vm.atom_index("init"));
            EXPECT_EQ(translated.arity(), 1U);
        }
    }
}

TEST_P(SessionTest, KeepsNoCookie) {
    node.vm.about.arguments = {"beam.smp", "--", "-setcookie", std::string(kCookie)};
    ASSERT_TRUE(capture());
    auto written = dump();
    std::string atoms;
    for (const auto& page : written.all<records::Atoms>(format::RecordKind::kAtoms)) {
        for (const auto& text : page.text()) {
            atoms += text + "\n";
        }
    }
    EXPECT_THAT(atoms, Not(HasSubstr(std::string(kCookie))));
    EXPECT_THAT(atoms, Not(HasSubstr(std::string(kOtherCookie))));
    EXPECT_THAT(atoms, HasSubstr("<cookie>"));
    const auto arguments = written.all<records::Node>(format::RecordKind::kNode)[0].arguments();
    EXPECT_THAT(arguments, Contains("<cookie>"));
}

TEST_P(SessionTest, SaysWhereCookiesAreUnknown) {
    node.auth.structure().set("htop", node.auth.structure().get("heap"));
    const auto report = capture();
    ASSERT_TRUE(report);
    EXPECT_THAT(report->warnings, Contains(HasSubstr("the heap of the process auth has no state")));
    node.vm.at("DbTableHash", node.auth_table).set("common.owner", node.init.pid());
    StandardNode other(layout);
    other.vm.at("DbTableHash", other.auth_table).set("common.owner", other.init.pid());
    FakeCapture again(other.vm);
    ASSERT_TRUE(again.begin());
    ASSERT_TRUE(again.session().node_facts(records::MEMORY_SOURCE_CORE, Session::never));
    ASSERT_TRUE(capture_at_rest(again.session(), LeftOver::kListed, nullptr));
    EXPECT_THAT(again.session().finish()->warnings,
                Contains(HasSubstr("references no table of its own")));
}

TEST_P(SessionTest, AProcessIsVoidForTheReasonOfItsLastTry) {
    // It collects while it is listed; it was something else that kept it from being captured.
    node.init.structure().set("state", node.vm.constant("state_gc"));
    FakeCapture capture(node.vm);
    ASSERT_TRUE(capture.begin());
    ASSERT_TRUE(capture.session().node_facts(records::MEMORY_SOURCE_CORE, Session::never));
    auto retrier = ProcessRetrier::open(capture.session()).value();
    std::array pending = {Pending{.slot = {node.init.slot(), node.init.address()},
                                  .tries = 4,
                                  .reason = records::VOID_REASON_LIMIT,
                                  .detail = "the stop ended before"}};
    ASSERT_TRUE(retrier.list(pending));
    ASSERT_TRUE(capture.session().finish());
    const auto end = Captured(capture.content()).end_of(owner(node.init)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_LIMIT);
    EXPECT_EQ(end.detail(), "the stop ended before");
}

TEST_P(SessionTest, AProcessIsVoidWhoseCollectionCannotBeFollowedToItsEnd) {
    // Its last copy has no header yet, which is known once the words were read.
    constexpr std::uint64_t kBlockBytes = 4096;
    constexpr std::uint64_t kBoxed = 2;
    const auto eheap = static_cast<std::uint32_t>(node.vm.constant("allocator_heap"));
    const auto carrier = add_carrier_with(node.vm, eheap, 1, std::uint64_t{5} * 16384,
                                          {{kBlockBytes}, {kBlockBytes}, {0}});
    const auto block = carrier + kFirstBlock + kBlockBytes + 8;
    node.init.build({block | kBoxed, node.vm.small(1), node.vm.small(2)});
    node.init.push(block | kBoxed);
    node.init.structure().set(
        "state", node.vm.constant("state_gc") | node.vm.constant("state_dirty_running_sys"));
    ASSERT_TRUE(capture({}));
    const auto end = dump().end_of(owner(node.init)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_COLLECTING);
    EXPECT_THAT(end.detail(), HasSubstr("has no header yet"));
}

TEST_P(SessionTest, LeavesOutWhatIsNotWanted) {
    CaptureOptions options;
    options.processes = {"init"};
    options.no_literals = true;
    ASSERT_TRUE(capture(options));
    EXPECT_EQ(dump().end_of(owner(node.worker))->void_reason(), records::VOID_REASON_LEFT_OUT);
    EXPECT_EQ(dump().end_of(owner(node.init))->void_reason(), records::VOID_REASON_NONE);
    const auto directory =
        dump().all<records::RunDirectory>(format::RecordKind::kRunDirectory).front();
    EXPECT_EQ(directory.region(0).state(),
              static_cast<std::uint32_t>(format::RegionState::kLeftOut));
    options.processes.clear();
    options.no_heaps = true;
    ASSERT_TRUE(capture(options));
    EXPECT_EQ(dump().end_of(owner(node.init))->void_reason(), records::VOID_REASON_LEFT_OUT);
}

TEST_P(SessionTest, StopsCopyingWhereTheOutputIsLimited) {
    CaptureOptions options;
    options.max_bytes = 1;
    ASSERT_TRUE(capture(options));
    for (const auto* process : {&node.init, &node.auth, &node.worker}) {
        EXPECT_EQ(dump().end_of(owner(*process))->void_reason(), records::VOID_REASON_LIMIT);
    }
}

TEST_P(SessionTest, GivesUpOnTornProcessesAlone) {
    auto& structure = node.worker.structure();
    // An endless queue.
    auto ring = add_message(node.vm, node.worker, FakeQueue::kInner, node.vm.small(1));
    ring.set("next", ring.address());
    auto end = end_of(node.worker);
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_THAT(end.detail(), HasSubstr("does not end"));
    EXPECT_EQ(dump().end_of(owner(node.init))->void_reason(), records::VOID_REASON_NONE);
    ring.set("next", 0);
    EXPECT_EQ(end_of(node.worker).void_reason(), records::VOID_REASON_NONE);
    // An off-heap list that leads into itself: more members than the heap has room for.
    auto first = node.vm.at("OffHeapHeader", structure.get("off_heap.first"));
    const auto next = first.get("next");
    first.set("next", first.address());
    EXPECT_EQ(end_of(node.worker).void_reason(), records::VOID_REASON_IMPLAUSIBLE);
    first.set("next", kNowhere);
    EXPECT_EQ(end_of(node.worker).void_reason(), records::VOID_REASON_UNREADABLE);
    first.set("next", next);
    // A link to nowhere, and a heap that ends before it should.
    auto link = node.vm.at("ErtsMonLnkNode", structure.get("common.links"));
    const auto left = link.get("tree.left");
    link.set("tree.left", kNowhere);
    EXPECT_EQ(end_of(node.worker).void_reason(), records::VOID_REASON_UNREADABLE);
    link.set("tree.left", left);
    structure.set("old_heap", node.vm.heap.range().end - 8)
        .set("old_htop", node.vm.heap.range().end + 8)
        .set("old_hend", node.vm.heap.range().end + 8);
    end = end_of(node.worker);
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_UNREADABLE);
    EXPECT_THAT(end.detail(), HasSubstr("could not be read to its end"));
}

TEST_P(SessionTest, CountsSlotsThatHoldNoProcess) {
    node.vm.put_slot(50, node.worker.address());
    const auto report = capture();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->totals.processes(), 3U);
    EXPECT_THAT(report->warnings, Contains(HasSubstr("1 slots of the process table")));
}

TEST_P(SessionTest, EndsWhereTheNodeOrItsTablesAreGone) {
    capture_.emplace(node.vm);
    ASSERT_TRUE(capture_->begin());
    node.vm.at("Hash", node.vm.globals().nodes).set("bucket", kNowhere);
    const auto tables = capture_->session().node_facts(records::MEMORY_SOURCE_CORE, Session::never);
    EXPECT_THAT(tables.error().message, HasSubstr("node table"));
    node.vm.memory.die();
    EXPECT_FALSE(capture_->session().node_facts(records::MEMORY_SOURCE_CORE, Session::never));
    capture_->cancelled = true;
    EXPECT_THAT(capture_->session().checkpoint("x", 0, 1).error().message,
                HasSubstr("interrupted"));
}

TEST_P(SessionTest, ReadsTablesAgainThatChangeMeanwhile) {
    capture_.emplace(node.vm);
    ASSERT_TRUE(capture_->begin());
    auto hash = node.vm.at("Hash", node.vm.globals().nodes);
    const auto bucket = hash.get("bucket");
    hash.set("bucket", kNowhere);
    // Whole again once the reader has met the pointer to nowhere.
    node.vm.memory.before_read([&](memory::AddressRange read) {
        if (read.begin / kLeastPageBytes == kNowhere / kLeastPageBytes) {
            hash.set("bucket", bucket);
        }
    });
    EXPECT_TRUE(capture_->session().node_facts(records::MEMORY_SOURCE_LIVE, Session::always));
}

TEST_P(SessionTest, WritesWhatTheNodeGotMeanwhile) {
    capture_.emplace(node.vm);
    ASSERT_TRUE(capture_->begin());
    auto& session = capture_->session();
    ASSERT_TRUE(session.node_facts(records::MEMORY_SOURCE_LIVE, Session::always));
    node.vm.add_module("loaded_later", {"f"});
    node.vm.add_export(node.code, "exported_later", 3);
    ASSERT_TRUE(session.node_growth());
    const auto report = session.finish().value();
    EXPECT_EQ(report.totals.modules(), 2U);
    const auto exports = dump().all<records::Exports>(format::RecordKind::kExports);
    ASSERT_EQ(exports.size(), 2U);
    EXPECT_EQ(exports[1].function_atom(0), node.vm.atom_index("exported_later"));
}

class Live : public SessionTest {
  protected:
    void SetUp() override {
        capture_.emplace(node.vm);
        ASSERT_TRUE(capture_->begin());
        ASSERT_TRUE(capture_->session().node_facts(records::MEMORY_SOURCE_LIVE, Session::always));
        tries_.emplace(ProcessRetrier::open(capture_->session()).value());
    }
    Session& session() { return capture_->session(); }
    std::vector<Pending> once() { return capture_live(session(), *tries_).value(); }
    Captured finished() {
        EXPECT_TRUE(session().finish());
        return dump();
    }
    std::optional<ProcessRetrier> tries_;
};

TEST_P(Live, TakesWhatHoldsStill) {
    EXPECT_TRUE(once().empty());
    auto written = finished();
    EXPECT_EQ(written.end_of(owner(node.worker))->void_reason(), records::VOID_REASON_NONE);
    EXPECT_EQ(written.reader().trailer().totals().processes(), 3U);
}

TEST_P(Live, ListsWhatNeverDoes) {
    node.worker.structure().set("state", node.vm.constant("state_running"));
    auto pending = once();
    ASSERT_EQ(pending.size(), 1U);
    EXPECT_EQ(pending[0].reason, records::VOID_REASON_RUNNING);
    ASSERT_TRUE(try_again(session(), *tries_, pending, 1));
    ASSERT_EQ(pending.size(), 1U);
    EXPECT_EQ(pending[0].tries, 2U);
    EXPECT_TRUE(tries_->size(pending[0]).value());
    ASSERT_TRUE(tries_->list(pending));
    const auto end = finished().end_of(owner(node.worker)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_RUNNING);
    EXPECT_EQ(end.words_captured(), 0U);
}

TEST_P(Live, TellsWhichProcessRunsWithoutAPause) {
    node.worker.structure().set("state", node.vm.constant("state_running"));
    auto pending = once();
    ASSERT_EQ(pending.size(), 1U);
    ASSERT_TRUE(tries_->list(pending));
    const auto end = finished().end_of(owner(node.worker)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_RUNNING);
    EXPECT_THAT(end.detail(),
                ::testing::MatchesRegex("it ran without a pause for at least [3-9][0-9][0-9] ms"));
}

TEST_P(Live, SaysNothingOfAProcessThatPausedOrCollects) {
    for (const auto* const becomes : {"state_running", "state_gc"}) {
        node.worker.structure().set("state", node.vm.constant("state_running"));
        auto pending = once();
        ASSERT_EQ(pending.size(), 1U);
        node.worker.structure().set("state", node.vm.constant(becomes));
        node.worker.structure().set("reds", node.worker.structure().get("reds") + 4000);
        ASSERT_TRUE(tries_->list(pending));
        EXPECT_EQ(pending[0].detail, "");
    }
}

TEST_P(Live, TakesNoCopyOfAProcessThatMovedMeanwhile) {
    // It runs between the reading of its structure and the end of the copy: of the one together
    // with other processes, and of the one alone.
    const auto heap = node.worker.structure().get("heap");
    std::uint64_t reads = 0;
    node.vm.memory.before_read([&](memory::AddressRange read) {
        if (read.contains(heap)) {
            node.worker.structure().set("reds", 999 + ++reads);
        }
    });
    auto pending = once();
    node.vm.memory.before_read(nullptr);
    EXPECT_EQ(reads, 2U);
    ASSERT_EQ(pending.size(), 1U);
    EXPECT_EQ(pending[0].reason, records::VOID_REASON_CHANGED);
    ASSERT_TRUE(try_again(session(), *tries_, pending, 1));
    EXPECT_TRUE(pending.empty());
    const auto end = finished().end_of(owner(node.worker)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_NONE);
    EXPECT_EQ(end.attempt(), 2U);
}

TEST_P(Live, TriesAloneWhatChangedWhileItWasReadTogetherWithOthers) {
    const auto heap = node.worker.structure().get("heap");
    int reads = 0;
    node.vm.memory.before_read([&](memory::AddressRange read) {
        if (read.contains(heap) && ++reads == 1) {
            node.worker.structure().set("reds", 999);
        }
    });
    EXPECT_TRUE(once().empty());
    node.vm.memory.before_read(nullptr);
    EXPECT_EQ(reads, 2);
    const auto end = finished().end_of(owner(node.worker)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_NONE);
    EXPECT_EQ(end.attempt(), 1U);
}

TEST_P(Live, LooksAgainWhereMoreIsReadThanWhatWasReadTogether) {
    // It runs when its first message is read, which is behind the last common reading.
    const auto message = node.worker.structure().get("sig_qs.first");
    ASSERT_NE(message, 0U);
    int reads = 0;
    node.vm.memory.before_read([&](memory::AddressRange read) {
        if (read.contains(message) && ++reads == 1) {
            node.worker.structure().set("reds", 999);
        }
    });
    EXPECT_TRUE(once().empty());
    node.vm.memory.before_read(nullptr);
    EXPECT_GE(reads, 2);
    const auto end = finished().end_of(owner(node.worker)).value();
    EXPECT_EQ(end.void_reason(), records::VOID_REASON_NONE);
    EXPECT_EQ(end.attempt(), 2U);
}

TEST_P(Live, ForgetsProcessesThatEnded) {
    node.worker.structure().set("state", node.vm.constant("state_gc"));
    auto pending = once();
    ASSERT_EQ(pending.size(), 1U);
    node.vm.put_slot(node.worker.slot(), 0);
    ASSERT_TRUE(try_again(session(), *tries_, pending, 1));
    EXPECT_TRUE(pending.empty());
    EXPECT_FALSE(finished().end_of(owner(node.worker)));
}

TEST_P(Live, EndsWithTheNode) {
    node.vm.memory.die();
    EXPECT_EQ(capture_live(session(), *tries_).error().code, ErrorCode::kTargetDied);
    std::vector<Pending> pending = {{{3, node.worker.address()}, 1, {}}};
    EXPECT_FALSE(try_again(session(), *tries_, pending, 1));
    EXPECT_FALSE(tries_->list(pending));
    EXPECT_FALSE(tries_->size(pending[0]));
}

BEAMDUMP_FOR_EACH_LAYOUT(SessionTest);
BEAMDUMP_FOR_EACH_LAYOUT(Live);

}  // namespace
}  // namespace beamdump::capture
