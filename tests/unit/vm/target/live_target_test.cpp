#include "support/child_process.h"

#include <libvm/target/live_target.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Error refusal(pid_t pid) {
    auto target = LiveTarget::open(pid);
    return target ? Error{ErrorCode::kUsage, "was opened"} : target.error();
}

constexpr uid_t kNobody = 65534;

/// The error when opening `pid` in a child that loses rights before.
Error refusal_without(const std::function<bool()>& lose_rights, pid_t pid) {
    auto* shared = static_cast<char*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    auto* code = reinterpret_cast<ErrorCode*>(shared + 4000);
    ChildProcess child([&] {
        if (!lose_rights()) {
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

Error refusal_as_nobody(pid_t pid) {
    return refusal_without([] { return ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0; }, pid);
}

bool lose_ptrace_capability() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> capabilities{};
    if (::syscall(SYS_capget, &header, capabilities.data()) != 0) {
        return false;
    }
    capabilities[0].effective &= ~(1U << CAP_SYS_PTRACE);
    capabilities[0].permitted &= ~(1U << CAP_SYS_PTRACE);
    return ::syscall(SYS_capset, &header, capabilities.data()) == 0;
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

/// With CAP_PERFMON it reads mappings (since Linux 6.13), but not which program they are of.
TEST(LiveTarget, ForRootWithoutTheCapabilityToTrace) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to lose a capability";
    }
    ChildProcess child([] {});
    const auto error = refusal_without(lose_ptrace_capability, child.pid());
    EXPECT_EQ(error.code, ErrorCode::kPermission);
    EXPECT_THAT(error.message, AllOf(HasSubstr("without the capability CAP_SYS_PTRACE"),
                                     Not(HasSubstr("another program"))));
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
