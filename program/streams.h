#pragma once

#include <libdump/base/byte_sink.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>

namespace beamdump::program {

/// The output streams of a run; passed in, so that the program can be run as a function.
struct Streams {
    std::ostream& out;
    std::ostream& err;
    int out_descriptor = -1;  ///< of `out`, for a dump
    bool out_is_terminal = false;
    bool err_is_terminal = false;
    std::size_t columns = 80;  ///< of the terminal
    /// Whether a line can be written to `err` without blocking. Otherwise progress is not shown:
    /// the node may be stopped and must not wait for a pager.
    std::function<bool()> err_ready = [] { return true; };
    /// Wraps a dump's sink for the watcher that has to know whether it accepts data.
    std::function<std::unique_ptr<ByteSink>(std::unique_ptr<ByteSink>)> watched =
        [](std::unique_ptr<ByteSink> sink) { return sink; };
    /// Called before the outcome of a run is written.
    std::function<void()> finishing = [] {};
};

}  // namespace beamdump::program
