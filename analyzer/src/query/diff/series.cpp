#include "query/diff/series.h"

#include "query/facts/time_span.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace beamdump::query {

namespace {

constexpr double kHourUs = 3600e6;

std::int64_t difference(std::uint64_t before, std::uint64_t after) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(after, kMost)) -
           static_cast<std::int64_t>(std::min(before, kMost));
}

/// Microseconds from one dump to a later one; nothing where it is not known to be later.
std::optional<double> time_between(std::span<const std::optional<std::int64_t>> times_us,
                                   std::size_t from, std::size_t to) {
    if (!times_us[from] || !times_us[to]) {
        return std::nullopt;
    }
    const auto span = span_us(*times_us[from], *times_us[to]);
    return span && *span > 0 ? std::optional(static_cast<double>(*span)) : std::nullopt;
}

std::optional<std::int64_t> rounded(double number) {
    constexpr double kMost = 9e18;
    return std::abs(number) < kMost ? std::optional(std::llround(number)) : std::nullopt;
}

struct Step {
    double growth = 0;
    std::optional<double> time;
};

bool is_steady(const std::vector<Step>& steps, double growth) {
    if (growth <= 0) {
        return false;
    }
    const bool timed =
        std::ranges::all_of(steps, [](const Step& step) { return step.time.has_value(); });
    double whole_time = 0;
    for (const Step& step : steps) {
        whole_time += timed ? *step.time : 1;
    }
    std::size_t keeping_up = 0;
    for (const Step& step : steps) {
        const double expected = growth * (timed ? *step.time : 1) / whole_time;
        keeping_up += step.growth * 4 >= expected ? 1 : 0;
        if (-step.growth * 4 > growth) {
            return false;
        }
    }
    return keeping_up >= 2 && keeping_up * 3 >= steps.size() * 2;
}

}  // namespace

Series make_series(std::vector<std::optional<std::uint64_t>> values,
                   std::span<const std::optional<std::int64_t>> times_us) {
    Series series;
    series.values = std::move(values);
    std::vector<Step> steps;
    std::optional<std::size_t> first;
    std::optional<std::size_t> last;
    for (std::size_t dump = 0; dump < series.values.size(); ++dump) {
        if (!series.values[dump]) {
            continue;
        }
        if (last) {
            const auto growth = difference(*series.values[*last], *series.values[dump]);
            steps.push_back({static_cast<double>(growth), time_between(times_us, *last, dump)});
            series.rises += growth > 0 ? 1 : 0;
        }
        first = first ? first : dump;
        last = dump;
    }
    series.steps = steps.size();
    if (steps.empty()) {
        return series;
    }
    series.change = difference(*series.values[*first], *series.values[*last]);
    const auto growth = static_cast<double>(*series.change);
    if (const auto time = time_between(times_us, *first, *last)) {
        series.change_per_hour = rounded(growth * kHourUs / *time);
    }
    if (steps.size() > 1) {
        series.steady = is_steady(steps, growth);
    }
    return series;
}

bool exceeds_variation(std::uint64_t before, std::uint64_t after) {
    const auto growth = static_cast<double>(after) - static_cast<double>(before);
    constexpr double kDeviations = 4;
    return growth >
           kDeviations * std::sqrt(static_cast<double>(before) + static_cast<double>(after));
}

}  // namespace beamdump::query
