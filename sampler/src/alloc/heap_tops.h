#pragma once

#include "alloc/split_words.h"

#include <libdump/profile/stack_tree.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump::sampler {

/// What a sample of a scheduler's thread tells about one process's heap.
struct HeapPoint {
    std::uint64_t time_ns = 0;
    pid_t thread = 0;
    std::uint64_t process = 0;    ///< its structure's address; 0: none, or it is not known
    std::uint64_t pid = 0;        ///< its id, as in ProcessIdentity; 0: not known
    std::uint64_t heap_top = 0;   ///< in bytes; in native code when it was called; 0: not known
    std::uint64_t stack_top = 0;  ///< where the room on the heap ends at most; 0: not known
    std::uint64_t heap = 0;       ///< where the heap that has this top begins; 0: not known
    std::uint64_t heap_end = 0;   ///< where that one ends
    std::string function{};       ///< the innermost Erlang function; empty: not known
    /// The callers at the sample's moment, the innermost first; nothing: not known, or not wanted.
    std::optional<std::vector<std::string>> callers{};
    bool collection = false;  ///< the process is about to collect: there was no room
    bool collects = false;    ///< it collects: this time is not the function's own
    bool after_loss = false;  ///< samples of the thread before this one were lost
};

/// What is known of the allocation of one function, or of one stack.
struct AllocatedBy {
    double words = 0;  ///< on the heap, of those that were seen
    /// The words for which no other function, or stack, was seen in the interval, and the process
    /// was not scheduled out.
    double certain_words = 0;
    double error = 0;               ///< of its share of all words: half of the 95% interval
    std::uint64_t collections = 0;  ///< that began in the function; not counted by stack
};

/// All of it.
struct Allocation {
    std::map<std::string, AllocatedBy> functions{};
    StackTree stacks{};                               ///< weights: words, rounded
    std::map<std::uint32_t, AllocatedBy> by_stack{};  ///< by node of stacks
    double words = 0;                                 ///< seen between samples, in all
    double certain_words = 0;
    /// Found in intervals in which the process was scheduled out.
    double scheduled_out_words = 0;
    double seconds = 0;           ///< of a scheduler's time in intervals
    std::uint64_t intervals = 0;  ///< between two samples with a known top
    std::uint64_t unusable = 0;   ///< in which a heap was collected
    std::uint64_t collections = 0;
    std::uint64_t samples = 0;      ///< in functions, without those of collections
    std::uint64_t not_covered = 0;  ///< of these: of functions that are in no interval
};

/// Attributes the words by which heaps grow between two samples of one process to the functions
/// that were seen meanwhile: split_words(). A function that runs for much less than the time
/// between samples is rarely seen, and its words count to the others. While a process is scheduled
/// out, messages can arrive on its heap: the interval has their words too. A function's words in an
/// interval count to the stacks that it was seen with in it, by their numbers of samples; a sample
/// without callers has no part in that if another one of the function and the interval has some.
/// What an interval that a collection cuts would have shown is taken from those next to it: a
/// function may allocate at one time and need room on the stack at another, in which it is
/// collected.
class HeapTops {
  public:
    /// `period_ns`: of samples, in processor time. `collections_seen`: each collection that begins
    /// in Erlang code has a point of its own.
    explicit HeapTops(std::uint64_t period_ns, bool collections_seen = false)
        : period_(static_cast<float>(period_ns)), collections_seen_(collections_seen) {}

    /// The points of one burst of samples, in any order. Between bursts nothing is connected.
    void add_burst(std::vector<HeapPoint> points);

    [[nodiscard]] Allocation estimate() const;

    /// False: no more is kept, memory would grow.
    [[nodiscard]] bool has_room() const;

  private:
    /// A process's points since the last one with a known top, that one first.
    struct Open {
        std::vector<const HeapPoint*> points;
        std::vector<float> gaps;  // before each point but the first, in periods
        bool scheduled_out = false;
        bool behind_gap = false;  ///< the first one: what was before it is not known
        /// The interval that ended with the first point.
        std::optional<std::size_t> before = {};
    };
    [[nodiscard]] bool grew(const HeapPoint& from, const HeapPoint& to) const;
    void add(HeapPoint& point, bool adjacent, Open& open);
    void close(const Open& open);
    void join_unknown_callers(std::vector<IntervalPart>& parts) const;
    std::uint32_t stack_of(const HeapPoint& point);
    void count(const HeapPoint& point);
    [[nodiscard]] std::uint32_t function_of(const IntervalPart& part) const {
        return stacks_.nodes()[part.stack].place;
    }
    /// Certain words of functions and stacks, of those that were split.
    void add_certain(const WordsSplit& split, Allocation& all, std::vector<double>& by_function,
                     std::vector<double>& by_stack) const;

    float period_;
    bool collections_seen_;
    StackTree stacks_;  // without weights
    std::uint32_t callers_not_known_ = stacks_.place({.function = std::string(kCallersNotKnown)});
    Intervals intervals_;
    std::map<std::uint32_t, std::uint64_t> collections_;  // by the function's place
    std::map<std::uint32_t, std::array<std::uint64_t, kGroups>> samples_;  // by place, and group
    double nanoseconds_ = 0;
    std::uint64_t unusable_ = 0;
    std::uint32_t bursts_ = 0;
};

}  // namespace beamdump::sampler
