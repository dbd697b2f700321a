#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/processes/messages.h>
#include <libvm/beam/processes/queue_lengths.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxFragmentWords = std::uint64_t{1} << 40U;

constexpr std::uint64_t kFragmentsOfAMessage = 1U << 16U;
constexpr std::uint32_t kMaxCacheAtoms = 2048;  // ERTS_ATOM_CACHE_SIZE
constexpr std::uint64_t kMaxExternalFragments = 1U << 20U;
constexpr std::uint64_t kMaxExternalBytes = std::uint64_t{1} << 40U;  // of one fragment

}  // namespace

Result<FragmentReader> FragmentReader::open(Vm& vm) {
    FragmentReader reader(vm);
    LayoutNames names(vm.layout());
    reader.next_ = names.field(runtime::ErlHeapFragment::next);
    reader.off_heap_ = names.field(runtime::ErlHeapFragment::off_heap_first);
    reader.allocated_ = names.field(runtime::ErlHeapFragment::alloc_size);
    reader.used_ = names.field(runtime::ErlHeapFragment::used_size);
    reader.mem_ = names.field(runtime::ErlHeapFragment::mem);
    reader.bytes_ = names.bytes(runtime::ErlHeapFragment::kName);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<Fragment> FragmentReader::read(Address header) {
    // Reads the header only: a fragment may have no words.
    auto raw =
        OwnedStruct::read(vm_->memory(), header, end_of({next_, off_heap_, allocated_, used_}));
    if (!raw) {
        return wrap("a heap fragment", raw.error());
    }
    const auto view = raw->view();
    Fragment fragment{header,
                      header + mem_.offset,
                      view.get(used_),
                      view.get(allocated_),
                      view.get(off_heap_),
                      view.get(next_)};
    if (fragment.used_words > fragment.allocated_words ||
        fragment.allocated_words > kMaxFragmentWords) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("heap fragment at {:#x}: {} words used of {}", header,
                                fragment.used_words, fragment.allocated_words));
    }
    return fragment;
}

Result<void> FragmentReader::chain(Address first, std::uint64_t limit,
                                   const std::function<Result<void>(const Fragment&)>& visit) {
    std::uint64_t seen = 0;
    for (auto address = first; address != 0;) {
        if (++seen > limit) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the chain of heap fragments at {:#x} does not end after {}",
                                    first, limit));
        }
        ASSIGN_OR_RETURN(auto fragment, read(address));
        RETURN_IF_ERROR(visit(fragment));
        address = fragment.next;
    }
    return {};
}

void MessageWalker::resolve(LayoutNames& names) {
    next_ = names.field(runtime::ErtsMessage::next);
    data_ = names.field(runtime::ErtsMessage::data);
    terms_ = names.field(runtime::ErtsMessage::m);
    combined_ = names.field(runtime::ErtsMessage::hfrag);
    message_bytes_ = names.bytes(runtime::ErtsMessage::kName);
    marker_bytes_ = names.bytes(runtime::ErtsRecvMarker::kName);
    if (names.has_structure(runtime::ErtsSignalInQueueBuffer::kName)) {
        buffers_.emplace(names);
    }
    if (names.has_structure(runtime::ErtsDistExternal::kName)) {
        undecoded_ = Undecoded{
            .flags = names.field(runtime::ErtsDistExternal::flags),
            .data = names.field(runtime::ErtsDistExternal::data),
            .atoms = names.field(runtime::ErtsDistExternal::attab),
            .table_size = names.field(runtime::ErtsAtomTranslationTable::size),
            .table_atoms = names.field(runtime::ErtsAtomTranslationTable::atom),
            .fragment_id = names.field(runtime::ErtsDistExternalData::frag_id),
            .begin = names.field(runtime::ErtsDistExternalData::extp),
            .end = names.field(runtime::ErtsDistExternalData::ext_endp),
            .data_bytes = names.bytes(runtime::ErtsDistExternalData::kName),
            .has_atoms = names.constant(runtime::constant::external_flag_atoms),
        };
    }
    marker_combined_ = names.constant(runtime::constant::combined_message_marker);
    signal_tag_ = names.constant(runtime::constant::external_pid_subtag);
    arity_shift_ = names.constant(runtime::constant::header_arity_shift);
    op_receive_mark_ = names.constant(runtime::constant::signal_op_receive_mark);
    type_generic_exit_ = names.constant_if_any(runtime::constant::signal_type_generic_exit);
    type_off_heap_ = names.constant_if_any(runtime::constant::signal_type_off_heap);
}

