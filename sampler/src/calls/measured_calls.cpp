#include "calls/measured_calls.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kBytesOfWord = 8;
constexpr double k95 = 1.96;

/// The calls of one process that are under way, the outermost first.
using OpenCalls = std::vector<CallPoint>;

class Window {
  public:
    Window(std::uint64_t returns_to, bool calls_itself, MeasuredCalls& into)
        : returns_to_(returns_to), calls_itself_(calls_itself), into_(into) {}

    void add(const CallPoint& point) {
        switch (point.kind) {
            case CallPoint::Kind::kEntry:
                if (point.returns_to == returns_to_) {
                    enter(point);
                }
                break;
            case CallPoint::Kind::kReturn:
                leave(point);
                break;
            case CallPoint::Kind::kCollection:
                collect(point);
                break;
        }
    }

    void end() {
        for (const auto& [process, calls] : open_) {
            into_.not_ended += calls.size();
        }
        into_.windows += any_ ? 1 : 0;
    }

  private:
    void enter(const CallPoint& point) {
        auto& calls = open_[point.process];
        drop_deeper(calls, point.stack_top);
        if (!calls.empty() && calls.back().stack_top == point.stack_top) {
            if (calls_itself_) {
                measure(calls.back(), point);
            } else {
                ++into_.not_ended;
            }
            calls.pop_back();
        }
        calls.push_back(point);
    }

    void leave(const CallPoint& point) {
        const auto found = open_.find(point.process);
        if (found == open_.end()) {
            return;
        }
        // The return has taken its address off the stack.
        const auto stack_top = point.stack_top - kBytesOfWord;
        drop_deeper(found->second, stack_top);
        if (!found->second.empty() && found->second.back().stack_top == stack_top) {
            measure(found->second.back(), point);
            found->second.pop_back();
        }
    }

    /// The stack grows down: what began further down has ended, or its stack was moved.
    void drop_deeper(OpenCalls& calls, std::uint64_t stack_top) {
        while (!calls.empty() && calls.back().stack_top < stack_top) {
            ++into_.not_ended;
            calls.pop_back();
        }
    }

    /// Where it is not known whose heap it was, of all that began on the thread.
    void collect(const CallPoint& point) {
        for (auto& [process, calls] : open_) {
            if (point.process != 0 && process != point.process) {
                continue;
            }
            const auto gone = std::erase_if(calls, [&](const CallPoint& call) {
                return point.process != 0 || call.thread == point.thread;
            });
            into_.collected += gone;
        }
    }

    void measure(const CallPoint& from, const CallPoint& to) {
        // On another thread a collection may have been missed.
        const bool grew = to.thread == from.thread && to.heap_top >= from.heap_top &&
                          from.stack_top >= from.heap_top &&
                          to.heap_top - from.heap_top <= from.stack_top - from.heap_top;
        if (!grew) {
            ++into_.not_ended;
            return;
        }
        const std::uint64_t grown = (to.heap_top - from.heap_top) / kBytesOfWord;
        const auto words = static_cast<double>(grown);
        ++into_.calls;
        into_.words += words;
        into_.squares += words * words;
        any_ = true;
    }

    std::uint64_t returns_to_;
    bool calls_itself_;
    MeasuredCalls& into_;
    std::map<std::uint64_t, OpenCalls> open_;
    bool any_ = false;
};

constexpr std::size_t kMostPlaces = 4096;

}  // namespace

void CallWords::add_window(std::vector<CallPoint> points, std::uint64_t returns_to,
                           bool calls_itself) {
    std::ranges::stable_sort(points, {}, &CallPoint::time_ns);
    Window window(returns_to, calls_itself, measured_[returns_to]);
    for (const auto& point : points) {
        window.add(point);
    }
    window.end();
}

std::optional<WordsOfCall> words_of_call(const std::map<std::uint64_t, MeasuredCalls>& measured,
                                         const std::map<std::uint64_t, ReturnPlace>& places) {
    struct Stratum {
        double weight = 0, mean = 0, variance = 0, windows = 0;
    };
    std::vector<Stratum> strata;
    double all = 0;
    double known = 0;
    double samples = 0;
    for (const auto& [address, place] : places) {
        all += place.weight;
        const auto found = measured.find(address);
        if (found == measured.end() || found->second.calls == 0 || place.samples == 0) {
            continue;
        }
        const auto& calls = found->second;
        const auto count = static_cast<double>(calls.calls);
        const auto mean = calls.words / count;
        strata.push_back({place.weight, mean, std::max(0.0, calls.squares / count - mean * mean),
                          static_cast<double>(calls.windows)});
        known += place.weight;
        samples += static_cast<double>(place.samples);
    }
    if (strata.empty()) {
        return std::nullopt;
    }
    WordsOfCall found{.share = known / all};
    for (const auto& stratum : strata) {
        found.words += stratum.weight / known * stratum.mean;
    }
    double variance = 0;
    for (const auto& stratum : strata) {
        const auto share = stratum.weight / known;
        const auto off = stratum.mean - found.words;
        variance +=
            share * share * stratum.variance / stratum.windows + share * off * off / samples;
    }
    found.error = k95 * std::sqrt(variance);
    return found;
}

void CallCounts::add_window(double seconds, std::uint64_t calls,
                            const std::vector<std::uint64_t>& returns_to) {
    if (seconds <= 0) {
        return;
    }
    rate_.add_window(seconds, calls);
    for (const auto place : returns_to) {
        if (places_.size() < kMostPlaces || places_.contains(place)) {
            auto& known = places_[place];
            known.weight +=
                static_cast<double>(calls) / seconds / static_cast<double>(returns_to.size());
            ++known.samples;
        }
    }
}

}  // namespace beamdump::sampler
