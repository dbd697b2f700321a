#pragma once

#include <algorithm>
#include <ctime>

namespace beamdump::target {

/// Waits a little, the longer the more often it was called: what threads do takes microseconds most
/// of the time.
class Patience {
  public:
    void wait() {
        const timespec time{0, pause_ns_};
        ::nanosleep(&time, nullptr);
        pause_ns_ = std::min(pause_ns_ * 2, 1'000'000L);
    }

  private:
    long pause_ns_ = 10'000;
};

}  // namespace beamdump::target