Result<MessageWalker> MessageWalker::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto fragments, FragmentReader::open(vm));
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    MessageWalker walker(vm, fragments, atoms);
    LayoutNames names(vm.layout());
    walker.resolve(names);
    RETURN_IF_ERROR(names.outcome());
    return walker;
}

Result<void> MessageWalker::walk(const ProcessView& process, std::uint64_t limit,
                                 const Visit& visit) {
    auto left = limit;
    for (const auto& which :
         {Queue{process.inner, 0, records::QUEUE_KIND_INNER},
          Queue{process.middle, 0, records::QUEUE_KIND_MIDDLE},
          Queue{process.outer, process.outer_last, records::QUEUE_KIND_OUTER}}) {
        RETURN_IF_ERROR(queue(which, left, visit));
    }
    return process.buffers == 0 ? Result<void>() : buffers(process.buffers, left, visit);
}

Result<void> MessageWalker::buffers(Address array, std::uint64_t& left, const Visit& visit) {
    std::vector<std::byte> slots(kSignalBuffers * buffers_->slot_bytes);
    if (auto done = vm_->bulk().read(array + buffers_->slots.offset, slots); !done) {
        return wrap("a message queue's buffers", done.error());
    }
    const std::span<const std::byte> all(slots);
    // Entries must be read after the ends of their queues, never from older cached memory.
    vm_->forget();
    for (std::uint64_t slot = 0; slot < kSignalBuffers; ++slot) {
        const StructView view(all.subspan(slot * buffers_->slot_bytes, buffers_->slot_bytes));
        const Queue which{view.get(buffers_->first), view.get(buffers_->last),
                          records::QUEUE_KIND_BUFFER};
        RETURN_IF_ERROR(queue(which, left, visit));
    }
    return {};
}

Result<void> MessageWalker::queue(const Queue& which, std::uint64_t& left, const Visit& visit) {
    const auto head_bytes = end_of({next_, data_, terms_});
    QueueEntry item;
    for (auto address = which.first; address != 0;) {
        if (left-- == 0) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the message queue at {:#x} does not end", which.first));
        }
        auto head = OwnedStruct::read(vm_->memory(), address, head_bytes);
        if (!head) {
            return wrap("a message", head.error());
        }
        item.message.Clear();
        item.fragments.clear();
        item.external.clear();
        item.bytes = message_bytes_;
        item.message.set_address(address);
        item.message.set_queue(which.kind);
        RETURN_IF_ERROR(entry(address, head->view(), item));
        RETURN_IF_ERROR(visit(item));
        address = address + next_.offset == which.last ? 0 : head->view().get(next_);
    }
    return {};
}

Result<void> MessageWalker::entry(Address address, const StructView& head, QueueEntry& into) {
    const auto term = head.word(terms_, 0);
    const auto attached = head.get(data_);
    auto& message = into.message;
    if ((term & kHeaderTagMask) == signal_tag_) {
        return signal(address, term, into);
    }
    message.set_token_word(head.word(terms_, 1));
    message.set_from_word(head.word(terms_, 2));
    RETURN_IF_ERROR(fragments_of(address, attached, into));
    if (term == vm_->facts().non_value) {
        message.set_kind(records::MESSAGE_KIND_EXTERNAL);
        if (into.fragments.empty()) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("undecoded message at {:#x} without data", address));
        }
        return external(into.fragments.front(), into);
    }
    message.set_term_word(term);
    message.set_kind(attached == 0                  ? records::MESSAGE_KIND_HEAP
                     : attached == marker_combined_ ? records::MESSAGE_KIND_COMBINED
                                                    : records::MESSAGE_KIND_FRAGMENT);
    return {};
}

Result<void> MessageWalker::fragments_of(Address address, std::uint64_t attached,
                                         QueueEntry& into) {
    if (attached == 0) {
        return {};
    }
    const auto first = attached == marker_combined_ ? address + combined_.offset : attached;
    return fragments_.chain(first, kFragmentsOfAMessage, [&](const Fragment& fragment) {
        into.fragments.push_back(fragment);
        into.bytes += fragment.used_words * 8;
        return Result<void>();
    });
}

