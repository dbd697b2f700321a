#pragma once

#include <cstdint>
#include <vector>

namespace beamdump::sampler {

/// How often something is called, from windows in which all calls were counted. Each window stands
/// for an equal part of the time, however long it was: windows are shorter where there are more
/// calls.
class CallRate {
  public:
    /// Not one without time.
    void add_window(double seconds, std::uint64_t calls);

    [[nodiscard]] std::uint64_t counted() const { return counted_; }
    /// Calls a second.
    [[nodiscard]] double a_second() const;
    /// Half of the 95% interval: by the differences between windows, and at least that of events at
    /// random moments. No call was counted: what they can be at most.
    [[nodiscard]] double error() const;

  private:
    std::vector<double> rates_;  // of each window
    double seconds_ = 0;
    std::uint64_t counted_ = 0;
};

}  // namespace beamdump::sampler
