#include <libsample/profile/call_rate.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace beamdump::sampler {
namespace {

constexpr double kIn95 = 1.96;
/// No event in a time: at 95% there are at most so many, in the mean, in that time (Poisson).
constexpr double kOfNone = 3.0;

}  // namespace

void CallRate::add_window(double seconds, std::uint64_t calls) {
    if (seconds <= 0) {
        return;
    }
    rates_.push_back(static_cast<double>(calls) / seconds);
    seconds_ += seconds;
    counted_ += calls;
}

double CallRate::a_second() const {
    return rates_.empty()
               ? 0
               : std::reduce(rates_.begin(), rates_.end()) / static_cast<double>(rates_.size());
}

double CallRate::error() const {
    if (seconds_ <= 0) {
        return 0;
    }
    if (counted_ == 0) {
        return kOfNone / seconds_;
    }
    const auto windows = static_cast<double>(rates_.size());
    const auto mean = a_second();
    double squares = 0;
    for (const auto each : rates_) {
        squares += (each - mean) * (each - mean);
    }
    const auto between = windows > 1 ? std::sqrt(squares / (windows - 1) / windows) : 0;
    const auto random = mean / std::sqrt(static_cast<double>(counted_));
    return kIn95 * std::max(between, random);
}

}  // namespace beamdump::sampler
