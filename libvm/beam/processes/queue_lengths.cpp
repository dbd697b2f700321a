#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/queue_lengths.h>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxSignals = 1U << 20U;
constexpr std::uint64_t kMaxQueueLength = std::uint64_t{1} << 40U;

std::optional<std::uint64_t> sum(std::optional<std::uint64_t> left, std::uint64_t right) {
    // More is garbage, as are the negative counts that represent a pending request.
    return left && right < kMaxQueueLength ? std::optional(*left + right) : std::nullopt;
}

}  // namespace

QueueCounter::QueueCounter(LayoutNames& names)
    : own_(names.field({runtime::Process::sig_qs_len, runtime::Process::sig_qs_mq_len})),
      outer_(names.field({runtime::Process::sig_inq_len, runtime::Process::sig_inq_mlenoffs})),
      buffers_(names.field_if_any(runtime::Process::sig_inq_buffers)),
      after_last_(names.field_if_any(runtime::Process::sig_qs_mlenoffs)) {
    if (buffers_) {
        buffer_.emplace(names);
    }
    if (!after_last_) {
        return;
    }
    own_signals_ = {names.field(runtime::Process::sig_qs_nmsigs_next),
                    names.field(runtime::Process::sig_qs_nmsigs_last)};
    outer_signals_ = {names.field(runtime::Process::sig_inq_nmsigs_next),
                      names.field(runtime::Process::sig_inq_nmsigs_last)};
    slot_signals_ = {names.field(runtime::ErtsSignalInQueueBuffer::queue_nmsigs_next),
                     names.field(runtime::ErtsSignalInQueueBuffer::queue_nmsigs_last)};
    signal_count_ = names.field(runtime::ErtsNonMsgSignal::mlenoffs);
    signal_next_ = names.field(runtime::ErtsNonMsgSignal::specific_next);
    signal_bytes_ = names.bytes(runtime::ErtsNonMsgSignal::kName);
}

QueueLengths QueueCounter::count(Vm& vm, const StructView& process) const {
    QueueLengths lengths;
    lengths.own = sum(0, process.get(own_));
    lengths.outer = sum(0, process.get(outer_));
    if (after_last_) {
        const auto own = before_signals(vm, process, own_signals_);
        const auto outer = before_signals(vm, process, outer_signals_);
        lengths.own = own ? sum(sum(lengths.own, process.get(*after_last_)), *own) : std::nullopt;
        lengths.outer = outer ? sum(lengths.outer, *outer) : std::nullopt;
    }
    lengths.buffered = buffers_ ? buffered(vm, process.get(*buffers_)) : 0;
    return lengths;
}

/// Others append to a queue meanwhile: the walk ends at the signal that was last when the queue was
/// read.
std::optional<std::uint64_t> QueueCounter::before_signals(Vm& vm, const StructView& queue,
                                                          const Signals& signals) const {
    std::optional<std::uint64_t> total = 0;
    const Address last = queue.get(signals.last);
    Address place = queue.get(signals.next);
    for (std::uint64_t count = 0; place != 0 && total; ++count) {
        const auto signal = vm.memory().word(place);
        if (count == kMaxSignals || !signal || *signal == 0) {
            return std::nullopt;
        }
        const auto read = OwnedStruct::read(vm.memory(), *signal, signal_bytes_);
        if (!read) {
            return std::nullopt;
        }
        total = sum(total, read->view().get(signal_count_));
        if (place == last) {
            return total;
        }
        place = read->view().get(signal_next_);
    }
    return last == 0 ? total : std::nullopt;
}

std::optional<std::uint64_t> QueueCounter::buffered(Vm& vm, Address buffers) const {
    std::optional<std::uint64_t> total = 0;
    for (std::uint64_t slot = 0; buffers != 0 && total && slot < kSignalBuffers; ++slot) {
        const auto read = OwnedStruct::read(
            vm.memory(), buffers + buffer_->slots.offset + slot * buffer_->slot_bytes,
            buffer_->slot_bytes);
        if (!read) {
            return std::nullopt;
        }
        total = sum(total, read->view().get(buffer_->length));
        const auto before = after_last_ ? before_signals(vm, read->view(), slot_signals_)
                                        : std::optional(std::uint64_t{0});
        total = before ? sum(total, *before) : std::nullopt;
    }
    return total;
}

}  // namespace beamdump::beam
