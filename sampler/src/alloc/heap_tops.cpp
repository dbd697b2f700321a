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
/// Between two samples of a thread, in periods: longer ones are those in which it did not run.
constexpr float kLongestGap = 2;

/// More than any processor writes in a nanosecond.
constexpr std::uint64_t kMostBytesOfANanosecond = 32;
/// In samples: from the middle between two of them to one.
constexpr double kHalf = 0.5;

/// The part of all words that is made up for beside collections, where functions have so many.
double made_up_share(const Intervals& intervals, std::span<const std::uint32_t> function_of,
                     std::span<const double> words) {
    std::vector<double> time(words.size(), 0);
    std::vector<double> made_up(words.size(), 0);
    for (const auto& interval : intervals.all()) {
        for (const auto& part : intervals.parts_of(interval)) {
            const auto function = function_of[part.stack];
            time[function] += part.time * interval.weight;
            made_up[function] += part.time * (interval.weight - 1);
        }
    }
    double all = 0;
    double sum = 0;
    for (std::size_t function = 0; function < words.size(); ++function) {
        all += words[function];
        sum += time[function] > 0 ? words[function] * made_up[function] / time[function] : 0;
    }
    return all > 0 ? sum / all : 0;
}

bool is_in_heap_of(std::uint64_t top, const HeapPoint& point) {
    return point.heap != 0 && top >= point.heap && top < point.heap_end;
}

}  // namespace

/// Whether the heap can have grown from one to the other without a collection: into the room that
/// was left, or, where calls have returned meanwhile, into what was the stack. There the block must
/// be known to be the same, or all collections.
bool HeapTops::grew(const HeapPoint& from, const HeapPoint& to) const {
    const bool same_heap = from.heap == 0 || to.heap == 0 || from.heap == to.heap;
    if (!same_heap || from.heap_top < to.heap || to.heap_top < from.heap_top ||
        from.stack_top < from.heap_top) {
        return false;
    }
    if (to.heap_top <= from.stack_top) {
        return true;
    }
    const bool possible =
        to.heap_top - from.heap_top <= kMostBytesOfANanosecond * (to.time_ns - from.time_ns);
    return to.stack_top > from.stack_top && to.heap_top <= to.stack_top &&
           (is_in_heap_of(to.heap_top, from) || is_in_heap_of(from.heap_top, to) ||
            (collections_seen_ && possible));
}

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
    return intervals_.all().size() < kMostIntervals && intervals_.parts() < 8 * kMostIntervals &&
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
    // The process had no part of the time in which it, or its thread, was scheduled out.
    const auto gap = connected && adjacent
                         ? static_cast<float>(point.time_ns - open.points.back()->time_ns) / period_
                         : 1.0F;
    const auto own = std::min(gap, kLongestGap);
    const bool room_unknown = point.heap_top != 0 && point.stack_top == 0;
    if (room_unknown && connected) {
        point.stack_top = open.points.front()->stack_top;
    }
    if (point.heap_top == 0 || point.stack_top == 0) {
        // Native code of the same process goes on from there, and may allocate.
        if (connected) {
            open.points.push_back(&point);
            open.gaps.push_back(own);
        }
        return;
    }
    const bool usable = connected && grew(*open.points.front(), point);
    if (usable) {
        open.gaps.push_back(own);
        open.points.push_back(&point);
        close(open);
        if (open.behind_gap) {
            intervals_.stands_for_more(intervals_.all().size() - 1, kHalf);
        }
    } else if (connected) {
        ++unusable_;
        if (open.before) {
            intervals_.stands_for_more(*open.before, kHalf);
        }
    }
    const bool behind_gap = point.collection || (connected ? !usable : open.behind_gap);
    open = {};
    open.behind_gap = behind_gap;
    if (usable) {
        open.before = intervals_.all().size() - 1;
    }
    // Behind a collection the room is not known before the next point in Erlang code.
    if (!point.collection && (usable || !room_unknown)) {
        open.points.push_back(&point);
    }
}

