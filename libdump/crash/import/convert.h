#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/crash/import/heap/lazy_terms.h>
#include <libdump/crash/text/crash_dump.h>
#include <libdump/format/written_frames.h>

#include <records.pb.h>

#include <crash_index.pb.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::crash {

/// What to convert of a crash dump: facts of the node and of each process always; heaps, stacks and
/// messages as chosen.
struct ConvertChoice {
    enum class Heaps : std::uint8_t { kNone, kOne, kAll };
    static constexpr std::uint64_t kNeverLazily = ~std::uint64_t{0};
    Heaps heaps = Heaps::kAll;
    /// For kOne: a pid or a registered name, as parse_process_name() takes them. If no process has
    /// it, no heap is converted.
    std::string process;
    /// Literals and persistent terms also where no heap is converted.
    bool literals = false;
    /// Also the other sections, those of ports, ETS tables and so on: as records, and as text.
    bool other_sections = true;
    int level = 1;  ///< of zstd
    /// For kOne: if the heap's lines have at least that many bytes, only stack, dictionary and
    /// messages are converted; the lines are read lazily, and the heap's regions are not known.
    std::uint64_t lazily_from = kNeverLazily;
    /// For kNone, of open_text(): texts of at most that many bytes are converted as by kAll.
    std::uint64_t whole_up_to = 0;

    bool operator==(const ConvertChoice&) const = default;
};

struct ConvertOutcome {
    std::uint64_t processes = 0;
    std::uint64_t malformed_lines = 0;
    /// One sentence for each thing that could not be read: truncated text, malformed lines.
    std::vector<std::string> missing;
    /// A heap that is read lazily: it and all that its terms refer to. The CrashDump must
    /// outlive it.
    std::unique_ptr<LazyTerms> lazy_terms;
};

/// Converts a crash dump to a dump. Words are in the term scheme of the node's release, at the
/// addresses they had; the records lack what the text lacks. Memory: CrashDump's, the names in the
/// text, and some 100 MiB; more goes to temporary files. `on_progress` is called from time to time
/// with the bytes of the text read so far, and in all.
Result<ConvertOutcome> convert(const CrashDump& dump, std::unique_ptr<ByteSink> sink,
                               const ConvertChoice& choice,
                               const CrashDump::Progress& on_progress = {});

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
