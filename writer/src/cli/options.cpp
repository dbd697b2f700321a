#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <thread>

namespace beamdump::cli {
namespace {

constexpr unsigned kMostDefaultThreads = 4;
constexpr unsigned kMostThreads = 64;
constexpr int kMostLevel = 19;       // zstd's levels above need much more memory
constexpr int kMostPid = 4'194'304;  // PID_MAX_LIMIT, Linux' include/linux/threads.h

/// The command line as given, before it is looked into.
struct RawOptions {
    int pid = 0;
    std::string mode = "freeze";
    std::string output;
    std::string layout;
    std::string binary_bytes = "64";
    Options options;
};

unsigned default_threads() {
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMostDefaultThreads);
}

void declare(CLI::App& app, RawOptions& raw) {
    app.set_version_flag("--version", "beamdump-capture " BEAMDUMP_VERSION);
    app.add_option("PID", raw.pid, "Process id of the running node (beam.smp)")
        ->required()
        ->type_name("")
        ->check(CLI::Range(1, kMostPid).description(""));
    app.add_option("--mode", raw.mode, "How to read: freeze stops the node while it is copied")
        ->capture_default_str()
        ->type_name("MODE");
    app.add_option("-o,--output", raw.output,
                   "The dump's file, or - for standard output\n"
                   "(default: beamdump-PID-TIME.beamdump here)")
        ->type_name("FILE");
    app.add_flag("--force", raw.options.force, "Replace an existing file");
    app.add_option("--binary-bytes", raw.binary_bytes,
                   "How many bytes of each reference-counted binary\nto keep, or all")
        ->capture_default_str()
        ->type_name("N|all");
    app.add_option("--level", raw.options.writer.level, "Compression level of zstd, 1 to 19")
        ->capture_default_str()
        ->type_name("N")
        ->check(CLI::Range(1, kMostLevel).description(""));
    app.add_option("--threads", raw.options.writer.threads, "Compression threads, 1 to 64")
        ->capture_default_str()
        ->type_name("N")
        ->check(CLI::Range(1U, kMostThreads).description(""));
    app.add_option("--layout", raw.layout, "Structure layouts to use in place of the built-in ones")
        ->type_name("FILE");
    app.add_flag("--quiet", raw.options.quiet, "No progress and no report; errors only");
}

Result<void> set_mode(const RawOptions& raw, Options& options) {
    if (raw.mode == "freeze") {
        options.capture.mode = records::CAPTURE_MODE_FREEZE;
        return {};
    }
    if (raw.mode == "live" || raw.mode == "auto") {
        options.capture.mode =
            raw.mode == "live" ? records::CAPTURE_MODE_LIVE : records::CAPTURE_MODE_AUTO;
        return {};
    }
    if (raw.mode == "snapshot") {
        return fail(ErrorCode::kUsage,
                    fmt::format("this version has no mode {}: use --mode freeze, which stops the "
                                "node while it is copied",
                                raw.mode));
    }
    return fail(ErrorCode::kUsage, fmt::format("there is no mode \"{}\": use freeze", raw.mode));
}

Result<void> set_binary_bytes(const RawOptions& raw, Options& options) {
    if (raw.binary_bytes == "all") {
        options.capture.binary_bytes = std::nullopt;
        return {};
    }
    std::uint64_t bytes = 0;
    const auto* end = raw.binary_bytes.data() + raw.binary_bytes.size();
    const auto parsed = std::from_chars(raw.binary_bytes.data(), end, bytes);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--binary-bytes takes a number of bytes or \"all\", not \"{}\"",
                                raw.binary_bytes));
    }
    options.capture.binary_bytes = bytes;
    return {};
}

void set_output(const RawOptions& raw, Options& options) {
    options.to_stdout = raw.output == "-";
    options.output_named = !raw.output.empty();
    options.output = raw.output;
    if (!options.output_named) {
        options.output = fmt::format("beamdump-{}-{:%Y%m%dT%H%M%SZ}.beamdump", raw.pid,
                                     fmt::gmtime(std::time(nullptr)));
    }
}

Result<Options> checked(RawOptions raw) {
    Options options = std::move(raw.options);
    options.capture.pid = raw.pid;
    if (auto mode = set_mode(raw, options); !mode) {
        return std::unexpected(mode.error());
    }
    if (auto bytes = set_binary_bytes(raw, options); !bytes) {
        return std::unexpected(bytes.error());
    }
    if (!raw.layout.empty()) {
        options.capture.layout = raw.layout;
    }
    set_output(raw, options);
    return options;
}

}  // namespace

Result<std::variant<Options, Answer>> parse_options(const std::vector<std::string>& arguments) {
    RawOptions raw;
    raw.options.writer.threads = default_threads();
    CLI::App app("Takes a full, non-destructive debug dump of a running Erlang/OTP node.",
                 "beamdump-capture");
    declare(app, raw);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        return Answer{app.help()};
    } catch (const CLI::CallForVersion& version) {
        return Answer{fmt::format("{}\n", version.what())};
    } catch (const CLI::ParseError& error) {
        return fail(ErrorCode::kUsage, fmt::format("{}: see --help", error.what()));
    }
    auto options = checked(std::move(raw));
    if (!options) {
        return std::unexpected(options.error());
    }
    return std::move(*options);
}

}  // namespace beamdump::cli
