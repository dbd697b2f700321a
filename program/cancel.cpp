#include <libdump/base/system_error.h>
#include <program/cancel.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace beamdump::program {
namespace {

sigset_t signals_to_take() {
    sigset_t set{};
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) {
        struct sigaction action{};
        // A blocked signal is queued even if it is to be ignored (nohup).
        if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&set, signal);
        }
    }
    return set;
}

constexpr std::chrono::milliseconds kBetweenLooks{20};

std::chrono::nanoseconds now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

class WatchedSink final : public ByteSink {
  public:
    WatchedSink(std::unique_ptr<ByteSink> sink, CancelOnSignal& watcher,
                std::atomic<std::chrono::nanoseconds::rep>& writing_since)
        : sink_(std::move(sink)), watcher_(watcher), writing_since_(writing_since) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        writing_since_ = now().count();
        auto done = sink_->write(bytes);
        writing_since_ = 0;
        return done;
    }
    Result<void> commit() override {
        watcher_.finishing();
        return sink_->commit();
    }

  private:
    std::unique_ptr<ByteSink> sink_;
    CancelOnSignal& watcher_;
    std::atomic<std::chrono::nanoseconds::rep>& writing_since_;
};

}  // namespace

Result<std::unique_ptr<CancelOnSignal>> CancelOnSignal::start(target::StopTracker& stops,
                                                              std::chrono::milliseconds grace) {
    const auto set = signals_to_take();
    auto blocked = set;
    sigaddset(&blocked, SIGTTIN);
    sigaddset(&blocked, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    Descriptor signals(::signalfd(-1, &set, SFD_CLOEXEC));
    Descriptor wake(::eventfd(0, EFD_CLOEXEC));
    if (!signals.valid() || !wake.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot watch for signals: {}", system_error_text(errno)));
    }
    try {
        return std::unique_ptr<CancelOnSignal>(
            new CancelOnSignal(stops, std::move(signals), std::move(wake), grace));
    } catch (const std::system_error& failure) {
        return std::unexpected(error_of(failure));
    }
}

CancelOnSignal::CancelOnSignal(target::StopTracker& stops, Descriptor signals, Descriptor wake,
                               std::chrono::milliseconds grace)
    : stops_(stops),
      signals_(std::move(signals)),
      wake_(std::move(wake)),
      grace_(grace),
      watcher_([this] { watch(); }) {}

CancelOnSignal::~CancelOnSignal() {
    finished_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto told = ::write(wake_.get(), &one, sizeof one);
    watcher_.join();
}

/// Waits for a signal and returns its number; 0: none within `timeout_ms` (-1: no limit), or woken
/// to finish.
int CancelOnSignal::next_signal(int timeout_ms) const {
    std::array<pollfd, 2> ready{{{signals_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    while (::poll(ready.data(), ready.size(), timeout_ms) < 0 && errno == EINTR) {
    }
    signalfd_siginfo signal{};
    const bool came = (ready[0].revents & POLLIN) != 0 &&
                      ::read(signals_.get(), &signal, sizeof signal) == sizeof signal;
    return came ? static_cast<int>(signal.ssi_signo) : 0;
}

/// Stops this process as SIGTSTP does by default: not in an orphaned process group, which nobody
/// would continue.
void CancelOnSignal::stop_ourselves() {
    stops_.between([] {
        sigset_t stop{};
        sigemptyset(&stop);
        sigaddset(&stop, SIGTSTP);
        ::raise(SIGTSTP);
        ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
        ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    });
}

/// Whether a signal arrived that ends this process; one that stops it takes effect at once.
bool CancelOnSignal::signalled(int timeout_ms) {
    const int signal = next_signal(timeout_ms);
    if (signal == SIGTSTP) {
        stop_ourselves();
    }
    return signal != 0 && signal != SIGTSTP;
}

std::unique_ptr<ByteSink> CancelOnSignal::watched(std::unique_ptr<ByteSink> sink) {
    return std::make_unique<WatchedSink>(std::move(sink), *this, writing_since_);
}

bool CancelOnSignal::output_stalls(std::chrono::nanoseconds cancelled) const {
    const auto since = writing_since_.load();
    return since != 0 && now() - std::max(std::chrono::nanoseconds(since), cancelled) > kPatience;
}

void CancelOnSignal::watch() {
    while (!finished_ && !signalled(-1)) {
    }
    if (finished_) {
        return;
    }
    cancelled_ = true;
    const auto since = now();
    bool again = false;
    while (!again && !finished_ && !output_stalls(since) && now() < since + grace_) {
        again = signalled(static_cast<int>(kBetweenLooks.count()));
        if (now() - since > kPatience) {
            const std::scoped_lock lock(ending_);
            if (!finishing_) {
                stops_.if_free([this] { end_now(); });
            }
        }
    }
    if (again || !finished_) {
        end_now();
    }
}

void CancelOnSignal::finishing() {
    const std::scoped_lock lock(ending_);
    finishing_ = true;
}

void CancelOnSignal::end_now() const {
    const auto since = writing_since_.load();
    const bool stalled = since != 0 && now() - std::chrono::nanoseconds(since) > kPatience / 2;
    const std::string_view sentence =
        stalled
            ? "beamdump-capture: interrupted while the output is blocked; the node continues to "
              "run, the dump is incomplete\n"
            : "beamdump-capture: interrupted; the node continues to run, the dump is incomplete\n";
    pollfd err{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&err, 1, 0) == 1) {
        [[maybe_unused]] const auto told = ::write(STDERR_FILENO, sentence.data(), sentence.size());
    }
    ::_exit(1);
}

}  // namespace beamdump::program