/// Gives the time of samples without callers to those of the same function with some.
void HeapTops::join_unknown_callers(std::vector<IntervalPart>& parts) const {
    const auto unknown = [this](const IntervalPart& part) {
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
    std::erase_if(parts, [](const IntervalPart& part) { return part.time <= 0; });
}

/// Each point stands for half of the time since the one before and until the next one.
void HeapTops::close(const Open& open) {
    std::vector<IntervalPart> parts;
    const auto add_time = [&](const HeapPoint& point, float time) {
        if (point.function.empty()) {
            return;  // native code whose caller had gone on
        }
        const auto stack = stack_of(point);
        const auto known = std::ranges::find(parts, stack, &IntervalPart::stack);
        if (known != parts.end()) {
            known->time += time;
        } else {
            parts.push_back({stack, time});
        }
    };
    for (std::size_t at = 0; at < open.points.size(); ++at) {
        const auto before = at == 0 ? 0 : open.gaps[at - 1];
        const auto after = at == open.gaps.size() ? 0 : open.gaps[at];
        add_time(*open.points[at], (before + after) / 2);
    }
    join_unknown_callers(parts);
    const auto& begin = *open.points.front();
    const auto& end = *open.points.back();
    const auto words = (end.heap_top - begin.heap_top) / kWordBytes;
    nanoseconds_ += open.scheduled_out ? 0 : static_cast<double>(end.time_ns - begin.time_ns);
    intervals_.add({.group = bursts_ % kGroups,
                    .words = static_cast<double>(words),
                    .scheduled_out = open.scheduled_out},
                   parts);
}

void HeapTops::add_certain(const WordsSplit& split, Allocation& all,
                           std::vector<double>& by_function, std::vector<double>& by_stack) const {
    for (const auto& interval : intervals_.all()) {
        const auto parts = intervals_.parts_of(interval);
        if (interval.scheduled_out || parts.empty()) {
            continue;
        }
        const auto function = function_of(parts.front());
        const auto words = interval.words * interval.weight * split.scale[function];
        if (std::ranges::all_of(
                parts, [&](const IntervalPart& part) { return function_of(part) == function; })) {
            by_function[function] += words;
            all.certain_words += words;
        }
        if (parts.size() == 1) {
            by_stack[parts.front().stack] += words;
        }
    }
}

Allocation HeapTops::estimate() const {
    Allocation all{.stacks = stacks_,
                   .seconds = nanoseconds_ / 1e9,
                   .intervals = intervals_.all().size(),
                   .unusable = unusable_};
    const auto& nodes = stacks_.nodes();
    std::vector<std::uint32_t> function_of;
    std::ranges::transform(nodes, std::back_inserter(function_of), &StackTree::Node::place);
    std::vector<std::array<std::uint64_t, kGroups>> samples(stacks_.places().size());
    for (const auto& [place, groups] : samples_) {
        samples[place] = groups;
    }
    const Seen seen{intervals_, function_of, samples};
    const auto inside = found_inside(seen);
    const auto split = split_words(seen, inside, kNoGroup);
    const auto& words = split.by_function;
    all.words = std::reduce(words.begin(), words.end());
    all.scheduled_out_words = std::reduce(split.scheduled_out.begin(), split.scheduled_out.end());
    std::vector<double> certain(words.size(), 0);
    std::vector<double> certain_by_stack(nodes.size(), 0);
    add_certain(split, all, certain, certain_by_stack);
    for (std::size_t function = 0; function < samples.size(); ++function) {
        const auto of_function = std::reduce(samples[function].begin(), samples[function].end());
        all.samples += of_function;
        all.not_covered += split.scale[function] > 0 ? 0 : of_function;
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
        const auto rest = split_words(seen, inside, group);
        add_squares(rest.by_stack, split.by_stack, squares_by_stack);
        add_squares(rest.by_function, words, squares);
    }
    const double scale = groups > 1 ? (groups - 1.0) / groups : 0;
    // What is made up for beside collections was not seen: it may be another's.
    const auto made_up = made_up_share(intervals_, function_of, words);
    const auto error = [&](double sum, double own_words) {
        return 1.96 * std::sqrt(scale * sum) + std::min(made_up, own_words / all.words);
    };
    for (std::uint32_t function = 0; function < words.size(); ++function) {
        const auto began = collections_.find(function);
        const auto collections = began != collections_.end() ? began->second : 0;
        all.collections += collections;
        if (words[function] > 0 || collections != 0) {
            all.functions[stacks_.places()[function].function] = {
                .words = words[function],
                .certain_words = certain[function],
                .error = error(squares[function], words[function]),
                .collections = collections};
        }
    }
    for (std::uint32_t stack = 0; stack < nodes.size(); ++stack) {
        if (split.by_stack[stack] > 0) {
            all.by_stack[stack] = {.words = split.by_stack[stack],
                                   .certain_words = certain_by_stack[stack],
                                   .error = error(squares_by_stack[stack], split.by_stack[stack])};
            all.stacks.add_weight(stack,
                                  static_cast<std::uint64_t>(std::llround(split.by_stack[stack])));
        }
    }
    return all;
}

}  // namespace beamdump::sampler
