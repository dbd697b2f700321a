#include "alloc/heap_tops.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kMostIntervals = std::size_t{1} << 20U;
constexpr std::uint64_t kMostStackBytes = std::uint64_t{128} << 20U;
constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint32_t kNoGroup = ~0U;
constexpr int kRepetitions = 60;

/// Whether the heap can have grown from one to the other without a collection.
bool grew(const HeapPoint& from, const HeapPoint& to) {
    const bool same_heap = from.heap == 0 || to.heap == 0 || from.heap == to.heap;
    return same_heap && from.heap_top >= to.heap && to.heap_top >= from.heap_top &&
           from.stack_top >= from.heap_top &&
           to.heap_top - from.heap_top <= from.stack_top - from.heap_top;
}

}  // namespace

std::uint32_t HeapTops::stack_of(const HeapPoint& point) {
    std::vector<std::uint32_t> places{stacks_.place({.function = point.function})};
    if (point.callers) {
        for (const auto& caller : *point.callers) {
            places.push_back(stacks_.place({.function = caller}));
        }
    } else {
        places.push_back(callers_not_known_);
    }
    return stacks_.add(places, 0);
}

bool HeapTops::has_room() const {
    return intervals_.size() < kMostIntervals && parts_.size() < 8 * kMostIntervals &&
           stacks_.bytes() < kMostStackBytes;
}

void HeapTops::add_burst(std::vector<HeapPoint> points) {
    std::ranges::stable_sort(points, {}, &HeapPoint::time_ns);
    std::map<std::pair<std::uint64_t, std::uint64_t>, Open> processes;
    std::map<pid_t, const HeapPoint*> last;  // of each thread
    for (auto& point : points) {
        count(point);
        if (point.after_loss) {
            // Any process may have run there meanwhile.
            processes.clear();
        }
        const auto* before = std::exchange(last[point.thread], &point);
        if (point.process != 0) {
            auto& open = processes[{point.process, point.pid}];
            add(point, !open.points.empty() && open.points.back() == before, open);
        }
    }
    ++bursts_;
}

void HeapTops::count(const HeapPoint& point) {
    if (point.function.empty()) {
        return;
    }
    const auto place = stacks_.place({.function = point.function});
    if (point.collection) {
        ++collections_[place];
    } else if (!point.collects) {
        ++samples_[place][bursts_ % kGroups];
    }
}

void HeapTops::add(HeapPoint& point, bool adjacent, Open& open) {
    const bool connected = !open.points.empty();
    open.scheduled_out = connected && (open.scheduled_out || !adjacent);
    const bool room_unknown = point.heap_top != 0 && point.stack_top == 0;
    if (room_unknown && connected) {
        point.stack_top = open.points.front()->stack_top;
    }
    if (point.heap_top == 0 || point.stack_top == 0) {
        // Native code of the same process goes on from there, and may allocate.
        if (connected) {
            open.points.push_back(&point);
        }
        return;
    }
    const bool usable = connected && grew(*open.points.front(), point);
    if (usable) {
        close(open, point);
    } else if (connected) {
        ++unusable_;
    }
    open = {};
    // Behind a collection the room is not known before the next point in Erlang code.
    if (!point.collection && (usable || !room_unknown)) {
        open.points.push_back(&point);
    }
}

/// Gives the time of samples without callers to those of the same function with some.
void HeapTops::join_unknown_callers(std::vector<Part>& parts) const {
    const auto unknown = [this](const Part& part) {
        const auto parent = stacks_.nodes()[part.stack].parent;
        return parent != StackTree::kRoot && stacks_.nodes()[parent].place == callers_not_known_;
    };
    for (auto& part : parts) {
        if (!unknown(part)) {
            continue;
        }
        float known = 0;
        for (const auto& other : parts) {
            known += function_of(other) == function_of(part) && !unknown(other) ? other.time : 0;
        }
        if (known <= 0) {
            continue;
        }
        for (auto& other : parts) {
            if (function_of(other) == function_of(part) && !unknown(other)) {
                other.time *= 1 + part.time / known;
            }
        }
        part.time = 0;
    }
    std::erase_if(parts, [](const Part& part) { return part.time <= 0; });
}

