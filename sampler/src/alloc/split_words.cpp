#include "alloc/split_words.h"

#include <algorithm>
#include <numeric>

namespace beamdump::sampler {
namespace {

constexpr int kRepetitions = 60;
/// A function's rate is found inside if so much of its samples is in such intervals.
constexpr double kInsideShare = 0.25;

/// Splits in two passes: the first finds rates of all functions in intervals in which the process
/// was not scheduled out; the second those of the functions that are not found so, in all
/// intervals.
class Split {
  public:
    enum class Pass : std::uint8_t { kInside, kRest };

    Split(const Seen& seen, const std::vector<bool>& inside, std::uint32_t without)
        : seen_(seen),
          inside_(inside),
          without_(without),
          rate_(seen.samples.size(), 1),
          time_(seen.samples.size(), 0) {}

    WordsSplit run() {
        WordsSplit split{.by_stack = std::vector<double>(seen_.function_of.size(), 0),
                         .by_function = std::vector<double>(rate_.size(), 0),
                         .scheduled_out = std::vector<double>(rate_.size(), 0),
                         .scale = std::vector<double>(rate_.size(), 0)};
        for (const auto pass : {Pass::kInside, Pass::kRest}) {
            begin(pass);
            find_rates(pass);
            each_part(pass, [&](const Interval& interval, const IntervalPart& part, double words) {
                const auto function = function_of(part);
                if (inside_[function] == (pass == Pass::kInside)) {
                    split.by_stack[part.stack] += words;
                    words_ += words / interval.weight;
                    split.scheduled_out[function] += interval.scheduled_out ? words : 0;
                }
            });
        }
        scale(split);
        return split;
    }

  private:
    [[nodiscard]] std::uint32_t function_of(const IntervalPart& part) const {
        return seen_.function_of[part.stack];
    }
    [[nodiscard]] bool has_rate(std::size_t function, Pass pass) const {
        return pass == Pass::kRest && inside_[function];
    }

    template <typename Visit>
    void each_interval(Pass pass, Visit&& visit) const {
        for (const auto& interval : seen_.intervals.all()) {
            if (interval.group != without_ && (pass == Pass::kRest || !interval.scheduled_out)) {
                visit(interval, seen_.intervals.parts_of(interval));
            }
        }
    }

    void begin(Pass pass) {
        for (std::size_t function = 0; function < rate_.size(); ++function) {
            if (!has_rate(function, pass)) {
                rate_[function] = 1;
                time_[function] = 0;
            }
        }
        each_interval(pass, [&](const Interval& interval, std::span<const IntervalPart> parts) {
            for (const auto& part : parts) {
                time_[function_of(part)] +=
                    has_rate(function_of(part), pass) ? 0 : part.time * interval.weight;
            }
        });
    }

    /// The words of each interval that functions without a rate share.
    template <typename Visit>
    void each_part(Pass pass, Visit&& visit) const {
        each_interval(pass, [&](const Interval& interval, std::span<const IntervalPart> parts) {
            double left = interval.words;
            double all = 0;
            double time = 0;
            for (const auto& part : parts) {
                const double words = part.time * rate_[function_of(part)];
                if (has_rate(function_of(part), pass)) {
                    left -= words;
                } else {
                    all += words;
                    time += part.time;
                }
            }
            if (left <= 0 || time <= 0) {
                return;
            }
            for (const auto& part : parts) {
                if (!has_rate(function_of(part), pass)) {
                    // If none has allocated elsewhere, they share by time.
                    visit(interval, part,
                          interval.weight * left *
                              (all > 0 ? part.time * rate_[function_of(part)] / all
                                       : part.time / time));
                }
            }
        });
    }

    void find_rates(Pass pass) {
        std::vector<double> words(rate_.size(), 0);
        for (int repetition = 1; repetition < kRepetitions; ++repetition) {
            std::ranges::fill(words, 0.0);
            each_part(pass, [&](const Interval&, const IntervalPart& part, double of_part) {
                words[function_of(part)] += of_part;
            });
            for (std::size_t function = 0; function < rate_.size(); ++function) {
                if (!has_rate(function, pass)) {
                    rate_[function] = time_[function] > 0 ? words[function] / time_[function] : 0;
                }
            }
        }
    }

    /// From the time in intervals to that in all samples; the sum stays.
    void scale(WordsSplit& split) const {
        for (std::size_t function = 0; function < rate_.size(); ++function) {
            double samples = 0;
            for (std::uint32_t group = 0; group < kGroups; ++group) {
                samples +=
                    group == without_ ? 0 : static_cast<double>(seen_.samples[function][group]);
            }
            split.scale[function] = time_[function] > 0 ? samples / time_[function] : 0;
        }
        double after = 0;
        for (std::size_t stack = 0; stack < split.by_stack.size(); ++stack) {
            after += split.by_stack[stack] * split.scale[seen_.function_of[stack]];
        }
        for (auto& of_function : split.scale) {
            of_function *= after > 0 ? words_ / after : 0;
        }
        for (std::size_t stack = 0; stack < split.by_stack.size(); ++stack) {
            const auto function = seen_.function_of[stack];
            split.by_stack[stack] *= split.scale[function];
            split.by_function[function] += split.by_stack[stack];
        }
        for (std::size_t function = 0; function < rate_.size(); ++function) {
            split.scheduled_out[function] *= split.scale[function];
        }
    }

    const Seen& seen_;
    const std::vector<bool>& inside_;
    std::uint32_t without_;
    double words_ = 0;          // that were split
    std::vector<double> rate_;  // words of the time of a sample
    std::vector<double> time_;  // in the intervals that the rate is found in
};

}  // namespace

std::vector<bool> found_inside(const Seen& seen) {
    std::vector<double> time(seen.samples.size(), 0);
    for (const auto& interval : seen.intervals.all()) {
        for (const auto& part : seen.intervals.parts_of(interval)) {
            time[seen.function_of[part.stack]] += interval.scheduled_out ? 0 : part.time;
        }
    }
    std::vector<bool> inside(time.size(), false);
    for (std::size_t function = 0; function < time.size(); ++function) {
        const auto& groups = seen.samples[function];
        const auto samples = std::reduce(groups.begin(), groups.end());
        inside[function] =
            time[function] > 0 && time[function] >= kInsideShare * static_cast<double>(samples);
    }
    return inside;
}

WordsSplit split_words(const Seen& seen, const std::vector<bool>& inside, std::uint32_t without) {
    return Split(seen, inside, without).run();
}

}  // namespace beamdump::sampler
