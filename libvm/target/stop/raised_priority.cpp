#include <libvm/target/stop/raised_priority.h>

#include <sched.h>
#include <sys/resource.h>

namespace beamdump::target {
namespace {

constexpr int kLowestRealTime = 1;
constexpr int kBestNice = -20;

bool schedule(pid_t thread, int policy, int priority) {
    sched_param parameters{};
    parameters.sched_priority = priority;
    return ::sched_setscheduler(thread, policy, &parameters) == 0;
}

/// 0 is the calling thread for each of these calls of Linux.
bool raise_priority_of(pid_t thread) {
    const bool real_time = schedule(thread, SCHED_RR | SCHED_RESET_ON_FORK, kLowestRealTime);
    if (!real_time) {
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), kBestNice);
    }
    return real_time;
}

}  // namespace

bool raise_priority() {
    return raise_priority_of(0);
}

RaisedPriority::RaisedPriority(pid_t thread) : thread_(thread) {
    sched_param before{};
    ::sched_getparam(thread, &before);
    policy_ = ::sched_getscheduler(thread);
    priority_ = before.sched_priority;
    nice_ = ::getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
    real_time_ = raise_priority_of(thread);
}

RaisedPriority::~RaisedPriority() {
    if (real_time_) {
        schedule(thread_, policy_, priority_);
    } else {
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread_), nice_);
    }
}

}  // namespace beamdump::target
