// The saved x registers of processes that go on at a function's start.
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kRunProcess = 0x9100;

/// `alpha` hibernates; it would wake up in demo:loop([7]).
std::vector<std::byte> hibernated_dump() {
    SampleDump dump;
    records::CodePoints points;
    auto* point = points.add_point();
    point->set_name("beam_run_process");
    point->set_address(kRunProcess);
    dump.builder().trailer().add_code_points_offset(
        dump.builder().append(format::RecordKind::kCodePoints, points));
    SampleProcess process;
    process.name = kAlphaAtom;
    process.instruction_address = kRunProcess;
    process.heap = {small_word(7), kNil};
    process.arguments = {atom_word(kModuleAtom), atom_word(kLoopAtom), list_word(heap_of(1))};
    dump.add(process);
    process.number = 2;
    process.name = kSecretAtom;
    process.sensitive = true;
    dump.add(process);
    return dump.finish();
}

class Hibernated : public ::testing::Test {
  protected:
    Hibernated() { program_.put("asleep.beamdump", hibernated_dump()); }
    Ran run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin() + 1, "asleep.beamdump");
        return program_.run(std::move(arguments));
    }

  private:
    Program program_;
};

TEST_F(Hibernated, BacktraceShowsWhatItWakesUpIn) {
    EXPECT_EQ(run({"backtrace", "alpha"}).out,
              "Program counter: 0x0000000000009100 (beam_run_process)\n"
              "x(0)     demo\n"
              "x(1)     loop\n"
              "x(2)     [7]\n"
              "\n"
              "0x0000000000280000 Return addr 0x0000000000009000 (<terminate process normally>)\n");
    EXPECT_EQ(run({"backtrace", "alpha", "--lines"}).out,
              "#0   beam_run_process\n"
              "     x(0) = demo\n"
              "     x(1) = loop\n"
              "     x(2) = [7]\n"
              "#1   <terminate process normally>\n");
    EXPECT_THAT(run({"backtrace", "alpha", "--json"}).out, HasSubstr(R"("arguments": [
    {
      "index": 0,
      "term": "demo"
    },)"));
}

TEST_F(Hibernated, ClassicIsTheVmsOwnText) {
    EXPECT_EQ(run({"backtrace", "alpha", "--term-limit", "classic"}).out,
              "Program counter: 0x0000000000009100 (unknown function)\n"
              "\n"
              "0x0000000000280000 Return addr 0x0000000000009000 (<terminate process normally>)\n");
}

TEST_F(Hibernated, ProcessAndHeapShowTheRegisters) {
    EXPECT_THAT(run({"process", "alpha"}).out,
                HasSubstr("\nSaved x registers (3)\n  x(0)  demo\n  x(1)  loop\n  x(2)  [7]\n"));
    EXPECT_THAT(run({"process", "alpha", "--limit", "2"}).out,
                HasSubstr("  x(1)  loop\n  and 1 more; --limit 0 shows all\n"));
    EXPECT_THAT(run({"heap", "alpha"}).out, HasSubstr("  x(2)       2     2  [7]\n"));
}

TEST_F(Hibernated, ASensitiveProcessKeepsThem) {
    for (const char* command : {"backtrace", "process", "heap"}) {
        const Ran ran = run({command, "secret", "--json"});
        EXPECT_EQ(ran.status, 3);
        EXPECT_THAT(ran.out, Not(HasSubstr("[7]"))) << command;
    }
}

}  // namespace
}  // namespace beamdump::test
