#include <libdump/base/return_if_error.h>
#include <libsample/profile/collect_profile.h>
#include <libsample/profile/sample_node.h>

namespace beamdump::sampler {

Result<ProfileReport> sample_node(pid_t pid, const beam::LocateOptions& how,
                                  std::chrono::milliseconds duration,
                                  const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(const auto node, ObservedNode::open(pid, how, cancelled));
    return collect_profile(*node, {.duration = duration, .keep = true}, cancelled);
}

}  // namespace beamdump::sampler
