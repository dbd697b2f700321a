#include <libdump/base/system_error.h>
#include <libvm/target/stop/ptrace_calls.h>

#include <fmt/format.h>

#include <cerrno>

namespace beamdump::target {

std::unexpected<Error> ptrace_failed(const char* doing, pid_t thread, int error) {
    if (error == ESRCH) {
        return fail(ErrorCode::kTargetDied, fmt::format("thread {} has ended", thread));
    }
    return fail(ErrorCode::kIo,
                fmt::format("cannot {} of thread {}: {}", doing, thread, system_error_text(error)));
}

}  // namespace beamdump::target
