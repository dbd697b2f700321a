#pragma once

#include <libdump/base/byte_sink.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>

namespace beamdump::cli {

/// Where a run's output goes; passed in, so that the program can be run as a function.
struct Streams {
    std::ostream& out;
    std::ostream& err;
    int out_descriptor = -1;  ///< of `out`, for a dump
    bool out_is_terminal = false;
    bool err_is_terminal = false;
    std::size_t columns = 80;  ///< of the terminal
    /// Whether writing a line to `err` would not block. Progress is left out while it would: the
    /// node stands still, and must not wait for somebody's pager.
    std::function<bool()> err_ready = [] { return true; };
    /// Puts around a dump's sink what has to know whether it takes anything.
    std::function<std::unique_ptr<ByteSink>(std::unique_ptr<ByteSink>)> watched =
        [](std::unique_ptr<ByteSink> sink) { return sink; };
    /// Called before a run's outcome is told.
    std::function<void()> finishing = [] {};
};

/// This process's own.
Streams standard_streams();

}  // namespace beamdump::cli
