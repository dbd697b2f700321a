#include "cli/cancel.h"

#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <string_view>
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

Result<std::unique_ptr<CancelOnSignal>> CancelOnSignal::start(std::chrono::milliseconds grace) {
    const auto set = signals_that_end_us();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    Descriptor signals(::signalfd(-1, &set, SFD_CLOEXEC));
    Descriptor wake(::eventfd(0, EFD_CLOEXEC));
    if (!signals.valid() || !wake.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot watch for signals: {}", system_error_text(errno)));
    }
    return std::unique_ptr<CancelOnSignal>(
        new CancelOnSignal(std::move(signals), std::move(wake), grace));
}

CancelOnSignal::CancelOnSignal(Descriptor signals, Descriptor wake, std::chrono::milliseconds grace)
    : signals_(std::move(signals)),
      wake_(std::move(wake)),
      grace_(grace),
      watcher_([this] { watch(); }) {}

CancelOnSignal::~CancelOnSignal() {
    finished_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto told = ::write(wake_.get(), &one, sizeof one);
    watcher_.join();
}

/// Whether a signal came. False after `timeout_ms` (-1: none) or when woken to finish.
bool CancelOnSignal::signalled(int timeout_ms) const {
    std::array<pollfd, 2> ready{{{signals_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    while (::poll(ready.data(), ready.size(), timeout_ms) < 0 && errno == EINTR) {
    }
    signalfd_siginfo signal{};
    return (ready[0].revents & POLLIN) != 0 &&
           ::read(signals_.get(), &signal, sizeof signal) == sizeof signal;
}

void CancelOnSignal::watch() {
    while (!finished_ && !signalled(-1)) {
    }
    if (finished_) {
        return;
    }
    cancelled_ = true;
    const bool again = signalled(static_cast<int>(grace_.count()));
    if (again || !finished_) {
        constexpr std::string_view kSentence =
            "beamdump-capture: interrupted while the output takes nothing; the node runs on, the "
            "dump is not complete\n";
        pollfd err{STDERR_FILENO, POLLOUT, 0};
        if (::poll(&err, 1, 0) == 1) {
            [[maybe_unused]] const auto told =
                ::write(STDERR_FILENO, kSentence.data(), kSentence.size());
        }
        ::_exit(1);
    }
}

}  // namespace beamdump::cli
