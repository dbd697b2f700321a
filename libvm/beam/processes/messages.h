#pragma once

#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/process.h>

#include <functional>

namespace beamdump::beam {

/// A heap fragment (erl_message.h): a header and words of terms.
struct Fragment {
    Address header = 0;
    Address words_begin = 0;
    std::uint64_t used_words = 0;
    std::uint64_t allocated_words = 0;
    Address off_heap = 0;
    Address next = 0;
};

/// Reads fragments and chains of them.
class FragmentReader {
  public:
    static Result<FragmentReader> open(Vm& vm);

    /// kImplausible if the used size exceeds the allocated one, or the size the address space.
    Result<Fragment> read(Address header);

    /// Follows a chain; at most `limit` fragments, then kImplausible.
    Result<void> chain(Address first, std::uint64_t limit,
                       const std::function<Result<void>(const Fragment&)>& visit);

  private:
    explicit FragmentReader(Vm& vm) : vm_(&vm) {}
    Vm* vm_;
    Field next_, off_heap_, allocated_, used_, mem_;
    std::uint32_t bytes_ = 0;
};

/// One entry of a process's queues and its own fragments.
struct QueueEntry {
    records::Message message;         ///< without fragments
    std::vector<Fragment> fragments;  ///< whose words hold the message's term
    std::vector<Span> external;       ///< parts of an undecoded message, in order: bytes
    std::uint64_t bytes = 0;          ///< as process_info(memory) counts it
};

/// Walks the signal queues of a process in order: inner, middle, outer, parallel buffers
/// (erl_message.h, erl_proc_sig_queue.h).
class MessageWalker {
  public:
    static Result<MessageWalker> open(Vm& vm);

    using Visit = std::function<Result<void>(QueueEntry&)>;

    /// All queues; at most `limit` entries in all, then kImplausible. Of the outer queue and the
    /// buffers, to which others append, only entries linked when the structure or the buffers were
    /// read: later ones may be in memory that was cached before they were written.
    Result<void> walk(const ProcessView& process, std::uint64_t limit, const Visit& visit);

    /// Received messages whose fragments are part of the process's heap until the next collection
    /// (msg_frag, whose address is `first`; 0: none).
    Result<void> received(Address first, std::uint64_t limit,
                          const std::function<Result<void>(const Fragment&)>& visit);

  private:
    MessageWalker(Vm& vm, FragmentReader fragments, AtomWords atoms)
        : vm_(&vm), fragments_(fragments), atoms_(atoms) {}
    void resolve(LayoutNames& names);
    /// `last`: the address of the last entry's link; 0: up to a null link.
    struct Queue {
        Address first = 0;
        Address last = 0;
        records::QueueKind kind = records::QUEUE_KIND_INNER;
    };
    Result<void> queue(const Queue& which, std::uint64_t& left, const Visit& visit);
    Result<void> buffers(Address array, std::uint64_t& left, const Visit& visit);
    Result<void> entry(Address address, const StructView& head, QueueEntry& into);
    Result<void> signal(Address address, std::uint64_t tag, QueueEntry& into);
    Result<void> external(const Fragment& fragment, QueueEntry& into);
    Result<void> external_atoms(Address translation, records::External& into);
    Result<void> fragments_of(Address address, std::uint64_t attached, QueueEntry& into);

    Vm* vm_;
    FragmentReader fragments_;
    AtomWords atoms_;
    Field next_, data_, terms_, combined_;
    std::optional<QueueBufferFields> buffers_;  ///< set once the names are resolved
    /// The fields of undecoded messages (external.h).
    struct Undecoded {
        Field flags, data, atoms, table_size, table_atoms, fragment_id, begin, end;
        std::uint32_t data_bytes = 0;
        std::uint64_t has_atoms = 0;
    };
    /// nullopt if the layout lacks them: such a message is listed without its parts.
    std::optional<Undecoded> undecoded_;
    std::uint32_t message_bytes_ = 0, marker_bytes_ = 0;
    std::uint64_t marker_combined_ = 0, signal_tag_ = 0, op_receive_mark_ = 0, arity_shift_ = 0;
    std::optional<std::uint64_t> type_generic_exit_, type_off_heap_;  ///< as above
};

}  // namespace beamdump::beam
