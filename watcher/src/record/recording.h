#pragma once

#include "rules/quantity.h"

#include <libdump/base/error.h>
#include <libdump/write/dump_writer.h>

#include <records.pb.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::watch {

/// What a recording has of these; at_us is not set.
records::HistoryReading reading_of(const Measurements& measured);
/// What reading_of() takes.
const std::set<Quantity>& recorded_quantities();

/// How much a recording keeps.
struct RecordingLimits {
    static constexpr std::int64_t kMostReadings = 1800;
    static constexpr std::int64_t kMostScans = 360;
    static constexpr std::int64_t kMostProfiles = 60;
    /// Of one profile, about.
    static constexpr std::size_t kMostProfileBytes = std::size_t{32} << 10U;

    std::chrono::milliseconds span{3'600'000};
    std::chrono::milliseconds least_scan_time{10'000};

    /// Least time between two readings, so that no more than kMostReadings are kept.
    [[nodiscard]] std::chrono::milliseconds between_readings() const {
        return span / kMostReadings;
    }
    /// How long it takes to read so many processes: 1,000 a second, least_scan_time at least, and
    /// so that no more than kMostScans are kept.
    [[nodiscard]] std::chrono::milliseconds scan_time(std::uint64_t processes) const;
    /// How long a profile takes, so that no more than kMostProfiles are kept.
    [[nodiscard]] std::chrono::milliseconds profile_time() const {
        return std::max(span / kMostProfiles, std::chrono::milliseconds(1000));
    }
};

/// The readings and profiles of the last while of one run of a node, in memory and in a file that
/// stays: a dump that has nothing else. Each is in the file when add() returns, in a frame of its
/// own, so that the end of the watcher loses none. Once the file has half as much again as is kept,
/// it is written anew beside it, and replaced.
class Recording {
  public:
    static constexpr std::chrono::milliseconds kTryAgain{60'000};
    /// The text of an atom of the node; nothing if it cannot be read.
    using AtomText = std::function<std::optional<std::string>(std::uint32_t atom)>;

    /// The file is made with the first reading. `node`: what is at its head.
    Recording(std::filesystem::path file, const RecordingLimits& limits, records::Capture capture,
              records::Node node);

    /// Takes a reading. `now`: of the clock that never goes back. An error is one of the file,
    /// which is made anew after kTryAgain; the reading is kept.
    Result<void> add(std::chrono::milliseconds now, const records::HistoryReading& reading,
                     const AtomText& atom_text);
    /// Takes a profile in the same way.
    Result<void> add(std::chrono::milliseconds now, const records::Samples& profile,
                     const AtomText& atom_text);
    /// Completes the file. `last`: what History says of the end.
    Result<void> finish(const records::History& last);

    /// All that is kept.
    [[nodiscard]] records::History history() const;
    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  private:
    struct Kept {
        std::chrono::milliseconds at{};
        std::string page;  // with one thing; serialised: takes a quarter of the memory
    };
    void forget_old(std::chrono::milliseconds now);
    Result<void> keep(std::chrono::milliseconds now, const records::History& page,
                      const AtomText& atom_text);
    Result<void> write(std::chrono::milliseconds now, const records::History& page);
    Result<void> append(records::History page);
    /// A new file with all that is kept.
    Result<void> rewrite(std::chrono::milliseconds now);
    Result<void> begin_file();
    Result<void> append_atoms_of(const std::set<std::uint32_t>& atoms);
    [[nodiscard]] std::set<std::uint32_t> atoms_of(const records::History& history) const;

    std::filesystem::path file_;
    RecordingLimits limits_;
    records::Capture capture_;
    records::Node node_;
    std::deque<Kept> kept_;
    std::map<std::uint32_t, std::string> atoms_;  // texts of those that are named
    std::optional<DumpWriter> writer_;            // of the file; nothing: there is none
    records::Trailer trailer_;
    std::set<std::uint32_t> in_file_;    // atoms
    std::chrono::milliseconds begun_{};  // of the oldest reading in the file
    std::optional<std::chrono::milliseconds> failed_;
};

/// "NODE-20261128T063129Z.recording".
std::string recording_name(std::string_view node, std::chrono::sys_seconds at);

/// Removes recordings of a node, by what their names begin with, until at most `keep` are left:
/// those of less than a minute first, then the oldest. A file that was begun and has no name yet
/// goes too. What cannot be removed stays.
void remove_recordings(const std::filesystem::path& folder, std::string_view node,
                       std::size_t keep);

}  // namespace beamdump::watch
