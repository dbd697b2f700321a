#include "program.h"
#include "sample_emulator.h"
#include "sample_schedulers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class EmulatorTest : public ::testing::Test {
  protected:
    EmulatorTest() {
        SampleDump dump;
        add_schedulers(dump.builder());
        dump.add(alpha_process());
        dump.add(traced_process(7, 0x3000, kSend));
        dump.add(traced_process(8, 0x3000, kSend | kCall));
        dump.add(traced_process(5, std::nullopt, kCall));
        SampleProcess sensitive;
        sensitive.number = 6;
        sensitive.trace_flags = kSensitiveTraceFlag;
        dump.add(sensitive);
        add_emulator(dump.builder());
        program_.put("emulator.beamdump", dump.finish());
    }
    static constexpr std::uint32_t kSend = 1U << 4U, kCall = 1U << 10U;

    /// Traced by process 1 in a session of name atom 3; without one: by whom could not be read.
    static SampleProcess traced_process(std::uint32_t number, std::optional<std::uint64_t> session,
                                        std::uint32_t flags) {
        SampleProcess process;
        process.number = number;
        process.trace_flags = flags;
        if (session) {
            records::Tracing tracing;
            tracing.set_session_address(*session);
            tracing.set_session_name_atom(3);
            tracing.set_flags(flags);
            tracing.mutable_tracer()->set_owner_id(format::owner_id_of(1, 0));
            process.tracing.push_back(tracing);
        }
        return process;
    }
    std::string shown(const std::string& command) {
        const auto ran = program_.run({command, "emulator.beamdump"});
        EXPECT_EQ(ran.status, 0) << ran.err;
        return ran.out;
    }

    Program program_;
};

TEST_F(EmulatorTest, PermissionsHaveWhoHoldsThemAndWhoWaits) {
    const auto text = shown("emulator");
    EXPECT_THAT(text, ContainsRegex("code_staging +<0\\.1\\.0> alpha +2 "));
    EXPECT_THAT(text, ContainsRegex("code_write +not stored in this release +0"));
    EXPECT_THAT(text, HasSubstr("<0.2.0> ? waits for code_staging"));
}

TEST_F(EmulatorTest, ASchedulerHoldsUpAllForTheTimeBetweenReadings) {
    const auto text = shown("emulator");
    EXPECT_THAT(text, ContainsRegex("1  behind, leader, holds up all for at least 2"));
    EXPECT_THAT(text, ContainsRegex("2  sleeping"));
}

TEST_F(EmulatorTest, WhatIsNotKnownIsSaid) {
    EXPECT_THAT(shown("emulator"), HasSubstr("not known:\n  types of threads: a reason\n"));
}

TEST_F(EmulatorTest, ResourcesAreListedByHowManyLive) {
    const auto text = shown("resources");
    EXPECT_THAT(text, ContainsRegex("loop +100,000 +yes +free_loop \\(demo\\.so\\+0x1234\\)\ndemo "
                                    "+demo +1 *\n"));
}

TEST_F(EmulatorTest, TracesAreOfSessionsAndTracers) {
    const auto text = shown("emulator");
    EXPECT_THAT(text, HasSubstr("Traces, of 3 processes\n"));
    EXPECT_THAT(text, ContainsRegex("demo +<0\\.1\\.0> alpha +2  send \\| call\n"));
    EXPECT_THAT(text, ContainsRegex("loop +<0\\.9\\.0> \\? +0\n"));
    EXPECT_THAT(text, HasSubstr("  of 1 process it could not be read who traces them\n"));
}

TEST_F(EmulatorTest, AnUnknownTypeOfResourcesIsNoEmptyAnswer) {
    const auto ran = program_.run({"resources", "emulator.beamdump", "demo:other"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("no type of NIF resources \"demo:other\" in the dump; there "
                                   "are: demo:demo, demo:loop"));
    const auto held = program_.run({"resources", "emulator.beamdump", "demo:loop"});
    EXPECT_THAT(held.out,
                HasSubstr("NIF resources of the type demo:loop: 100,000 live, terms refer to 0\n"));
}

TEST_F(EmulatorTest, ADumpWithoutThemHasNoAnswer) {
    for (const auto* const command : {"emulator", "resources"}) {
        const auto ran = program_.run({command, "sample.beamdump"});
        EXPECT_EQ(ran.status, 1);
        EXPECT_THAT(ran.out, Not(HasSubstr("0")));
        EXPECT_THAT(ran.err, HasSubstr("the dump has no"));
    }
}

TEST_F(EmulatorTest, AFilterByWhatTheDumpDoesNotTellIsNoEmptyList) {
    for (const auto* const filter : {"state~SUSPENDED", "flags!=TRAP_EXIT", "links>1"}) {
        const auto ran = program_.run({"processes", "sample.beamdump", "--filter", filter});
        EXPECT_EQ(ran.status, 1) << filter;
        EXPECT_THAT(ran.err, HasSubstr("the dump does not tell it of any of them"));
    }
    const auto ran = program_.run(
        {"processes", "sample.beamdump", "--filter", "links>1", "--group-by", "status"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("processes cannot be filtered by links"));
}

}  // namespace
}  // namespace beamdump::test
