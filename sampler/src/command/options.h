#pragma once

#include "alloc/collect_alloc.h"
#include "calls/function_calls.h"
#include "stacks/collect.h"
#include "threads/collect_threads.h"
#include "top/top_view.h"

#include <libdump/profile/profile_files.h>
#include <libsample/profile/collect_profile.h>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::sampler {

/// How `top` shows a node.
struct TopSettings {
    TopOptions options;
    std::chrono::milliseconds interval{2000};
    std::optional<std::uint64_t> count{};  ///< refreshes, then it ends; nothing: until it is ended
};

/// The options of `top` before validation.
struct RawTop {
    std::string sort{top_sort_name(TopSort::kReductions)};
    std::string interval = "2s";
    std::string filter;
    std::uint64_t limit = TopOptions().limit;
    std::uint64_t count = 0;
    bool once = false;
};

/// Declares what `top` has beside the options of all commands. `raw` must outlive the parsing.
void declare_top(CLI::App& command, RawTop& raw);
/// kUsage.
Result<TopSettings> top_settings(const RawTop& raw);

/// Options of all commands.
struct NodeOptions {
    std::string node;  ///< a pid or a name; empty: the only node there is
    std::optional<std::filesystem::path> layout;
    bool no_symbols = false;
    std::filesystem::path debug_folder;
    bool json = false;
};

struct StacksCommand {
    NodeOptions node;
    StacksOptions options;
};

struct ProfileCommand {
    NodeOptions node;
    ProfileOptions options;
    std::optional<StackFormat> format{};  ///< in place of text or JSON
    bool off_cpu = false;                 ///< where processes wait, not what uses processor time
    bool stops = false;                   ///< samples by stops of threads, not by perf events
    std::size_t limit = 30;               ///< rows of a table
};

struct AllocCommand {
    NodeOptions node;
    AllocOptions options;
    std::vector<std::string> functions{};  ///< if any: the calls of these, not all functions
    std::optional<StackFormat> format{};   ///< in place of text or JSON
    std::size_t limit = 30;                ///< rows of a table
};

struct ThreadsCommand {
    NodeOptions node;
    ThreadsOptions options;
    std::size_t limit = 30;  ///< rows of a table
};

struct PerfMapCommand {
    NodeOptions node;
};

struct TopCommand {
    NodeOptions node;
    TopSettings settings;
};

struct McpCommand {
    NodeOptions node;
    std::chrono::seconds longest{120};  ///< an answer that takes longer is given up
};

/// Requested text (--help, --version) instead of a command.
struct Answer {
    std::string text;
};

using Command = std::variant<Answer, StacksCommand, ProfileCommand, AllocCommand, ThreadsCommand,
                             PerfMapCommand, TopCommand, McpCommand>;

/// Parses the command line (without the program's name). Error: kUsage.
Result<Command> parse_options(const std::vector<std::string>& arguments);

/// Shows each command as it is declared.
void each_command(const std::function<void(const CLI::App& command)>& visit);

}  // namespace beamdump::sampler
