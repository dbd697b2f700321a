#include <libdump/base/return_if_error.h>
#include <libvm/target/twin/twin_watcher.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

constexpr int kMillisecondsBetweenLooks = 5;

}  // namespace

TwinWatcher::TwinWatcher(pid_t node, pid_t twin, TwinFloor floor)
    : node_(node),
      twin_(twin),
      floor_(std::move(floor)),
      node_handle_(static_cast<int>(::syscall(SYS_pidfd_open, node, 0))),
      thread_([this] { watch(); }) {}

TwinWatcher::~TwinWatcher() {
    wanted_ = false;
    thread_.join();
}

Result<void> TwinWatcher::verdict() const {
    const std::scoped_lock lock(mutex_);
    return reason_ ? Result<void>(std::unexpected(*reason_)) : Result<void>();
}

Result<void> TwinWatcher::look() const {
    for (const auto* room : {&floor_.node, &floor_.own}) {
        ASSIGN_OR_RETURN(const auto left, room->memory(floor_.bytes));
        if (left.amount < floor_.bytes) {
            return fail(
                ErrorCode::kLimit,
                fmt::format("the twin of process {} needs {} of free memory, {} are left: {}",
                            node_, mebibytes_text(floor_.bytes), mebibytes_text(left.amount),
                            left.limit));
        }
    }
    return {};
}

/// Waits the time between two looks, but no longer than until the node ends. Where there is no
/// handle of it, it has ended already, or the kernel is one before 5.3, which has none.
bool TwinWatcher::node_ends_within_moment() const {
    pollfd node{node_handle_.get(), POLLIN, 0};
    const bool ended = ::poll(&node, 1, kMillisecondsBetweenLooks) > 0;
    return node_handle_.valid() ? ended : ::kill(node_, 0) != 0 && errno == ESRCH;
}

void TwinWatcher::watch() {
    while (wanted_) {
        auto enough = look();
        if (!enough) {
            // The reason is set before the twin is killed: a reader that finds it dead asks for the
            // reason.
            {
                const std::scoped_lock lock(mutex_);
                reason_ = std::move(enough.error());
            }
            ::kill(twin_, SIGKILL);
            return;
        }
        if (node_ends_within_moment()) {
            ::kill(twin_, SIGKILL);
            return;
        }
    }
}

}  // namespace beamdump::target
