#pragma once

#include "crash_dump/crash_dump.h"
#include "query/backtrace.h"
#include "query/dictionary.h"
#include "query/heap.h"
#include "query/messages.h"
#include "query/process_details.h"
#include "query/processes.h"
#include "query/sections.h"
#include "render/backtrace.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::cli {

enum class Command : std::uint8_t {
    kSummary,
    kProcesses,
    kProcess,
    kMessages,
    kDictionary,
    kBacktrace,
    kDiff,
    kHeap,
    kSections,
    kCrashDump,
    kConvert
};

/// What the command line asks for.
struct Options {
    Command command = Command::kSummary;
    std::string dump;
    std::string later_dump;  ///< diff
    std::string process;     ///< process, messages, dictionary, backtrace
    bool json = false;
    bool stats = false;
    bool lines = false;  ///< backtrace
    std::uint64_t diff_limit = 20;
    query::ProcessQuery processes;
    query::DetailsOptions details;
    query::MessagesOptions messages;
    query::DictionaryOptions dictionary;
    query::BacktraceOptions backtrace;
    query::HeapOptions heap;
    query::SectionsOptions sections;
    render::BacktraceFormat backtrace_format;
    crash_dump::Options crash_dump;
    std::string output = "-";  ///< crash-dump, convert: a file, or - for standard output
    bool force = false;        ///< crash-dump, convert: replace the file
};

/// Text to show in place of an answer: help, version.
struct Notice {
    std::string text;
};

/// Arguments without the program's name. A first argument that is no command is a dump, and the
/// command `summary`. Fails with kUsage.
Result<std::variant<Options, Notice>> parse_options(std::vector<std::string> arguments);

}  // namespace beamdump::cli
