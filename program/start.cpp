#include <libdump/base/last_words.h>
#include <libdump/base/system_error.h>
#include <libdump/base/terminal_text.h>
#include <program/cancel.h>
#include <program/own_memory.h>
#include <program/process.h>
#include <program/start.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <malloc.h>

namespace beamdump::program {
int give_up(Streams& streams, std::string_view program, const Error& error) {
    auto sentence = error.message;
    std::ranges::replace(sentence, '\n', ' ');
    streams.err << fmt::format("{}: {}\n", program, one_line(sentence)) << std::flush;
    return error.code == ErrorCode::kUsage ? kWrongUsage : kFailed;
}

int run_as_main(std::string_view program, const Run& run) try {
    // An arena for each thread would take 64 MiB of address space, which may be limited; threads
    // allocate little here.
    mallopt(M_ARENA_MAX, 1);
    end_with_a_sentence_on_terminate();
    keep_before_all();
    // Before any thread is made.
    const auto guardian = target::Guardian::start();
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
