#pragma once

#include <libsample/node/observed_node.h>
#include <libvm/beam/processes/process_proof.h>
#include <libvm/beam/tables/id_table.h>

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace beamdump::sampler {

/// What a process has at a moment and that running changes: the reductions that it has used
/// (`reds`, added up when it is scheduled out, erts_schedule(), erl_process.c, OTP 25 to 29), where
/// it is, and its stack's and heap's tops. A run that uses no reduction and ends where it began
/// leaves all as it was, and is not seen.
struct RunMark {
    std::uint64_t id = 0;  ///< the word of its pid, with the serial number
    std::uint64_t reds = 0, place = 0, stop = 0, htop = 0;
    bool operator==(const RunMark&) const = default;
};

/// Follows which processes have not run since when. Memory: at most 120 bytes for each of
/// kMostProcesses.
class Unmoved {
  public:
    static constexpr std::size_t kMostProcesses = std::size_t{1} << 21U;

    static Result<Unmoved> open(ObservedNode& node);

    /// The marks of processes at this moment, in their order; nothing for those that run, collect,
    /// or have ended.
    Result<std::vector<std::optional<RunMark>>> read(std::span<const beam::IdSlot> slots);

    /// Begins a reading of all processes; what the last one did not have is forgotten.
    void begin();
    /// A process in this reading, at `now_ns` of the monotonic clock. It is not followed if there
    /// are too many already.
    void see(std::uint32_t slot, const std::optional<RunMark>& mark, std::int64_t now_ns);
    /// Since when a process is known to have this mark; nothing: it was not seen with it.
    [[nodiscard]] std::optional<std::int64_t> since(std::uint32_t slot, const RunMark& mark) const;
    /// Processes of the last reading that are not followed.
    [[nodiscard]] std::uint64_t not_followed() const { return not_followed_; }

  private:
    struct Seen {
        RunMark mark{};
        std::int64_t since_ns = 0;
        std::uint32_t reading = 0;
    };
    explicit Unmoved(beam::ProcessProof proof) : proof_(std::move(proof)) {}

    beam::ProcessProof proof_;
    beam::Field id_{}, reds_{}, place_{}, stop_{}, htop_{};
    std::unordered_map<std::uint32_t, Seen> seen_;
    std::vector<beam::ProcessReading> readings_;  // reused
    std::vector<Address> addresses_;              // reused
    std::uint32_t reading_ = 0;
    std::uint64_t not_followed_ = 0;
};

}  // namespace beamdump::sampler
