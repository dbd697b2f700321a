#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/vm/vm.h>

#include <cstdint>
#include <optional>

namespace beamdump::beam {

/// Maximum number of buffers of a parallel signal queue: ERTS_PROC_SIG_INQ_BUFFERED_NR_OF_BUFFERS
/// (erl_proc_sig_queue.h, OTP 25 to 29).
inline constexpr std::uint64_t kSignalBuffers = 64;

/// The number of messages in a process's queues, from its structure and signals. nullopt if
/// unknown: a process_info request is pending (OTP 25), a signal cannot be read, or the queues
/// change.
struct QueueLengths {
    std::optional<std::uint64_t> own;  ///< inner and middle queue
    std::optional<std::uint64_t> outer;
    std::optional<std::uint64_t> buffered;  ///< in the parallel buffers; 0 without any

    [[nodiscard]] std::optional<std::uint64_t> all() const {
        return own && outer && buffered ? std::optional(*own + *outer + *buffered) : std::nullopt;
    }
};

/// Reads queue lengths (erl_message.h, erl_proc_sig_queue.h). In OTP 25 a queue counts its
/// messages. From OTP 27 on, each signal that is not a message counts the messages before it, up to
/// the signal before that; the queue counts those after the last one.
class QueueCounter {
  public:
    explicit QueueCounter(LayoutNames& names);

    [[nodiscard]] QueueLengths count(Vm& vm, const StructView& process) const;

  private:
    /// A queue's signals that are not messages: the addresses of the pointers to the first and the
    /// last one.
    struct Signals {
        Field next, last;
    };
    [[nodiscard]] std::optional<std::uint64_t> before_signals(Vm& vm, const StructView& queue,
                                                              const Signals& signals) const;
    [[nodiscard]] std::optional<std::uint64_t> buffered(Vm& vm, Address buffers) const;

    Field own_{}, outer_{};
    std::optional<Field> buffers_;             ///< from OTP 25 on
    std::optional<QueueBufferFields> buffer_;  ///< if there are any
    std::optional<Field> after_last_;          ///< of the middle queue, where signals count
    Signals own_signals_{}, outer_signals_{}, slot_signals_{};
    Field signal_count_{}, signal_next_{};
    std::uint32_t signal_bytes_ = 0;
};

}  // namespace beamdump::beam
