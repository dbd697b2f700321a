#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace beamdump::sampler {

/// What a sample of a scheduler's thread tells about one process's heap.
struct HeapPoint {
    std::uint64_t time_ns = 0;
    pid_t thread = 0;
    std::uint64_t process = 0;    ///< its structure's address; 0: none, or it is not known
    std::uint64_t heap_top = 0;   ///< in bytes; 0: not known, as in native code
    std::uint64_t stack_top = 0;  ///< where the room on the heap ends
    std::string function{};       ///< the innermost Erlang function; empty: not known
    bool collection = false;      ///< the process is about to collect: there was no room
};

/// What is known of one function's allocation.
struct AllocatedBy {
    double words = 0;               ///< on the heap, of those that were seen
    double certain_words = 0;       ///< of those: no other function was seen at the time
    double error = 0;               ///< of its share of all words: half of the 95% interval
    std::uint64_t collections = 0;  ///< that began in it
};

/// All of it.
struct Allocation {
    std::map<std::string, AllocatedBy> functions{};
    double words = 0;  ///< seen between samples, in all
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
/// and its words count to the others.
class HeapTops {
  public:
    /// The points of one burst of samples, in any order. Between bursts nothing is connected.
    void add_burst(std::vector<HeapPoint> points);

    [[nodiscard]] Allocation estimate() const;

    /// False: no more is kept, memory would grow.
    [[nodiscard]] bool has_room() const;

  private:
    struct Part {
        std::uint32_t function = 0;
        float time = 0;  // in samples
    };
    struct Interval {
        std::uint32_t first_part = 0;
        std::uint32_t parts = 0;
        std::uint32_t burst = 0;
        double words = 0;
    };
    void add_thread(std::span<const HeapPoint> points);
    void close(std::span<const HeapPoint> between, std::uint64_t words);
    std::uint32_t number(const std::string& function);
    /// Words of each function, of intervals of all bursts but those of group `without`.
    [[nodiscard]] std::vector<double> split(std::uint32_t without) const;

    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<std::string> names_;
    std::vector<Part> parts_;
    std::vector<Interval> intervals_;
    std::vector<std::uint64_t> collections_;  // by function
    double nanoseconds_ = 0;
    std::uint64_t unusable_ = 0;
    std::uint32_t bursts_ = 0;
};

}  // namespace beamdump::sampler
