#pragma once

#include "capture/node/capture_options.h"

#include <libvm/beam/processes/process.h>

#include <optional>
#include <set>

namespace beamdump::capture {

/// Which processes' memory is wanted.
class Choice {
  public:
    /// Finds the processes that the options name, and the largest; reads the process table of the
    /// running node. kNotFound: there is no such process. Memory: a few words for each chosen one.
    static Result<Choice> make(beam::Vm& vm, const CaptureOptions& options);

    [[nodiscard]] bool wants(std::span<const std::byte> structure) const {
        return !limited_ || pids_.contains(sizer_.size(structure).pid_word);
    }

    [[nodiscard]] std::uint64_t bytes(std::span<const std::byte> structure) const {
        return sizer_.size(structure).bytes;
    }

  private:
    explicit Choice(beam::ProcessSizer sizer) : sizer_(sizer) {}
    Result<void> add_named(beam::Vm& vm, const std::string& name);
    Result<void> add_structure(beam::Vm& vm, beam::Address process);
    Result<void> add_largest(beam::Vm& vm, std::uint32_t count, ChooseBy by);

    beam::ProcessSizer sizer_;
    bool limited_ = false;
    std::set<std::uint64_t> pids_;  // words
};

}  // namespace beamdump::capture
