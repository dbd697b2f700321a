#include "support/fake_memory.h"

#include <libvm/beam/processes/process_proof.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <builtin_layouts.h>
#include <map>
#include <set>

namespace beamdump::beam {
namespace {

using beamdump::test::FakeMemory;

constexpr Address kProcess = 0x10000;

/// A process structure of zeros, in a layout of OTP 25.
class ProcessProofTest : public ::testing::Test {
  protected:
    ProcessProofTest()
        : layout_(Layout::parse(builtin_layouts()[0].json).value()),
          names_(layout_),
          proof_(ProcessProof::open(layout_, fake_).value()) {
        fake_.add("process", kProcess, names_.bytes(StructName{"Process"}));
    }

    ProcessReading reading() {
        ProcessReading result;
        EXPECT_TRUE(proof_.read(kProcess, result).value());
        return result;
    }
    void put(std::string_view name, std::uint64_t value) {
        const auto field = names_.field(FieldName{"Process", name});
        const auto bytes = std::as_bytes(std::span(&value, 1)).first(field.bytes);
        fake_.put_bytes(kProcess + field.offset, bytes);
    }
    /// What is said of a process of which that field changed between two readings.
    records::VoidReason after(std::string_view name, std::uint64_t value) {
        put(name, 0);
        const auto before = reading();
        put(name, value);
        const auto reason = proof_.changed(before, reading());
        put(name, 0);
        return reason;
    }

    FakeMemory fake_;
    Layout layout_;
    LayoutNames names_;
    ProcessProof proof_;
};

TEST_F(ProcessProofTest, NothingChangedIsProven) {
    const auto before = reading();
    EXPECT_EQ(proof_.busy(before), records::VOID_REASON_NONE);
    EXPECT_EQ(proof_.changed(before, reading()), records::VOID_REASON_NONE);
}

/// A process whose heap is copied in two halves; between them the process replaces all of its
/// words, and one field of its structure changes.
class TornCopy {
  public:
    explicit TornCopy(const Layout& layout) : layout_(layout) {
        fake_.add("process", kProcess, LayoutNames(layout).bytes(StructName{"Process"}));
        fake_.add_words("heap", kHeap, {kOld, kOld});
    }

    /// What the proof that watches these fields says of the copy.
    records::VoidReason proven(std::vector<Field> watched, Field changed) {
        auto proof = ProcessProof::open(layout_, fake_, std::move(watched)).value();
        ProcessReading before;
        ProcessReading after;
        put(changed, 0);
        fake_.put(kHeap, kOld);
        fake_.put(kHeap + 8, kOld);
        EXPECT_TRUE(proof.read(kProcess, before).value());
        const auto first = fake_.word(kHeap).value();
        fake_.put(kHeap, kNew);
        fake_.put(kHeap + 8, kNew);
        put(changed, 8);
        const auto second = fake_.word(kHeap + 8).value();
        EXPECT_NE(first, second) << "the copy is not torn";
        EXPECT_TRUE(proof.read(kProcess, after).value());
        put(changed, 0);
        return proof.changed(before, after);
    }

  private:
    static constexpr Address kHeap = 0x20000;
    static constexpr std::uint64_t kOld = 1;
    static constexpr std::uint64_t kNew = 2;

    void put(Field field, std::uint64_t value) {
        fake_.put_bytes(kProcess + field.offset,
                        std::as_bytes(std::span(&value, 1)).first(field.bytes));
    }

