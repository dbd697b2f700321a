#pragma once

#include <libdump/base/error.h>
#include <libvm/beam/locate/locate.h>

#include <records.pb.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace beamdump::sampler {

/// A profile at a low rate that goes on until this object or the node ends. Its owner waits for
/// samples (descriptor()) together with what else it waits for, and takes them soon: what a sample
/// shows is read of the node afterwards. Nothing of the node is stopped or changed. Memory:
/// bounded.
class RollingProfile {
  public:
    /// `rate`: samples a second of each thread's processor time. kUnsupported, kPermission: perf
    /// events are not there, not allowed, or do not show what the interpreter runs; other errors as
    /// ObservedNode::open().
    static Result<RollingProfile> open(pid_t pid, const beam::LocateOptions& how,
                                       std::uint32_t rate, const std::atomic<bool>& cancelled);

    RollingProfile(RollingProfile&& other) noexcept;
    RollingProfile& operator=(RollingProfile&& other) noexcept;
    RollingProfile(const RollingProfile&) = delete;
    RollingProfile& operator=(const RollingProfile&) = delete;
    ~RollingProfile();

    /// Readable while samples wait (poll(2)).
    [[nodiscard]] int descriptor() const;

    /// Takes the samples that wait, and looks for new threads now and then. After an error there
    /// are no more samples; kTargetDied: the node has ended.
    Result<void> take();

    /// The samples since the last call, or since open(), as bounded_samples() has them.
    records::Samples next(std::size_t most_bytes);
    /// The text of an atom; of those that a sample's names have, when the node has ended too.
    std::optional<std::string> atom_name(std::uint32_t index);

  private:
    struct Parts;
    explicit RollingProfile(std::unique_ptr<Parts> parts);

    std::unique_ptr<Parts> parts_;  // which refer to one another
};

}  // namespace beamdump::sampler
