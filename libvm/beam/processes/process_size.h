#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/processes/queue_lengths.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// The approximate size of a process from its structure, for selection and estimates, not for
/// reports.
struct ProcessSize {
    std::uint64_t pid_word = 0;
    std::uint64_t bytes = 0;     ///< heaps and fragments, without messages and binaries
    std::uint64_t messages = 0;  ///< in its queues; 0 if unknown
    std::uint64_t reductions = 0;
};

/// Reads sizes from process structures (erl_process.h).
class ProcessSizer {
  public:
    static Result<ProcessSizer> open(Vm& vm);
    [[nodiscard]] std::uint32_t structure_bytes() const { return bytes_; }
    /// Reads more from the target only if signals other than messages are waiting.
    [[nodiscard]] ProcessSize size(std::span<const std::byte> structure) const;

  private:
    ProcessSizer(Vm& vm, QueueCounter queues) : vm_(&vm), queues_(queues) {}

    Vm* vm_;
    QueueCounter queues_;
    Field id_{}, heap_sz_{}, old_heap_{}, old_hend_{}, mbuf_sz_{}, reds_{};
    std::uint32_t bytes_ = 0;
};

}  // namespace beamdump::beam
