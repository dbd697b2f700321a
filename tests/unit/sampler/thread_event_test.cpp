#include <libsample/events/perf_access.h>
#include <libsample/events/thread_event.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beamdump::sampler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string said(const PerfAccess& access, int error_number = EACCES) {
    return perf_refused(access, error_number).message;
}

TEST(PerfAccess, TheSettingIsBlamedWhereItDecides) {
    EXPECT_THAT(said({.paranoid = 3}), AllOf(HasSubstr("perf_event_paranoid is 3"),
                                             HasSubstr("set it to 2"), Not(HasSubstr("seccomp"))));
    EXPECT_THAT(said({.paranoid = 4, .filtered = true}),
                AllOf(HasSubstr("perf_event_paranoid is 4"), Not(HasSubstr("seccomp"))));
    EXPECT_THAT(said({.paranoid = 2}),
                AllOf(HasSubstr("perf_event_paranoid is 2"), HasSubstr("the node's own user"),
                      Not(HasSubstr("set it to"))));
    EXPECT_THAT(said({}), HasSubstr("cannot be read"));
    EXPECT_THAT(said({.paranoid = 3, .capable = true}),
                AllOf(HasSubstr("perf_event_paranoid is 3"), HasSubstr("CAP_SYS_ADMIN"),
                      HasSubstr("set it to 2"), Not(HasSubstr("security module"))));
    EXPECT_THAT(said({.paranoid = 3, .capable = true, .administers = true}),
                HasSubstr("security module"));
}

TEST(PerfAccess, AFilterIsBlamedWhereItRefusesTheCall) {
    for (const int error_number : {EPERM, EACCES, ENOSYS}) {
        const auto refused = perf_refused(
            {.paranoid = 4, .reaches_kernel = false, .filtered = true, .capable = true},
            error_number);
        EXPECT_EQ(refused.code, ErrorCode::kPermission);
        EXPECT_THAT(refused.message, AllOf(HasSubstr("a seccomp filter on this program"),
                                           Not(HasSubstr("paranoid"))));
    }
}

TEST(PerfAccess, ExplainsOtherRefusals) {
    EXPECT_THAT(said({.paranoid = 2, .capable = true}), HasSubstr("a security module"));
    const auto none = perf_refused({.kernel_has_events = false, .reaches_kernel = false}, ENOSYS);
    EXPECT_EQ(none.code, ErrorCode::kUnsupported);
    EXPECT_EQ(none.message, "this kernel has no perf events");
    EXPECT_THAT(said({.reaches_kernel = false}, ENOSYS), HasSubstr("outside the sandbox"));
}

/// From here on perf_event_open fails with the error, as in containers.
bool forbid_perf_events(unsigned error_number) {
    std::array<sock_filter, 4> code = {
        {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
    sock_fprog program{.len = code.size(), .filter = code.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ThreadEvent, ARealFilterIsBlamed) {
    for (const int error_number : {EPERM, EACCES, ENOSYS}) {
        const pid_t child = ::fork();
        if (child == 0) {
            if (!forbid_perf_events(static_cast<unsigned>(error_number))) {
                ::_exit(2);
            }
            const auto event = ThreadEvent::open(::getpid(), {});
            ::_exit(!event && event.error().message.contains("a seccomp filter on this program")
                        ? 0
                        : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status)) << status;
        EXPECT_EQ(WEXITSTATUS(status), 0) << "errno " << error_number;
    }
}

}  // namespace
}  // namespace beamdump::sampler
