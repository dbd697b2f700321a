#pragma once

#include <libdump/crash/convert.h>

#include <CLI/App.hpp>

#include <cstdint>
#include <string>

namespace beamdump::cli {

// Options that several commands have, said the same everywhere.

/// --json
void add_json(CLI::App& app, bool& json);
/// DUMP
void add_dump(CLI::App& app, std::string& dump);
/// DUMP and PROCESS
void add_dump_and_process(CLI::App& app, std::string& dump, std::string& process);
/// An option that takes a decimal number, and nothing else: no sign, no base.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::uint64_t& count,
                       const std::string& description);
/// --max-memory
void add_max_memory(CLI::App& app, std::uint64_t& bytes, const std::string& what);
/// -o and --force
struct OutputChoice {
    std::string path = "-";  ///< -: standard output
    bool force = false;
};
CLI::Option* add_output(CLI::App& app, OutputChoice& output, const std::string& description);

/// What a command needs of a crash dump about whose processes it only lists facts.
crash::ConvertChoice no_heaps();
/// ... about one process, whose terms are read when they are shown, or before.
crash::ConvertChoice late_heap_of(const std::string& process);
crash::ConvertChoice heap_of(const std::string& process);

}  // namespace beamdump::cli
