#pragma once

namespace beamdump::target {

/// The calling thread comes before others, as long as this lives: by real-time priority, which no
/// quota of a cgroup's processor time holds back either, else by the best nice value that is
/// allowed. For the short time in which a node waits for this thread. Where neither is allowed
/// nothing changes.
class RaisedPriority {
  public:
    RaisedPriority();
    RaisedPriority(const RaisedPriority&) = delete;
    RaisedPriority& operator=(const RaisedPriority&) = delete;
    ~RaisedPriority();

    [[nodiscard]] bool real_time() const { return real_time_; }

  private:
    bool real_time_ = false;
    int policy_ = 0;
    int priority_ = 0;
    int nice_ = 0;
};

}  // namespace beamdump::target