/// The first and the last point stand for half of the time of one between.
void HeapTops::close(const Open& open, const HeapPoint& end) {
    std::vector<Part> parts;
    const auto add_time = [&](const HeapPoint& point, float time) {
        if (point.function.empty()) {
            return;  // native code whose caller had gone on
        }
        const auto stack = stack_of(point);
        const auto known = std::ranges::find(parts, stack, &Part::stack);
        if (known != parts.end()) {
            known->time += time;
        } else {
            parts.push_back({stack, time});
        }
    };
    for (const auto* point : open.points) {
        add_time(*point, point == open.points.front() ? 0.5F : 1.0F);
    }
    add_time(end, 0.5F);
    join_unknown_callers(parts);
    const auto& begin = *open.points.front();
    nanoseconds_ += open.scheduled_out ? 0 : static_cast<double>(end.time_ns - begin.time_ns);
    intervals_.push_back(
        {.first_part = static_cast<std::uint32_t>(parts_.size()),
         .parts = static_cast<std::uint32_t>(parts.size()),
         .burst = bursts_,
         .words = static_cast<double>((end.heap_top - begin.heap_top) / kWordBytes),
         .scheduled_out = open.scheduled_out});
    parts_.insert(parts_.end(), parts.begin(), parts.end());
}

std::vector<double> HeapTops::time_in_intervals(std::uint32_t without) const {
    std::vector<double> time(stacks_.places().size(), 0);
    for (const auto& interval : intervals_) {
        if (interval.burst % kGroups != without) {
            for (const auto& part : parts_of(interval)) {
                time[function_of(part)] += part.time;
            }
        }
    }
    return time;
}

std::vector<double> HeapTops::time_in_samples(std::uint32_t without) const {
    std::vector<double> time(stacks_.places().size(), 0);
    for (const auto& [place, groups] : samples_) {
        for (std::uint32_t group = 0; group < kGroups; ++group) {
            time[place] += group == without ? 0 : static_cast<double>(groups[group]);
        }
    }
    return time;
}

std::vector<double> HeapTops::split(std::uint32_t without) const {
    const auto time = time_in_intervals(without);
    std::vector<double> rate(time.size(), 1);
    const auto each_part = [&](const auto& visit) {
        for (const auto& interval : intervals_) {
            if (interval.burst % kGroups == without || interval.words == 0) {
                continue;
            }
            double all = 0;
            double time_of_all = 0;
            for (const auto& part : parts_of(interval)) {
                all += part.time * rate[function_of(part)];
                time_of_all += part.time;
            }
            for (const auto& part : parts_of(interval)) {
                // If none has allocated elsewhere, they share by time.
                visit(part, interval.words * (all > 0 ? part.time * rate[function_of(part)] / all
                                                      : part.time / time_of_all));
            }
        }
    };
    std::vector<double> words(rate.size(), 0);
    for (int repetition = 1; repetition < kRepetitions; ++repetition) {
        std::ranges::fill(words, 0.0);
        each_part(
            [&](const Part& part, double part_words) { words[function_of(part)] += part_words; });
        for (std::size_t function = 0; function < rate.size(); ++function) {
            rate[function] = time[function] > 0 ? words[function] / time[function] : 0;
        }
    }
    std::vector<double> by_stack(stacks_.nodes().size(), 0);
    each_part([&](const Part& part, double part_words) { by_stack[part.stack] += part_words; });
    return by_stack;
}

std::vector<double> HeapTops::of_all_samples(std::vector<double> by_stack,
                                             std::uint32_t without) const {
    const auto time = time_in_intervals(without);
    const auto in_samples = time_in_samples(without);
    const auto seen = std::reduce(by_stack.begin(), by_stack.end());
    for (std::size_t stack = 0; stack < by_stack.size(); ++stack) {
        const auto function = stacks_.nodes()[stack].place;
        by_stack[stack] *= time[function] > 0 ? in_samples[function] / time[function] : 0;
    }
    if (const auto all = std::reduce(by_stack.begin(), by_stack.end()); all > 0) {
        std::ranges::for_each(by_stack, [&](double& words) { words *= seen / all; });
    }
    return by_stack;
}

