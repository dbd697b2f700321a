#include <libdump/base/system_error.h>
#include <libdump/base/terminal_text.h>
#include <program/cancel.h>
#include <program/last_words.h>
#include <program/own_memory.h>
#include <program/start.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <malloc.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace beamdump::program {
namespace {

/// To be called once at the start of the process: a closed output becomes an error instead of a
/// signal.
void prepare_process() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

/// What the kernel starts (core_pattern) has no standard output: a file that is opened would be it.
void fill_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0) {
            // The lowest that is free.
            (void)::open("/dev/null", O_RDWR);
        }
    }
}

bool ready_for_output(int descriptor) {
    pollfd poll{descriptor, POLLOUT, 0};
    return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLOUT) != 0;
}

/// The standard streams of this process.
Streams standard_streams() {
    Streams streams{std::cout, std::cerr};
    streams.out_descriptor = STDOUT_FILENO;
    streams.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
    streams.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
    winsize window{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
        streams.columns = window.ws_col;
    }
    streams.err_ready = [] { return ready_for_output(STDERR_FILENO); };
    return streams;
}

}  // namespace

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

int give_up(Streams& streams, std::string_view program, const Error& error) {
    auto sentence = error.message;
    std::ranges::replace(sentence, '\n', ' ');
    streams.finishing();
    streams.err << fmt::format("{}: {}\n", program, one_line(sentence)) << std::flush;
    return error.code == ErrorCode::kUsage ? kWrongUsage : kFailed;
}

int run_as_main(std::string_view program, const Run& run, Stops may_stop) try {
    // An arena for each thread would take 64 MiB of address space, which may be limited; threads
    // allocate little here.
    mallopt(M_ARENA_MAX, 1);
    fill_standard_descriptors();
    end_with_a_sentence_on_terminate();
    keep_before_all();
    // Before any thread is made.
    const auto guardian = may_stop == Stops::kGuarded
                              ? target::Guardian::start()
                              : fail(ErrorCode::kUnsupported, "this program stops no node");
    // Without the guardian nothing may stop the node; reading it while it runs remains possible.
    auto stops =
        guardian ? target::StopTracker(guardian->get()) : target::StopTracker(guardian.error());
    prepare_process();
    const auto signals = CancelOnSignal::start(stops);
    if (!signals) {
        std::cerr << program << ": " << signals.error().message << '\n';
        return kFailed;
    }
    auto streams = standard_streams();
    streams.watched = [&signals](std::unique_ptr<ByteSink> sink) {
        return (*signals)->watched(std::move(sink));
    };
    streams.finishing = [&signals] { (*signals)->finishing(); };
    return run(streams, (*signals)->cancelled(), stops);
} catch (const std::exception& failure) {
    // An exception that no module caught; the stops' destructors have resumed the node.
    std::cerr << program << ": " << error_of(failure).message << '\n';
    return kFailed;
}

}  // namespace beamdump::program
