#include "alloc/heap_tops.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kMostIntervals = std::size_t{1} << 20U;
constexpr std::uint64_t kWordBytes = 8;
/// Bursts are left out by groups to find how far a share may be off (jackknife).
constexpr std::uint32_t kGroups = 20;
constexpr std::uint32_t kNoGroup = kGroups;
constexpr int kRepetitions = 60;

/// Whether the heap can have grown from one to the other without a collection.
bool grew(const HeapPoint& from, const HeapPoint& to) {
    return to.heap_top >= from.heap_top && from.stack_top >= from.heap_top &&
           to.heap_top - from.heap_top <= from.stack_top - from.heap_top;
}

}  // namespace

std::uint32_t HeapTops::number(const std::string& function) {
    const auto [known, is_new] =
        numbers_.emplace(function, static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
        names_.push_back(function);
        collections_.push_back(0);
    }
    return known->second;
}

bool HeapTops::has_room() const {
    return intervals_.size() < kMostIntervals && parts_.size() < 8 * kMostIntervals;
}

void HeapTops::add_burst(std::vector<HeapPoint> points) {
    std::ranges::stable_sort(
        points, {}, [](const HeapPoint& point) { return std::pair(point.thread, point.time_ns); });
    for (std::size_t begin = 0; begin < points.size();) {
        auto end = begin;
        while (end < points.size() && points[end].thread == points[begin].thread) {
            ++end;
        }
        add_thread(std::span(points).subspan(begin, end - begin));
        begin = end;
    }
    ++bursts_;
}

void HeapTops::add_thread(std::span<const HeapPoint> points) {
    std::size_t from = points.size();  // the last point with a known top; none yet
    for (std::size_t at = 0; at < points.size(); ++at) {
        const auto& point = points[at];
        if (point.collection && !point.function.empty()) {
            ++collections_[number(point.function)];
        }
        const bool connected = from < at && point.process == points[from].process;
        if (point.heap_top == 0) {
            // Native code of the same process goes on from there, and may allocate.
            if (!connected) {
                unusable_ += from < at ? 1 : 0;
                from = points.size();
            }
            continue;
        }
        if (connected && grew(points[from], point)) {
            nanoseconds_ += static_cast<double>(point.time_ns - points[from].time_ns);
            close(points.subspan(from, at - from + 1),
                  (point.heap_top - points[from].heap_top) / kWordBytes);
        } else if (from < at) {
            ++unusable_;
        }
        from = point.collection ? points.size() : at;
    }
}

/// The first and the last point stand for half of the time of one between.
void HeapTops::close(std::span<const HeapPoint> between, std::uint64_t words) {
    Interval interval{.first_part = static_cast<std::uint32_t>(parts_.size()),
                      .burst = bursts_,
                      .words = static_cast<double>(words)};
    for (std::size_t at = 0; at < between.size(); ++at) {
        if (between[at].function.empty()) {
            continue;  // native code whose caller had gone on
        }
        const auto function = number(between[at].function);
        const float time = at == 0 || at + 1 == between.size() ? 0.5F : 1.0F;
        const auto known = std::ranges::find(std::span(parts_).subspan(interval.first_part),
                                             function, &Part::function);
        if (known != std::span(parts_).subspan(interval.first_part).end()) {
            known->time += time;
        } else {
            parts_.push_back({function, time});
        }
    }
    interval.parts = static_cast<std::uint32_t>(parts_.size()) - interval.first_part;
    intervals_.push_back(interval);
}

std::vector<double> HeapTops::split(std::uint32_t without) const {
    std::vector<double> time(names_.size(), 0);
    std::vector<double> rate(names_.size(), 1);
    std::vector<double> words(names_.size(), 0);
    const auto parts_of = [this](const Interval& interval) {
        return std::span(parts_).subspan(interval.first_part, interval.parts);
    };
    for (const auto& interval : intervals_) {
        if (interval.burst % kGroups != without) {
            for (const auto& part : parts_of(interval)) {
                time[part.function] += part.time;
            }
        }
    }
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
        std::ranges::fill(words, 0.0);
        for (const auto& interval : intervals_) {
            if (interval.burst % kGroups == without || interval.words == 0) {
                continue;
            }
            double all = 0;
            for (const auto& part : parts_of(interval)) {
                all += part.time * rate[part.function];
            }
            for (const auto& part : parts_of(interval)) {
                // If none has allocated elsewhere, they share by time.
                const double weight = all > 0 ? part.time * rate[part.function] / all
                                              : 1.0 / static_cast<double>(interval.parts);
                words[part.function] += interval.words * weight;
            }
        }
        for (std::size_t function = 0; function < rate.size(); ++function) {
            rate[function] = time[function] > 0 ? words[function] / time[function] : 0;
        }
    }
    return words;
}

Allocation HeapTops::estimate() const {
    Allocation all{
        .seconds = nanoseconds_ / 1e9, .intervals = intervals_.size(), .unusable = unusable_};
    std::vector<double> certain(names_.size(), 0);
    for (const auto& interval : intervals_) {
        all.words += interval.words;
        if (interval.parts == 1) {
            certain[parts_[interval.first_part].function] += interval.words;
            all.certain_words += interval.words;
        }
    }
    const auto words = split(kNoGroup);
    // The error of a share: of the shares without one group of bursts each (jackknife).
    std::vector<double> squares(names_.size(), 0);
    const auto groups = std::min(bursts_, kGroups);
    for (std::uint32_t group = 0; groups > 1 && group < groups; ++group) {
        const auto rest = split(group);
        double sum = 0;
        for (const auto one : rest) {
            sum += one;
        }
        for (std::size_t function = 0; sum > 0 && function < rest.size(); ++function) {
            const auto off = rest[function] / sum - words[function] / all.words;
            squares[function] += off * off;
        }
    }
    const double scale = groups > 1 ? (groups - 1.0) / groups : 0;
    for (std::size_t function = 0; function < names_.size(); ++function) {
        all.collections += collections_[function];
        if (words[function] > 0 || collections_[function] != 0) {
            all.functions[names_[function]] = {.words = words[function],
                                               .certain_words = certain[function],
                                               .error = 1.96 * std::sqrt(scale * squares[function]),
                                               .collections = collections_[function]};
        }
    }
    return all;
}

}  // namespace beamdump::sampler
