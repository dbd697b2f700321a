#pragma once

#include "render/shared/output.h"

#include <libdump/base/budget.h>
#include <libdump/crash/import/convert.h>

#include <CLI/App.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace beamdump::cli {

// Options that several commands have in common.

/// --json
void add_json(CLI::App& app, bool& json);
/// The output format.
struct AnswerOptions {
    bool json = false;
    bool wide = false;  ///< do not cut lines to a terminal's width
};
/// --json and --wide
void add_answer(CLI::App& app, AnswerOptions& answer);
/// --term-bytes: truncates each `what`. If given, it replaces the limit of the terminal's width.
void add_term_bytes(CLI::App& app, std::size_t& bytes, AnswerOptions& answer,
                    const std::string& what);
/// The output, with lines cut to the terminal unless --wide.
render::Output& fitted(render::Output& out, const AnswerOptions& answer);
/// DUMP
void add_dump(CLI::App& app, std::string& dump);
/// DUMP and PROCESS
void add_dump_and_process(CLI::App& app, std::string& dump, std::string& process);
/// An option that takes a decimal number without sign or prefix, and gives it to `take`.
CLI::Option* add_number(CLI::App& app, const std::string& name,
                        std::function<void(std::uint64_t)> take, const std::string& description);
/// The same into a variable: std::size_t and std::uint64_t are not one type on every system.
template <std::unsigned_integral Count>
CLI::Option* add_count(CLI::App& app, const std::string& name, Count& count,
                       const std::string& description) {
    static_assert(sizeof(Count) == sizeof(std::uint64_t));
    return add_number(app, name, [&count](std::uint64_t number) { count = number; }, description);
}
/// An option that takes a number of bytes, or one with a unit: 500MB, 4GiB.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& size,
                      const std::string& description);
/// --filter FILTER, repeatable. `what`: "Only modules whose name contains TEXT".
void add_filter(CLI::App& app, std::vector<std::string>& filters, const std::string& what);
/// --sort COLUMN[,-COLUMN]
void add_sort(CLI::App& app, std::string& sort, const std::string& description);
/// --group-by FIELD[,FIELD]
void add_group_by(CLI::App& app, std::vector<std::string>& fields, const std::string& description);
/// --max-memory and --max-temporary
void add_limits(CLI::App& app, InputLimits& limits);
/// --findings
void add_findings_depth(CLI::App& app, std::string& depth);
/// -o and --force
struct OutputChoice {
    std::string path = "-";  ///< -: standard output
    bool force = false;
};
CLI::Option* add_output(CLI::App& app, OutputChoice& output, const std::string& description);

/// What to convert for a command that lists only facts of processes.
crash::ConvertChoice no_heaps();
/// ... for one process, whose heap is read in advance, lazily, or lazily if it is large.
crash::ConvertChoice heap_of(const std::string& process);
crash::ConvertChoice lazy_heap_of(const std::string& process);
crash::ConvertChoice large_heap_lazily_of(const std::string& process);
/// ... about the terms of all processes.
crash::ConvertChoice all_heaps();

}  // namespace beamdump::cli