    const Layout& layout_;
    FakeMemory fake_;
};

TEST(ProcessProof, ATornCopyPassesWithoutAWatchedField) {
    for (const auto& builtin : builtin_layouts()) {
        const auto layout = Layout::parse(builtin.json).value();
        const auto watched = ProcessProof::watched_fields(layout).value();
        TornCopy copy(layout);
        for (std::size_t i = 0; i < watched.size(); ++i) {
            auto fewer = watched;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
            EXPECT_EQ(copy.proven(watched, watched[i]), records::VOID_REASON_CHANGED)
                << layout.name() << ", field at " << watched[i].offset;
            EXPECT_EQ(copy.proven(fewer, watched[i]), records::VOID_REASON_NONE)
                << layout.name() << ", field at " << watched[i].offset;
        }
    }
}

/// Fields that need not be watched (erl_process.h of OTP 25, 27 and 29), by the reason.
const std::map<std::string, std::set<std::string>> kUnwatched = {
    {"looked at by itself, as what makes a process busy", {"state", "lock.flags"}},
    {"others write there while the process rests; its own words do not move",
     {"sig_inq.first", "sig_inq.last", "sig_inq.len", "sig_inq.mlenoffs", "sig_inq.nmsigs.last",
      "sig_inq.nmsigs.next", "rcount", "common.trace_flags"}},
    {"changes only while the process runs, which moves its reductions",
     {"current", "def_arg_reg", "flags", "freason", "ftrace", "fvalue", "group_leader",
      "high_water", "return_trace_frames", "seq_trace_token", "sig_qs.flags", "sig_qs.mlenoffs",
      "sig_qs.nmsigs.last", "sig_qs.nmsigs.next", "common.reg"}},
    {"a number that leads to no term",
     {"bin_old_vheap", "bin_old_vheap_sz", "bin_vheap_sz", "off_heap.overhead", "max_gen_gcs",
      "max_heap_size", "min_heap_size", "min_vheap_size", "common.started_interval", "uniq"}},
    {"is set once, when the process is made", {"parent", "u.initial"}}};

TEST(ProcessProof, EachFieldOfALayoutIsWatchedOrHasAReason) {
    for (const auto& builtin : builtin_layouts()) {
        const auto layout = Layout::parse(builtin.json).value();
        const auto fields = ProcessProof::watched_fields(layout).value();
        std::set<std::uint32_t> watched;
        for (const auto& field : fields) {
            watched.insert(field.offset);
        }
        const auto* process = layout.structure("Process").value();
        for (const auto& [name, field] : process->fields) {
            const auto reasons = std::ranges::count_if(
                kUnwatched, [&](const auto& entry) { return entry.second.contains(name); });
            EXPECT_EQ(reasons, watched.contains(field.offset) ? 0 : 1)
                << layout.name() << ' ' << name;
        }
    }
}

TEST_F(ProcessProofTest, AllowsWhatOtherProcessesMayChange) {
    EXPECT_EQ(after("sig_inq.len", 3), records::VOID_REASON_NONE);
    EXPECT_EQ(after("sig_inq.first", 0x5000), records::VOID_REASON_NONE);
    EXPECT_EQ(after("state", names_.constant(ConstantName{"state_active"})),
              records::VOID_REASON_NONE);
    EXPECT_EQ(after("state", names_.constant(ConstantName{"state_suspended"})),
              records::VOID_REASON_NONE);
}

TEST_F(ProcessProofTest, WhoeverRunsOrIsWrittenToIsBusy) {
    for (const auto* state : {"state_running", "state_running_sys", "state_dirty_running_sys"}) {
        EXPECT_EQ(after("state", names_.constant(ConstantName{state})),
                  records::VOID_REASON_RUNNING)
            << state;
    }
    EXPECT_EQ(after("state", names_.constant(ConstantName{"state_gc"})),
              records::VOID_REASON_COLLECTING);
    EXPECT_EQ(after("state", names_.constant(ConstantName{"state_exiting"})),
              records::VOID_REASON_EXITING);
    EXPECT_EQ(after("state", names_.constant(ConstantName{"state_free"})),
              records::VOID_REASON_EXITING);
    EXPECT_EQ(after("lock.flags", names_.constant(ConstantName{"lock_main"})),
              records::VOID_REASON_LOCKED);
}

TEST_F(ProcessProofTest, OnADirtySchedulerOnlyTheLockMatters) {
    const auto dirty = names_.constant(ConstantName{"state_dirty_running"});
    EXPECT_EQ(after("state", dirty), records::VOID_REASON_NONE);
    put("state", dirty);
    EXPECT_EQ(after("lock.flags", names_.constant(ConstantName{"lock_main"})),
              records::VOID_REASON_LOCKED);
    EXPECT_EQ(after("htop", 8), records::VOID_REASON_CHANGED);
}

TEST_F(ProcessProofTest, TheLockIsReadAfterTheTops) {
    auto reading_with = reading();
    EXPECT_EQ(proof_.busy(reading_with), records::VOID_REASON_NONE);
    // A sender took the lock after its word was copied with the structure.
    reading_with.lock = names_.constant(ConstantName{"lock_main"});
    EXPECT_EQ(proof_.busy(reading_with), records::VOID_REASON_LOCKED);
    reading_with = reading();
    reading_with.state = names_.constant(ConstantName{"state_running"});
    EXPECT_EQ(proof_.busy(reading_with), records::VOID_REASON_RUNNING);
}

TEST_F(ProcessProofTest, MemoryThatIsGoneCannotBeRead) {
    fake_.remove("process");
    ProcessReading result;
    EXPECT_FALSE(proof_.read(kProcess, result).value());
}

}  // namespace
}  // namespace beamdump::beam
