#include "program.h"
#include "sample_crash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CrashTest : public ::testing::Test {
  protected:
    /// A dump with one page.
    void put(const records::Crash& crash, SampleLayout layout = {}) {
        SampleDump dump(1'700'000'100'000'000, std::move(layout));
        add_schedulers(dump.builder());
        dump.add(alpha_process());
        append_crash(dump.builder(), crash);
        program_.put("crashed.beamdump", dump.finish());
    }
    Ran ask(std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"crash", "crashed.beamdump"});
        return program_.run(more);
    }
    /// The ids of the causes, in order.
    std::vector<std::string> causes(const records::Crash& crash, SampleLayout layout = {}) {
        put(crash, std::move(layout));
        std::vector<std::string> found;
        const auto text = ask({"--json"}).out;
        const std::string key = "\"id\": \"";
        for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
            found.push_back(
                text.substr(at + key.size(), text.find('"', at + key.size()) - at - key.size()));
        }
        return found;
    }
    /// library_crash() without its address and frames.
    static records::Crash plain(int signal, int code) {
        auto crash = library_crash();
        crash.set_signal(signal);
        crash.set_code(code);
        crash.clear_fault_address();
        return crash;
    }

    Program program_;
};

TEST_F(CrashTest, ShowsWhatDiedAndWhatItRan) {
    SampleDump dump;
    add_schedulers(dump.builder());
    dump.add(alpha_process());
    add_crash(dump.builder());
    program_.put("crashed.beamdump", dump.finish());
    const auto ran = ask();
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("signal    SIGSEGV (11), SEGV_MAPERR: nothing is mapped at the "
                                   "address\n"
                                   "address   0x8\n"
                                   "thread    4713, scheduler 1, running\n"
                                   "process   <0.1.0> (alpha)\n"
                                   "in        NIF demo:loop/2\n"));
    EXPECT_THAT(ran.out, HasSubstr("A null pointer was used (address 0x8), in the NIF demo:loop/2, "
                                   "run by <0.1.0> (alpha)."));
    EXPECT_THAT(ran.out, HasSubstr("The thread was in read_price+0x7 in price_nif.so, "
                                   "/srv/shop/lib/price-1.2.3/priv/price_nif.so, in the NIF"));
    EXPECT_THAT(ran.out, HasSubstr("#0   0x00007f0000001107 read_price+0x7 in price_nif.so\n"
                                   "#1   0x00007f0000001300 price_nif+0x7 in price_nif.so\n"
                                   "#2   0x0000550000002f00 beam.smp+0x2f00\n"));
    EXPECT_THAT(ran.out, HasSubstr("Erlang frames\ndemo:loop/2 (demo.erl, line 12)\n"));
    EXPECT_THAT(ran.out, HasSubstr("0102abcd"));
    EXPECT_THAT(ran.out, HasSubstr("rsp 00007f2200018000"));
    EXPECT_THAT(ran.out, HasSubstr("async_1"));
}

