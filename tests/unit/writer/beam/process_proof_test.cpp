#include "beam/process_proof.h"

#include "support/fake_memory.h"

#include <gtest/gtest.h>

#include <builtin_layouts.h>

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
        fake_.add("process", kProcess, names_.bytes("Process"));
    }

    ProcessReading reading() {
        ProcessReading result;
        EXPECT_TRUE(proof_.read(kProcess, result).value());
        return result;
    }
    void put(std::string_view name, std::uint64_t value) {
        const auto field = names_.field("Process", name);
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

TEST_F(ProcessProofTest, WhateverMovesATermShows) {
    for (const auto* field : {"htop",
                              "stop",
                              "heap",
                              "hend",
                              "heap_sz",
                              "abandoned_heap",
                              "old_heap",
                              "old_htop",
                              "old_hend",
                              "mbuf",
                              "mbuf_sz",
                              "msg_frag",
                              "wrt_bins",
                              "off_heap.first",
                              "i",
                              "reds",
                              "fcalls",
                              "catches",
                              "arity",
                              "arg_reg",
                              "dictionary",
                              "psd",
                              "gen_gcs",
                              "sig_qs.first",
                              "sig_qs.cont",
                              "sig_qs.len",
                              "common.links",
                              "common.monitors",
                              "common.id",
                              "common.lt_monitors",
                              "sig_inq_buffers"}) {
        EXPECT_EQ(after(field, 8), records::VOID_REASON_CHANGED) << field;
    }
    EXPECT_TRUE(names_.outcome());
}

TEST_F(ProcessProofTest, WhatOthersMayDoDoesNotMatter) {
    EXPECT_EQ(after("sig_inq.len", 3), records::VOID_REASON_NONE);
    EXPECT_EQ(after("sig_inq.first", 0x5000), records::VOID_REASON_NONE);
    EXPECT_EQ(after("state", names_.constant("state_active")), records::VOID_REASON_NONE);
    EXPECT_EQ(after("state", names_.constant("state_suspended")), records::VOID_REASON_NONE);
}

TEST_F(ProcessProofTest, WhoeverRunsOrIsWrittenToIsBusy) {
    for (const auto* state : {"state_running", "state_running_sys", "state_dirty_running_sys"}) {
        EXPECT_EQ(after("state", names_.constant(state)), records::VOID_REASON_RUNNING) << state;
    }
    EXPECT_EQ(after("state", names_.constant("state_gc")), records::VOID_REASON_COLLECTING);
    EXPECT_EQ(after("state", names_.constant("state_exiting")), records::VOID_REASON_EXITING);
    EXPECT_EQ(after("state", names_.constant("state_free")), records::VOID_REASON_EXITING);
    EXPECT_EQ(after("lock.flags", names_.constant("lock_main")), records::VOID_REASON_LOCKED);
}

TEST_F(ProcessProofTest, OnADirtySchedulerOnlyTheLockMatters) {
    const auto dirty = names_.constant("state_dirty_running");
    EXPECT_EQ(after("state", dirty), records::VOID_REASON_NONE);
    put("state", dirty);
    EXPECT_EQ(after("lock.flags", names_.constant("lock_main")), records::VOID_REASON_LOCKED);
    EXPECT_EQ(after("htop", 8), records::VOID_REASON_CHANGED);
}

TEST_F(ProcessProofTest, TheLockIsReadAfterTheTops) {
    auto reading_with = reading();
    EXPECT_EQ(proof_.busy(reading_with), records::VOID_REASON_NONE);
    // A sender took the lock after its word was copied with the structure.
    reading_with.lock = names_.constant("lock_main");
    EXPECT_EQ(proof_.busy(reading_with), records::VOID_REASON_LOCKED);
    reading_with = reading();
    reading_with.state = names_.constant("state_running");
    EXPECT_EQ(proof_.busy(reading_with), records::VOID_REASON_RUNNING);
}

TEST_F(ProcessProofTest, MemoryThatIsGoneCannotBeRead) {
    fake_.remove("process");
    ProcessReading result;
    EXPECT_FALSE(proof_.read(kProcess, result).value());
}

}  // namespace
}  // namespace beamdump::beam
