#include "target/live_target.h"

#include "support/child_process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using ::testing::AllOf;
using ::testing::HasSubstr;

Error refusal(pid_t pid) {
    auto target = LiveTarget::open(pid);
    return target ? Error{ErrorCode::kUsage, "was opened"} : target.error();
}

constexpr uid_t kNobody = 65534;

/// The error for user nobody when opening `pid`; runs in a child that becomes that user.
Error refusal_as_nobody(pid_t pid) {
    auto* shared = static_cast<char*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    auto* code = reinterpret_cast<ErrorCode*>(shared + 4000);
    ChildProcess child([&] {
        if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
            ::_exit(1);
        }
        const auto error = refusal(pid);
        *code = error.code;
        error.message.copy(shared, 3999);
    });
    Error error{*code, shared};
    ::munmap(shared, 4096);
    return error;
}

TEST(LiveTarget, NoSuchProcess) {
    ChildProcess child([] {});
    const pid_t pid = child.pid();
    child.kill();
    EXPECT_EQ(refusal(pid).code, ErrorCode::kNotFound);
    EXPECT_EQ(refusal(pid).message, fmt::format("there is no process {}", pid));
    EXPECT_EQ(refusal(0).code, ErrorCode::kNotFound);
    EXPECT_EQ(refusal(-1).code, ErrorCode::kNotFound);
}

TEST(LiveTarget, AnotherProgramIsNamed) {
    ChildProcess child([] {});
    const auto error = refusal(child.pid());
    EXPECT_EQ(error.code, ErrorCode::kNotABeam);
    EXPECT_THAT(error.message, AllOf(HasSubstr(fmt::format("process {} is /", child.pid())),
                                     HasSubstr("not an Erlang VM (beam.smp)")));
}

TEST(LiveTarget, AProgramThatOnlyHasTheName) {
    ChildProcess child([] { ::prctl(PR_SET_NAME, "beam.smp"); });
    EXPECT_EQ(refusal(child.pid()).code, ErrorCode::kNotABeam);
}

TEST(LiveTarget, AZombie) {
    ChildProcess child([] {
        if (const pid_t grandchild = ::fork(); grandchild == 0) {
            ::_exit(0);
        } else {
            ::prctl(PR_SET_NAME, fmt::format("{}", grandchild).c_str());
            while (ProcDirectory::open(grandchild)->facts()->state != 'Z') {
                ::usleep(1000);
            }
        }
    });
    const pid_t zombie = std::stoi(process_facts(child.pid())->name);
    const auto error = refusal(zombie);
    EXPECT_EQ(error.code, ErrorCode::kNotABeam);
    EXPECT_THAT(error.message, AllOf(HasSubstr("has exited"), HasSubstr("zombie")));
}

TEST(LiveTarget, AKernelThread) {
    const auto kthreadd = process_facts(2);
    if (!kthreadd || !kthreadd->kernel_thread) {
        GTEST_SKIP() << "a container without kernel threads in sight";
    }
    const auto error = refusal(2);
    EXPECT_EQ(error.code, ErrorCode::kNotABeam);
    EXPECT_THAT(error.message, HasSubstr("kernel thread"));
}

TEST(LiveTarget, AnotherUsersProcess) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to become another user";
    }
    ChildProcess child([] {});
    const auto error = refusal_as_nobody(child.pid());
    EXPECT_EQ(error.code, ErrorCode::kPermission);
    EXPECT_THAT(error.message, AllOf(HasSubstr("belongs to user root"), HasSubstr("run as root")));
}

TEST(LiveTarget, AProcessThatIsNotDumpable) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to become another user";
    }
    ChildProcess child([] {
        if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
            ::_exit(1);
        }
        ::prctl(PR_SET_DUMPABLE, 0);
    });
    const auto error = refusal_as_nobody(child.pid());
    EXPECT_EQ(error.code, ErrorCode::kPermission);
    EXPECT_THAT(error.message, HasSubstr("not dumpable"));
}

}  // namespace
}  // namespace beamdump::target