TEST_F(CrashTest, ADumpOfARunningNodeSaysSo) {
    const auto ran = program_.run({"crash", "sample.beamdump"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out, "The node did not crash: it was running when this dump was taken.\n");
    EXPECT_THAT(program_.run({"crash", "sample.beamdump", "--json"}).out,
                HasSubstr("\"end\": \"running\""));
}

/// gcore's core has the record, and no signal in it.
TEST_F(CrashTest, ACoreWithoutASignalIsOfARunningNode) {
    put(records::Crash());
    EXPECT_THAT(ask().out, HasSubstr("it was running when this dump was taken"));
}

TEST_F(CrashTest, FindsCauses) {
    auto crash = library_crash();
    EXPECT_THAT(causes(crash), ElementsAre("null_pointer"));
    add_crash_frame(crash, 0, 0x1107, "read_price");
    EXPECT_THAT(causes(crash), ElementsAre("null_pointer", "library"));
    crash.set_fault_address(0x10000);
    EXPECT_THAT(causes(crash), ElementsAre("library"));

    EXPECT_THAT(causes(plain(SIGSEGV, SI_KERNEL)), ElementsAre("damaged_pointer"));
    EXPECT_THAT(causes(plain(SIGILL, ILL_ILLOPN)), ElementsAre("illegal_instruction"));
    EXPECT_THAT(causes(plain(SIGFPE, FPE_INTDIV)), ElementsAre("division_by_zero"));
    EXPECT_THAT(causes(plain(SIGQUIT, SI_KERNEL)), IsEmpty());
}

TEST_F(CrashTest, AStackThatIsUsedUpIsToldByItsPage) {
    auto crash = library_crash();
    add_crash_frame(crash, 0, 0x1500, "recurse");
    crash.set_code(SEGV_ACCERR);
    auto& thread = *crash.mutable_thread(0);
    thread.set_general_register(7, kCStackAt - 0x100);
    crash.set_fault_address(kCStackAt - 0x108);
    EXPECT_THAT(causes(crash), ElementsAre("stack_overflow", "library"));
    // A damaged pointer may lead there too: the stack pointer is elsewhere.
    thread.set_general_register(7, kCStackAt + 0xf000'0000);
    EXPECT_THAT(causes(crash), Not(ElementsAre("stack_overflow", "library")));
    // The stack pointer is low, but what was used is not below it.
    thread.set_general_register(7, kCStackAt + 0x100);
    crash.set_fault_address(kCStackAt + 0x20);
    EXPECT_THAT(causes(crash), ElementsAre("library"));
}

TEST_F(CrashTest, AnAbortIsToldByItsTextAndItsFrames) {
    auto crash = plain(SIGABRT, SI_TKILL);
    crash.set_sender_pid(4711);
    add_crash_frame(crash, 2, 0x100, "abort");
    add_crash_frame(crash, 1, 0x200, "erts_exit");
    EXPECT_THAT(causes(crash), ElementsAre("vm_abort"));
    crash.set_abort_text("double free or corruption (!prev)");
    EXPECT_THAT(causes(crash), ElementsAre("heap_corruption"));
    EXPECT_THAT(ask().out, HasSubstr("\"double free or corruption (!prev)\", called from "
                                     "erts_exit+0x7 in beam.smp, in the NIF demo:loop/2"));
    crash.set_abort_text("price.c:12: read_price: Assertion `price' failed.");
    EXPECT_THAT(causes(crash), ElementsAre("abort_text"));
    crash.clear_abort_text();
    add_crash_frame(crash, 2, 0x300, "std::terminate()");
    EXPECT_THAT(causes(crash), ElementsAre("cxx_exception"));
    add_crash_frame(crash, 2, 0x400, "std::__throw_bad_alloc()");
    EXPECT_THAT(causes(crash), ElementsAre("allocation_failed", "cxx_exception"));
}

/// Another process's signal says nothing of what ran.
TEST_F(CrashTest, ASignalFromOutsideIsNoFaultOfTheNode) {
    auto crash = plain(SIGSEGV, SI_USER);
    crash.set_sender_pid(99);
    crash.set_sender_user(1000);
    add_crash_frame(crash, 0, 0x1107, "read_price");
    EXPECT_THAT(causes(crash), ElementsAre("sent"));
    EXPECT_THAT(ask().out, HasSubstr("SIGSEGV was sent by process 99 of user 1000"));
}

TEST_F(CrashTest, AMappedFileThatIsTooShortIsNamed) {
    auto crash = plain(SIGBUS, BUS_ADRERR);
    crash.set_fault_address(0x7f33'0000'1000);
    EXPECT_THAT(causes(crash), IsEmpty());
    crash.mutable_fault_mapping()->set_path("/var/cache/prices");
    EXPECT_THAT(causes(crash), ElementsAre("file_too_short"));
    EXPECT_THAT(ask().out, HasSubstr("/var/cache/prices is shorter than its mapping"));
}

TEST_F(CrashTest, IsTheFirstFinding) {
    auto crash = library_crash();
    add_crash_frame(crash, 0, 0x1107, "read_price");
    put(crash);
    const auto ran = program_.run({"summary", "crashed.beamdump"});
    EXPECT_THAT(ran.out, HasSubstr("SIGSEGV ended the node's process. A null pointer was used"));
    EXPECT_THAT(program_.run({"summary", "sample.beamdump"}).out, Not(HasSubstr("ended the node")));
}

}  // namespace
}  // namespace beamdump::test
