#pragma once

#include <libdump/profile/stack_tree.h>

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
    std::uint64_t heap_top = 0;   ///< in bytes; in native code when it was called; 0: not known
    std::uint64_t stack_top = 0;  ///< where the room on the heap ends; 0: not known, in native code
    std::string function{};       ///< the innermost Erlang function; empty: not known
    /// Of the sample's moment, the innermost first; nothing: not known, or not wanted.
    std::optional<std::vector<std::string>> callers{};
    bool collection = false;  ///< the process is about to collect: there was no room
};

/// What is known of the allocation of one function, or of one stack.
struct AllocatedBy {
    double words = 0;               ///< on the heap, of those that were seen
    double certain_words = 0;       ///< of those: no other function, or stack, was seen at the time
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
    double seconds = 0;           ///< of a scheduler's time between these samples
    std::uint64_t intervals = 0;  ///< pairs of samples
    std::uint64_t unusable = 0;   ///< pairs between which a heap was collected, or changed hands
    std::uint64_t collections = 0;
};

/// Attributes the words by which heaps grow between neighbouring samples of one process to the
/// functions that were seen meanwhile. Where more than one was, words are split by each function's
/// rate of words and time, found from all samples and repeated until it stands (expectation
/// maximisation). A function that runs for much less than the time between samples is rarely seen,
/// and its words count to the others. A function's words in an interval count to the stacks that it
/// was seen with in it, by their numbers of samples; a sample without callers has no part in that
/// if another one of the function and the interval has some.
class HeapTops {
  public:
    /// The points of one burst of samples, in any order. Between bursts nothing is connected.
    void add_burst(std::vector<HeapPoint> points);

    [[nodiscard]] Allocation estimate() const;

    /// False: no more is kept, memory would grow.
    [[nodiscard]] bool has_room() const;

  private:
    struct Part {
        std::uint32_t stack = 0;  // a node; its place is the function
        float time = 0;           // in samples
    };
    struct Interval {
        std::uint32_t first_part = 0;
        std::uint32_t parts = 0;
        std::uint32_t burst = 0;
        double words = 0;
    };
    void add_thread(std::span<HeapPoint> points);
    void close(std::span<const HeapPoint> between, std::uint64_t words);
    void join_unknown_callers(std::vector<Part>& parts) const;
    std::uint32_t stack_of(const HeapPoint& point);
    [[nodiscard]] std::span<const Part> parts_of(const Interval& interval) const {
        return std::span(parts_).subspan(interval.first_part, interval.parts);
    }
    [[nodiscard]] std::uint32_t function_of(const Part& part) const {
        return stacks_.nodes()[part.stack].place;
    }
    /// Words of each stack, of intervals of all bursts but those of group `without`.
    [[nodiscard]] std::vector<double> split(std::uint32_t without) const;
    /// Words of each stack as those of each function.
    [[nodiscard]] std::vector<double> by_function(std::span<const double> by_stack) const;

    StackTree stacks_;  // without weights
    std::uint32_t callers_not_known_ = stacks_.place({.function = std::string(kCallersNotKnown)});
    std::vector<Part> parts_;
    std::vector<Interval> intervals_;
    std::map<std::uint32_t, std::uint64_t> collections_;  // by the function's place
    double nanoseconds_ = 0;
    std::uint64_t unusable_ = 0;
    std::uint32_t bursts_ = 0;
};

}  // namespace beamdump::sampler
