#include <program/process.h>

#include <fmt/format.h>

#include <csignal>
#include <sys/resource.h>

namespace beamdump::program {

void prepare_process() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

Result<void> ensure_descriptors() {
    constexpr rlim_t kNeeded = 64;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kNeeded) {
        return {};
    }
    limit.rlim_cur = kNeeded;
    if (limit.rlim_max >= kNeeded && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) {
        return {};
    }
    return fail(ErrorCode::kLimit,
                fmt::format("too many open files: this program may open {} and needs {}; raise its "
                            "limit (ulimit -n 256)",
                            limit.rlim_max, kNeeded));
}

}  // namespace beamdump::program
