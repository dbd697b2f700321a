#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/queue_lengths.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <array>

namespace beamdump::beam {

/// A contiguous part of a process's memory.
struct Span {
    Address begin = 0;
    Address end = 0;
    [[nodiscard]] std::uint64_t words() const { return end > begin ? (end - begin) / 8 : 0; }
    [[nodiscard]] bool holds(Address address) const { return begin <= address && address < end; }
};

/// The decoded facts of a process's structure, and the addresses of its memory.
struct ProcessView {
    Address address = 0;
    records::Process facts;
    records::ProcessStatus status = records::PROCESS_STATUS_UNKNOWN;
    /// Why its memory cannot be trusted, if it cannot.
    records::VoidReason void_reason = records::VOID_REASON_NONE;
    std::string void_detail;

    Span stack, heap, old_heap, abandoned_heap, arguments, native_arguments, dictionary;
    Address mbuf = 0;      ///< first heap fragment
    Address msg_frag = 0;  ///< first received message whose fragments are part of the heap
    Address inner = 0;     ///< first entry of the inner queue
    Address middle = 0;
    Address outer = 0;
    Address outer_last = 0;  ///< of the link of the outer queue's last entry
    Address buffers = 0;     ///< ErtsSignalInQueueBufferArray
    Address links = 0;
    Address local_targets = 0;  ///< lt_monitors
    Address monitors = 0;
    Address off_heap = 0;
    Address writable_binaries = 0;
    std::uint64_t fixed_bytes = 0;  ///< process_info(memory) without relations and messages

    /// As a new one, but keeps the memory of `facts`.
    void clear();
};

/// Reads process structures (erl_process.h) and decides whether the process is at rest.
class ProcessReader {
  public:
    /// Non-owning: `code` must outlive the reader.
    static Result<ProcessReader> open(Vm& vm, CodeLookup& code);

    /// The VM's.
    [[nodiscard]] const memory::HeldSizes& sizes() const { return vm_->sizes(); }

    /// Bytes of a process structure.
    [[nodiscard]] std::uint32_t bytes() const { return bytes_; }

    /// Decodes the structure copied from `address`. kImplausible if it is not a process's, i.e. its
    /// id does not match `slot`. A process with inconsistent bounds is returned as void. `yielded`:
    /// it runs, but its structure was completed by YieldState.
    Result<ProcessView> decode(IdSlot slot, std::span<const std::byte> bytes, bool yielded = false);
    /// Decodes into a view whose memory is used again; its content after an error is that of no
    /// process.
    Result<void> decode(IdSlot slot, std::span<const std::byte> bytes, bool yielded,
                        ProcessView& into);

    /// Used parts of young and old heap and other memory, from the structure, at rest or not.
    struct Heaps {
        Span young, old;
        Address off_heap = 0;        ///< first of its off-heap list
        std::uint64_t pid_word = 0;  ///< the owner's
    };
    [[nodiscard]] Heaps heap_of(const StructView& view) const;

    /// Used parts of heap, stack and old heap.
    struct Areas {
        Span heap, stack, old_heap;
    };
    /// Nothing if their bounds are not in order.
    [[nodiscard]] std::optional<Areas> areas_of(const StructView& view) const;
    /// What nearly every process has beside its heap, as far as most have it: dictionary, the roots
    /// of the trees of links and monitors, the recorded function, name and process-specific data.
    /// Empty: it has none.
    [[nodiscard]] std::array<Span, 7> heads_of(const StructView& view) const;

  private:
    ProcessReader(Vm& vm, CodeLookup& code, AtomWords atoms, PidWords pids)
        : vm_(&vm), code_(&code), atoms_(atoms), pids_(pids) {}
    void resolve(LayoutNames& names);
    void identity(const StructView& view, ProcessView& process);
    void bounds(const StructView& view, ProcessView& process);
    void counters(const StructView& view, ProcessView& process);
    void queues(const StructView& view, ProcessView& process);
    void off_heap_parts(const StructView& view, ProcessView& process);
    void judge(const StructView& view, bool yielded, ProcessView& process);
    Span abandoned_span(const StructView& view, Address abandoned);
    void arguments(const StructView& view, ProcessView& process);
    void specific_data(Address psd, ProcessView& process);
    [[nodiscard]] records::ProcessStatus status(std::uint64_t state) const;

    struct Fields {
        Field id, trace_flags, started, reg, links, lt_monitors, monitors;
        Field htop, stop, fcalls, freason, fvalue, heap, hend, abandoned_heap, heap_sz;
        Field min_heap_size, min_vheap_size, max_heap_size, arity, arg_reg, def_arg_reg;
        Field i, catches, rcount, reds, flags, group_leader, ftrace, uniq;
        Field first, cont, queue_flags, dictionary, token, initial, current, parent;
        Field high_water, old_hend, old_htop, old_heap, gen_gcs, max_gen_gcs;
        Field off_heap_first, off_heap_overhead, mbuf, msg_frag, mbuf_sz, psd;
        Field bin_vheap_sz, bin_old_vheap, bin_old_vheap_sz, state, inq_first, inq_last, lock;
        std::optional<Field> wrt_bins, inq_buffers;  ///< from OTP 25 on
        Field psd_data;
        Field native_argc, native_argv;
    };
    struct Constants {
        std::uint64_t free, exiting, active, running, suspended, gc, active_sys, running_sys;
        std::uint64_t off_heap_msgq, dirty_active_sys, dirty_running, dirty_running_sys;
        std::uint64_t priority_shift, priority_mask, trap_exit, hibernated, sensitive, lock_main;
        std::uint64_t queue_off_heap;
        std::uint64_t psd_error_handler, psd_native_function, abandoned_heap_use;
    };

    Vm* vm_;
    CodeLookup* code_;
    AtomWords atoms_;
    PidWords pids_;
    Fields f_{};
    Constants c_{};
    std::optional<QueueCounter> queue_counter_;  ///< these are set once the names are resolved
    std::optional<RegisteredFields> registered_;
    std::optional<DictionaryFields> dictionary_fields_;
    std::uint32_t bytes_ = 0, psd_bytes_ = 0;
};

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
