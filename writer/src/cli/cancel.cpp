#include "cli/cancel.h"

#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace beamdump::cli {
namespace {

sigset_t signals_that_end_us() {
    sigset_t set{};
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action{};
        // A blocked signal is queued even if it is to be ignored (nohup).
        if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&set, signal);
        }
    }
    return set;
}

}  // namespace

Result<std::unique_ptr<CancelOnSignal>> CancelOnSignal::start() {
    const auto set = signals_that_end_us();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    Descriptor signals(::signalfd(-1, &set, SFD_CLOEXEC));
    Descriptor wake(::eventfd(0, EFD_CLOEXEC));
    if (!signals.valid() || !wake.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot watch for signals: {}", system_error_text(errno)));
    }
    return std::unique_ptr<CancelOnSignal>(new CancelOnSignal(std::move(signals), std::move(wake)));
}

CancelOnSignal::CancelOnSignal(Descriptor signals, Descriptor wake)
    : signals_(std::move(signals)), wake_(std::move(wake)), watcher_([this] { watch(); }) {}

CancelOnSignal::~CancelOnSignal() {
    finished_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto told = ::write(wake_.get(), &one, sizeof one);
    watcher_.join();
}

void CancelOnSignal::watch() {
    while (!finished_) {
        std::array<pollfd, 2> ready{{{signals_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
        if (::poll(ready.data(), ready.size(), -1) <= 0 || (ready[0].revents & POLLIN) == 0) {
            continue;
        }
        signalfd_siginfo signal{};
        if (::read(signals_.get(), &signal, sizeof signal) == sizeof signal &&
            cancelled_.exchange(true)) {
            ::_exit(1);
        }
    }
}

}  // namespace beamdump::cli
