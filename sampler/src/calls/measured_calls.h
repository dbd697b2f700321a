#pragma once

#include <libsample/profile/call_windows.h>

#include <cstdint>
#include <map>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace beamdump::sampler {

/// One moment at which a breakpoint was reached, with the registers of that moment.
struct CallPoint {
    enum class Kind : std::uint8_t {
        kEntry,       ///< at the function's first instruction
        kReturn,      ///< at the place that its calls return to
        kCollection,  ///< a collection of the heap of the thread's process
    };
    Kind kind = Kind::kEntry;
    std::uint64_t time_ns = 0;
    pid_t thread = 0;
    std::uint64_t process = 0;  ///< its structure's address; of a collection 0: not known
    std::uint64_t heap_top = 0;
    std::uint64_t stack_top = 0;
    std::uint64_t returns_to = 0;  ///< of an entry: the return address on the stack's top
};

/// Calls whose words on the heap are known.
struct MeasuredCalls {
    std::uint64_t calls = 0;
    std::uint64_t windows = 0;  ///< in which they were
    double words = 0;
    double squares = 0;  ///< of the words of each
    // Calls that began in a window and whose words are not known:
    std::uint64_t collected = 0;  ///< the heap was collected meanwhile
    std::uint64_t not_ended = 0;  ///< they were not seen to end in it
};

/// Finds how many words calls build on the heap, from breakpoints at a function and at a place that
/// it returns to: the heap's top at the return less that at the entry. All of it is of the call and
/// what it calls. A call that ends by calling the function again (a tail call) ends there.
class CallWords {
  public:
    /// Points of one window, in any order. Of entries those that return to `returns_to`.
    /// `calls_itself`: the function has a tail call of itself. Otherwise a second entry with the
    /// same stack means that the first call ended by an exception, and its words are not known.
    void add_window(std::vector<CallPoint> points, std::uint64_t returns_to, bool calls_itself);

    /// By the address that they return to.
    [[nodiscard]] const std::map<std::uint64_t, MeasuredCalls>& measured() const {
        return measured_;
    }

  private:
    std::map<std::uint64_t, MeasuredCalls> measured_;
};

/// Calls by a place that they return to.
struct ReturnPlace {
    double weight = 0;          ///< calls a second, summed over windows
    std::uint64_t samples = 0;  ///< by which that is known
};

/// The words of a call, by the shares of places that calls return to.
struct WordsOfCall {
    double words = 0;  ///< of a call, in the mean
    double error = 0;  ///< half of the 95% interval
    double share = 0;  ///< of calls that return to places where some were measured
};

/// Nothing: no call was measured. The error is of the calls that were measured, each window taken
/// for one call, since those of a window may be alike; and of the shares of the places.
std::optional<WordsOfCall> words_of_call(const std::map<std::uint64_t, MeasuredCalls>& measured,
                                         const std::map<std::uint64_t, ReturnPlace>& places);

/// The calls of one function, from windows in which all were counted and some sampled.
class CallCounts {
  public:
    /// A window of so many seconds with so many calls; `returns_to`: of the sampled ones.
    void add_window(double seconds, std::uint64_t calls,
                    const std::vector<std::uint64_t>& returns_to);

    [[nodiscard]] const CallRate& rate() const { return rate_; }

    /// The places that calls return to, by the return address that was sampled.
    [[nodiscard]] const std::map<std::uint64_t, ReturnPlace>& places() const { return places_; }

  private:
    CallRate rate_;
    std::map<std::uint64_t, ReturnPlace> places_;
};

}  // namespace beamdump::sampler
