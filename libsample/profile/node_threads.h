#pragma once

#include <libsample/events/threads.h>
#include <libsample/stack/process_stacks.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/memory/present_pages.h>

#include <records.pb.h>

#include <map>
#include <optional>
#include <utility>

namespace beamdump::sampler {

/// What is needed of a scheduler to say what its thread does.
struct SchedulerPlace {
    records::SchedulerKind kind = records::SCHEDULER_KIND_NORMAL;
    std::uint32_t number = 0;
    Address structure = 0;
    std::optional<Address> return_slot{};  ///< ProcessStacks::return_slot(); of normal ones
    memory::AddressRange stack{};          ///< of the thread, where that slot is
};

/// The schedulers of a node, by their threads.
class NodeThreads {
  public:
    /// Reads where they are. kNotFound: none is.
    static Result<NodeThreads> open(ObservedNode& node, ProcessStacks& stacks);

    NodeThreads(const NodeThreads&) = delete;
    NodeThreads(NodeThreads&&) noexcept = default;

    /// The scheduler that a thread is (threads_of_schedulers()); null for all others.
    [[nodiscard]] const SchedulerPlace* scheduler(pid_t thread) const;
    [[nodiscard]] const std::map<std::pair<records::SchedulerKind, std::uint32_t>, SchedulerPlace>&
    all() const {
        return schedulers_;
    }

  private:
    NodeThreads() = default;

    std::map<std::pair<records::SchedulerKind, std::uint32_t>, SchedulerPlace> schedulers_;
    std::map<pid_t, const SchedulerPlace*> by_thread_;  // into schedulers_, whose nodes stay
};

}  // namespace beamdump::sampler
