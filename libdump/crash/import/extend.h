#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/crash/import/convert.h>
#include <libdump/format/written_frames.h>

#include <records.pb.h>

#include <crash_index.pb.h>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::crash {

/// Converts the facts of the node and of all processes, and the sections without records, to a dump
/// from which extend() answers what needs terms: with the places of all sections, and `key` to
/// recognize the text, which must not be empty.
Result<void> convert_facts(const CrashDump& dump, std::unique_ptr<ByteSink> sink,
                           const std::string& key, const CrashDump::Progress& on_progress = {});

/// What extend() needs of such a dump.
struct FactsDump {
    records::Trailer trailer;
    format::WrittenFrames frames;
    std::vector<records::CrashNames> names;
    /// The chosen process, with the page of the process index that has its row.
    struct Process {
        ProcessSections sections;
        int page = 0;                                 ///< Trailer::process_pages
        int row = 0;                                  ///< in the page
        std::vector<records::ProcessColumn> columns;  ///< of the page, those that it has
    };
    /// Nothing for choices without a process, and where there is none of that name.
    std::optional<Process> process;
};

/// As convert(), for all choices but ConvertChoice::Heaps::kAll: `sink` has the frames of the dump
/// of the facts already, and what they lack is appended. kCorrupt if its parts do not belong
/// together.
Result<ConvertOutcome> extend(const CrashDump& dump, std::unique_ptr<ByteSink> sink,
                              const FactsDump& facts, const ConvertChoice& choice,
                              const CrashDump::Progress& on_progress = {});

}  // namespace beamdump::crash
