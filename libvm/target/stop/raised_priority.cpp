#include <libvm/target/stop/raised_priority.h>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

constexpr int kLowestRealTime = 1;
constexpr int kBestNice = -20;

bool schedule(int policy, int priority) {
    sched_param parameters{};
    parameters.sched_priority = priority;
    return ::sched_setscheduler(0, policy, &parameters) == 0;
}

}  // namespace

bool raise_priority() {
    const bool real_time = schedule(SCHED_RR | SCHED_RESET_ON_FORK, kLowestRealTime);
    if (!real_time) {
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kBestNice);
    }
    return real_time;
}

RaisedPriority::RaisedPriority() {
    sched_param before{};
    ::sched_getparam(0, &before);
    policy_ = ::sched_getscheduler(0);
    priority_ = before.sched_priority;
    nice_ = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
    real_time_ = raise_priority();
}

RaisedPriority::~RaisedPriority() {
    if (real_time_) {
        schedule(policy_, priority_);
    } else {
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), nice_);
    }
}

}  // namespace beamdump::target
