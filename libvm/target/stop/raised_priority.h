#pragma once

#include <sys/types.h>

namespace beamdump::target {

/// Lets the calling thread come before others: by real-time priority, which no quota of a cgroup's
/// processor time holds back either, else by the best nice value that is allowed. Where neither is
/// allowed nothing changes. Whether it is real-time priority. Makes system calls only.
bool raise_priority();

/// Raises a thread's priority as long as this lives, as raise_priority(): for the short time in
/// which a node waits for this thread. What it starts meanwhile does not inherit it.
class RaisedPriority {
  public:
    /// `thread`: 0 is the calling one.
    explicit RaisedPriority(pid_t thread = 0);
    RaisedPriority(const RaisedPriority&) = delete;
    RaisedPriority& operator=(const RaisedPriority&) = delete;
    ~RaisedPriority();

    [[nodiscard]] bool real_time() const { return real_time_; }

  private:
    pid_t thread_;
    bool real_time_ = false;
    int policy_ = 0;
    int priority_ = 0;
    int nice_ = 0;
};

}  // namespace beamdump::target