// erl_proc_sig_queue.h: a signal's tag is a header word whose arity holds operation (8 bits) and
// type (8 bits). Exit signals and off-heap alias messages carry their terms in the block itself.
Result<void> MessageWalker::signal(Address address, std::uint64_t tag, QueueEntry& into) {
    const auto operation = (tag >> arity_shift_) & 0xffU;
    const auto type = (tag >> (arity_shift_ + 8)) & 0xffU;
    into.message.set_kind(operation == op_receive_mark_ ? records::MESSAGE_KIND_RECEIVE_MARKER
                                                        : records::MESSAGE_KIND_SIGNAL);
    into.message.set_signal_tag(tag);
    if (operation == op_receive_mark_) {
        into.bytes = marker_bytes_;
    } else if (type == type_generic_exit_ || type == type_off_heap_) {
        return fragments_of(address, marker_combined_, into);
    }
    return {};
}

// external.c, erts_make_dist_ext_copy(): the atom table ends where its atoms do, and exists only if
// a flag is set; otherwise other data follows.
Result<void> MessageWalker::external_atoms(Address translation, records::External& into) {
    if ((into.dist_flags() & undecoded_->has_atoms) == 0) {
        return {};
    }
    const auto count =
        vm_->memory().value<std::uint32_t>(translation + undecoded_->table_size.offset);
    if (!count) {
        return wrap("an undecoded message's atoms", count.error());
    }
    auto words = read_words(vm_->memory(), translation + undecoded_->table_atoms.offset,
                            std::min(*count, kMaxCacheAtoms));
    if (!words) {
        return wrap("an undecoded message's atoms", words.error());
    }
    for (const auto word : *words) {
        const auto atom = atoms_.index(word);
        if (!atom) {
            break;
        }
        into.add_atom(*atom);
    }
    return {};
}

// erl_message.h, external.h: behind the fragment's used words lies an ErtsDistExternal, whose data
// array has one entry for each distribution fragment; the first one's number is their count.
Result<void> MessageWalker::external(const Fragment& fragment, QueueEntry& into) {
    if (!undecoded_) {
        return {};
    }
    auto& facts = *into.message.mutable_external();
    const auto address = fragment.words_begin + fragment.used_words * 8;
    const auto flags = vm_->memory().value<std::uint32_t>(address + undecoded_->flags.offset);
    const auto data = vm_->memory().word(address + undecoded_->data.offset);
    if (!flags || !data) {
        return fail(ErrorCode::kUnmapped, fmt::format("undecoded message at {:#x}", address));
    }
    facts.set_dist_flags(*flags);
    RETURN_IF_ERROR(external_atoms(address + undecoded_->atoms.offset, facts));
    std::uint64_t parts = 1;
    std::uint64_t total = 0;
    for (std::uint64_t part = 0; part < parts; ++part) {
        auto read = OwnedStruct::read(vm_->memory(), *data + part * undecoded_->data_bytes,
                                      undecoded_->data_bytes);
        if (!read) {
            return wrap("an undecoded message", read.error());
        }
        if (part == 0) {
            parts = std::clamp<std::uint64_t>(read->view().get(undecoded_->fragment_id), 1,
                                              kMaxExternalFragments);
            facts.set_fragments(static_cast<std::uint32_t>(parts));
        }
        const auto begin = read->view().get(undecoded_->begin);
        const auto end = read->view().get(undecoded_->end);
        if (begin == 0 || end < begin || end - begin > kMaxExternalBytes) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("undecoded message at {:#x}: part {} of {} is from {:#x} to "
                                    "{:#x}",
                                    address, part, parts, begin, end));
        }
        if (end != begin) {
            into.external.push_back({begin, end});
        }
        total += end - begin;
    }
    facts.set_total_bytes(total);
    return {};
}

Result<void> MessageWalker::received(Address first, std::uint64_t limit,
                                     const std::function<Result<void>(const Fragment&)>& visit) {
    std::uint64_t seen = 0;
    for (auto address = first; address != 0;) {
        if (++seen > limit) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the chain of received messages at {:#x} does not end", first));
        }
        const auto attached = vm_->memory().word(address + data_.offset);
        const auto next = vm_->memory().word(address + next_.offset);
        if (!attached || !next) {
            return wrap("a received message", !attached ? attached.error() : next.error());
        }
        QueueEntry item;
        RETURN_IF_ERROR(fragments_of(address, *attached, item));
        for (const auto& fragment : item.fragments) {
            RETURN_IF_ERROR(visit(fragment));
        }
        address = *next;
    }
    return {};
}

}  // namespace beamdump::beam
