#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// What waits, or is waited for.
enum class WaitPlaceKind : std::uint8_t {
    kProcess,
    kOther,           ///< a process that is not in the dump, or a port
    kPermission,      ///< of the emulator
    kThreadProgress,  ///< of all schedulers
    kScheduler,       ///< a normal one
    kConnection,      ///< to another node
    kLock,            ///< of the module global
    kEnded,           ///< a process that has ended, and is being freed
    kEndless,         ///< the same, or one that exits, if its list of off-heap objects never ends
};
struct WaitPlace {
    std::optional<std::uint64_t> owner;  ///< of a process of the dump
    /// Pid, port, registered name or {name,node}; "permission code_write", "thread progress",
    /// "scheduler 2", "connection to b@host", "global lock {a,<0.9.0>}".
    std::string name;
    WaitPlaceKind kind = WaitPlaceKind::kOther;
    auto operator<=>(const WaitPlace&) const = default;
};
WaitPlace process_place(std::uint64_t owner);
/// Thread progress, of which there is one.
WaitPlace progress_place();
std::string_view wait_place_kind_name(WaitPlaceKind kind);

/// How a place waits for, or depends on, the next one.
enum class WaitKind : std::uint8_t {
    kReply,       ///< a process in a call waits for its answer
    kStart,       ///< a process has started another one, and waits until that is ready
    kPermission,  ///< a suspended process waits for a permission
    kLock,        ///< a process waits for a global lock
    kHolder,      ///< of a permission or lock
    kProgress,    ///< a suspended process waits for thread progress
    kHeldUp,      ///< thread progress by a scheduler
    kRuns,        ///< a scheduler runs this process or port
    kFrees,       ///< a scheduler frees the memory of a process that has ended
    kRunQueue,    ///< a process is in the run queue of a scheduler
    kTask,        ///< a process waits for a system task of another one
    kSuspender,   ///< a process is suspended by another one
    kConnection,  ///< a suspended process waits for a busy connection
    kPort,        ///< a suspended process waits for a busy port
};
std::string_view wait_kind_name(WaitKind kind);

struct WaitEdge {
    WaitKind kind = WaitKind::kReply;
    WaitPlace to;
    bool certain = true;                   ///< false: it may be so
    std::string task = {};                 ///< of kTask: "check_process_code of shop"
    std::optional<std::uint64_t> us = {};  ///< of kHeldUp: for at least so long
};

/// Who waits for whom, across kinds. Memory: kPlaceMemory for each that waits.
class WaitGraph {
  public:
    using Edges = std::map<WaitPlace, std::vector<WaitEdge>>;

    explicit WaitGraph(const InputLimits& limits) : budget_(limits) {}

    /// kLimit.
    Result<void> add(const WaitPlace& from, WaitEdge edge);
    [[nodiscard]] const Edges& edges() const { return edges_; }
    [[nodiscard]] const std::vector<WaitEdge>& edges_of(const WaitPlace& place) const;
    /// The edge that chains follow: the first certain one, or else the only one. Null: none, as
    /// nothing is known, or it is one of several.
    [[nodiscard]] const WaitEdge* followed(const WaitPlace& place) const;

  private:
    // Upper bound of an entry of edges_, and of those in the maps of WaitCounts.
    static constexpr std::uint64_t kPlaceMemory = 1536;

    Budget budget_;
    Edges edges_;
};

/// The cycles of a graph along the edges that chains follow, each from its lowest process on.
std::vector<std::vector<WaitPlace>> cycles_of(const WaitGraph& graph);

/// How many processes wait behind each place, along the edges that chains follow. Of a cycle, all
/// of it and all that wait for one of it, but the process itself.
class WaitCounts {
  public:
    WaitCounts(const WaitGraph& graph, const std::vector<std::vector<WaitPlace>>& cycles);

    /// By place that is waited for: how many processes wait for it itself.
    [[nodiscard]] const std::map<WaitPlace, std::uint64_t>& direct() const { return direct_; }
    [[nodiscard]] std::uint64_t behind(const WaitPlace& place) const;
    /// What waits for all of a cycle, without its processes.
    [[nodiscard]] std::uint64_t behind_cycle(const std::vector<WaitPlace>& cycle) const;
    [[nodiscard]] bool in_cycle(const WaitPlace& place) const { return in_cycle_.contains(place); }
    /// The longest chain that leads to a place, which it ends with; at most `most` places of it,
    /// the last ones, and how many are left out before these.
    struct Chain {
        std::vector<WaitPlace> places;
        std::uint64_t left_out = 0;
    };
    [[nodiscard]] Chain longest_to(const WaitPlace& place, std::size_t most) const;

  private:
    /// The longest chain to a place, and the last one before it.
    struct Before {
        std::uint64_t length = 0;
        std::optional<WaitPlace> place;
    };

    std::map<WaitPlace, std::uint64_t> direct_, behind_;
    std::set<WaitPlace> in_cycle_;
    std::map<WaitPlace, Before> before_;
};

}  // namespace beamdump::query
