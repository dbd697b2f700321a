#pragma once

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
    std::string function{};       ///< the innermost Erlang function; empty: not known
    /// Of the sample's moment, the innermost first; nothing: not known, or not wanted.
    std::optional<std::vector<std::string>> callers{};
    bool collection = false;  ///< the process is about to collect: there was no room
    bool collects = false;    ///< it collects: this time is not the function's own
    bool after_loss = false;  ///< samples of the thread before this one were lost
};

/// What is known of the allocation of one function, or of one stack.
struct AllocatedBy {
    double words = 0;  ///< on the heap, of those that were seen
    /// Of those: no other function, or stack, was seen in the interval, and the process was not
    /// scheduled out.
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
    double scheduled_out_words = 0;  ///< of intervals in which the process was scheduled out
    double seconds = 0;              ///< of a scheduler's time in intervals
    std::uint64_t intervals = 0;     ///< between two samples with a known top
    std::uint64_t unusable = 0;      ///< in which a heap was collected
    std::uint64_t collections = 0;
    std::uint64_t samples = 0;      ///< in functions, without those of collections
    std::uint64_t not_covered = 0;  ///< of these: of functions that are in no interval
};

/// Attributes the words by which heaps grow between two samples of one process to the functions
/// that were seen meanwhile. Where more than one was, words are split by each function's rate of
/// words and time, found from all intervals and repeated until it stands (expectation
/// maximisation). A function's share of the words is its rate by its share of all samples: where a
/// heap is collected between two samples their interval is lost, the more often the more a function
/// allocates. A function that runs for much less than the time between samples is rarely seen, and
/// its words count to the others. While a process is scheduled out, messages can arrive on its
/// heap: the interval has their words too. A function's words in an interval count to the stacks
/// that it was seen with in it, by their numbers of samples; a sample without callers has no part
/// in that if another one of the function and the interval has some.
class HeapTops {
  public:
    /// The points of one burst of samples, in any order. Between bursts nothing is connected.
    void add_burst(std::vector<HeapPoint> points);

    [[nodiscard]] Allocation estimate() const;

    /// False: no more is kept, memory would grow.
    [[nodiscard]] bool has_room() const;

  private:
    /// Bursts are left out by groups to find how far a share may be off (jackknife).
    static constexpr std::uint32_t kGroups = 20;
    struct Part {
        std::uint32_t stack = 0;  // a node; its place is the function
        float time = 0;           // in samples
    };
    struct Interval {
        std::uint32_t first_part = 0;
        std::uint32_t parts = 0;
        std::uint32_t burst = 0;
        double words = 0;
        bool scheduled_out = false;
    };
    /// A process's points since the last one with a known top, that one first.
    struct Open {
        std::vector<const HeapPoint*> points;
        bool scheduled_out = false;
    };
    void add(HeapPoint& point, bool adjacent, Open& open);
    void close(const Open& open, const HeapPoint& end);
    void join_unknown_callers(std::vector<Part>& parts) const;
    std::uint32_t stack_of(const HeapPoint& point);
    void count(const HeapPoint& point);
    /// Time of each function, by its place: in all samples, or in intervals; of bursts of all
    /// groups but `without`.
    [[nodiscard]] std::vector<double> time_in_samples(std::uint32_t without) const;
    [[nodiscard]] std::vector<double> time_in_intervals(std::uint32_t without) const;
    [[nodiscard]] std::span<const Part> parts_of(const Interval& interval) const {
        return std::span(parts_).subspan(interval.first_part, interval.parts);
    }
    [[nodiscard]] std::uint32_t function_of(const Part& part) const {
        return stacks_.nodes()[part.stack].place;
    }
    /// Words of each stack in intervals, of bursts of all groups but `without`.
    [[nodiscard]] std::vector<double> split(std::uint32_t without) const;
    /// Words of each stack, of the same bursts, from those of split(): each function's rate by its
    /// time in all samples. The sum is the same.
    [[nodiscard]] std::vector<double> of_all_samples(std::vector<double> by_stack,
                                                     std::uint32_t without) const;
    /// Words of each stack as those of each function.
    [[nodiscard]] std::vector<double> by_function(std::span<const double> by_stack) const;

    StackTree stacks_;  // without weights
    std::uint32_t callers_not_known_ = stacks_.place({.function = std::string(kCallersNotKnown)});
    std::vector<Part> parts_;
    std::vector<Interval> intervals_;
    std::map<std::uint32_t, std::uint64_t> collections_;  // by the function's place
    std::map<std::uint32_t, std::array<std::uint64_t, kGroups>> samples_;  // by place, and group
    double nanoseconds_ = 0;
    std::uint64_t unusable_ = 0;
    std::uint32_t bursts_ = 0;
};

}  // namespace beamdump::sampler
