#include "support/child_process.h"

#include <libvm/target/process/access.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/prctl.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A user reads another program of the same user.
AccessFacts own_process() {
    AccessFacts facts;
    facts.pid = 123;
    facts.program = "beam.smp";
    facts.our_uid = 1000;
    facts.our_user = "alice";
    facts.target_uid = 1000;
    facts.target_user = "alice";
    return facts;
}

TEST(ExplainDenied, NamesProcessAndProgram) {
    EXPECT_THAT(explain_denied(own_process()), HasSubstr("process 123 (beam.smp)"));
}

TEST(ExplainDenied, AnotherUser) {
    auto facts = own_process();
    facts.target_uid = 105;
    facts.target_user = "rabbitmq";
    facts.same_ids = false;
    EXPECT_THAT(explain_denied(facts),
                AllOf(HasSubstr("belongs to user rabbitmq and this program runs as alice"),
                      HasSubstr("run as root or as user rabbitmq")));
    facts.ptrace_scope = 1;  // then being the same user is not enough
    EXPECT_THAT(explain_denied(facts),
                AllOf(HasSubstr("run as root"), Not(HasSubstr("as user rabbitmq"))));
}

TEST(ExplainDenied, OtherIdsOfTheSameUser) {
    auto facts = own_process();
    facts.same_ids = false;
    EXPECT_THAT(explain_denied(facts), HasSubstr("other real, saved or group ids"));
}

TEST(ExplainDenied, EachPtraceScope) {
    auto facts = own_process();
    facts.ptrace_scope = 1;
    EXPECT_THAT(explain_denied(facts), AllOf(HasSubstr("ptrace_scope is 1"), HasSubstr("sysctl")));
    facts.ptrace_scope = 2;
    EXPECT_THAT(explain_denied(facts),
                AllOf(HasSubstr("ptrace_scope is 2"), HasSubstr("CAP_SYS_PTRACE")));
    facts.ptrace_scope = 3;
    facts.have_ptrace_capability = true;
    facts.our_uid = 0;
    EXPECT_THAT(explain_denied(facts),
                AllOf(HasSubstr("ptrace_scope is 3"), HasSubstr("next boot")));
}

TEST(ExplainDenied, NotDumpable) {
    auto facts = own_process();
    facts.dumpable = false;
    facts.ptrace_scope = 0;
    EXPECT_THAT(explain_denied(facts), HasSubstr("not dumpable"));
}

TEST(ExplainDenied, MoreCapabilities) {
    auto facts = own_process();
    facts.target_has_more_capabilities = true;
    EXPECT_THAT(explain_denied(facts), HasSubstr("capabilities that this program lacks"));
}

TEST(ExplainDenied, RootWithoutTheCapability) {
    auto facts = own_process();
    facts.our_uid = 0;
    facts.our_user = "root";
    facts.same_ids = false;
    EXPECT_THAT(explain_denied(facts), HasSubstr("--cap-add=SYS_PTRACE"));
}

TEST(ExplainDenied, SecurityModules) {
    auto facts = own_process();
    EXPECT_THAT(explain_denied(facts), HasSubstr("SELinux"));
    facts.have_ptrace_capability = true;
    EXPECT_THAT(explain_denied(facts), AllOf(HasSubstr("SELinux"), HasSubstr("audit log")));
}

TEST(ExplainDenied, ATracer) {
    auto facts = own_process();
    facts.tracer = 77;
    facts.tracer_program = "gdb";
    EXPECT_THAT(explain_denied(facts), HasSubstr("traced by process 77 (gdb)"));
}

TEST(AccessFacts, AreReadOfAChildProcess) {
    ChildProcess child([] {});
    const auto facts = access_facts(ProcDirectory::open(child.pid()).value());
    EXPECT_EQ(facts.pid, child.pid());
    EXPECT_EQ(facts.our_uid, ::geteuid());
    EXPECT_EQ(facts.target_uid, ::geteuid());
    EXPECT_TRUE(facts.same_ids);
    EXPECT_TRUE(facts.dumpable);
    EXPECT_FALSE(facts.target_has_more_capabilities);
    EXPECT_EQ(facts.tracer, 0);
}

}  // namespace
}  // namespace beamdump::target