std::vector<double> HeapTops::by_function(std::span<const double> by_stack) const {
    std::vector<double> words(stacks_.places().size(), 0);
    for (std::size_t stack = 0; stack < by_stack.size(); ++stack) {
        words[stacks_.nodes()[stack].place] += by_stack[stack];
    }
    return words;
}

Allocation HeapTops::estimate() const {
    Allocation all{.stacks = stacks_,
                   .seconds = nanoseconds_ / 1e9,
                   .intervals = intervals_.size(),
                   .unusable = unusable_};
    const auto& nodes = stacks_.nodes();
    std::vector<double> certain(stacks_.places().size(), 0);
    std::vector<double> certain_by_stack(nodes.size(), 0);
    for (const auto& interval : intervals_) {
        all.words += interval.words;
        const auto parts = parts_of(interval);
        if (interval.scheduled_out) {
            all.scheduled_out_words += interval.words;
            continue;
        }
        const auto function = function_of(parts.front());
        if (std::ranges::all_of(parts,
                                [&](const Part& part) { return function_of(part) == function; })) {
            certain[function] += interval.words;
        }
        if (parts.size() == 1) {
            certain_by_stack[parts.front().stack] += interval.words;
        }
    }
    const auto in_intervals_by_stack = split(kNoGroup);
    const auto words_by_stack = of_all_samples(in_intervals_by_stack, kNoGroup);
    const auto words = by_function(words_by_stack);
    const auto words_in_intervals = by_function(in_intervals_by_stack);
    const auto scale_certain = [&](double& words_of, std::uint32_t function) {
        words_of *=
            words_in_intervals[function] > 0 ? words[function] / words_in_intervals[function] : 0;
    };
    for (std::uint32_t function = 0; function < certain.size(); ++function) {
        scale_certain(certain[function], function);
        all.certain_words += certain[function];
    }
    for (std::uint32_t stack = 0; stack < nodes.size(); ++stack) {
        scale_certain(certain_by_stack[stack], nodes[stack].place);
    }
    const auto in_intervals = time_in_intervals(kNoGroup);
    const auto in_samples = time_in_samples(kNoGroup);
    for (std::size_t function = 0; function < in_samples.size(); ++function) {
        const auto samples = static_cast<std::uint64_t>(in_samples[function]);
        all.samples += samples;
        all.not_covered += in_intervals[function] > 0 ? 0 : samples;
    }
    // The error of a share: of the shares without one group of bursts each (jackknife).
    std::vector<double> squares(words.size(), 0);
    std::vector<double> squares_by_stack(nodes.size(), 0);
    const auto groups = std::min(bursts_, kGroups);
    const auto add_squares = [&all](std::span<const double> rest, std::span<const double> whole,
                                    std::span<double> into) {
        const double sum = std::reduce(rest.begin(), rest.end());
        for (std::size_t at = 0; sum > 0 && at < rest.size(); ++at) {
            const auto off = rest[at] / sum - whole[at] / all.words;
            into[at] += off * off;
        }
    };
    for (std::uint32_t group = 0; groups > 1 && group < groups; ++group) {
        const auto rest = of_all_samples(split(group), group);
        add_squares(rest, words_by_stack, squares_by_stack);
        add_squares(by_function(rest), words, squares);
    }
    const double scale = groups > 1 ? (groups - 1.0) / groups : 0;
    const auto error = [scale](double sum) { return 1.96 * std::sqrt(scale * sum); };
    for (std::uint32_t function = 0; function < words.size(); ++function) {
        const auto began = collections_.find(function);
        const auto collections = began != collections_.end() ? began->second : 0;
        all.collections += collections;
        if (words[function] > 0 || collections != 0) {
            all.functions[stacks_.places()[function].function] = {
                .words = words[function],
                .certain_words = certain[function],
                .error = error(squares[function]),
                .collections = collections};
        }
    }
    for (std::uint32_t stack = 0; stack < nodes.size(); ++stack) {
        if (words_by_stack[stack] > 0) {
            all.by_stack[stack] = {.words = words_by_stack[stack],
                                   .certain_words = certain_by_stack[stack],
                                   .error = error(squares_by_stack[stack])};
            all.stacks.add_weight(stack,
                                  static_cast<std::uint64_t>(std::llround(words_by_stack[stack])));
        }
    }
    return all;
}

}  // namespace beamdump::sampler
