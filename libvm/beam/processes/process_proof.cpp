#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/process_proof.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::beam {
namespace {

/// Whatever moves or replaces a term of the process changes one of these: bounds and tops, chains
/// and queues that only the process changes, and counters that running changes.
constexpr std::array kFields = {runtime::Process::htop,
                                runtime::Process::stop,
                                runtime::Process::heap,
                                runtime::Process::hend,
                                runtime::Process::heap_sz,
                                runtime::Process::abandoned_heap,
                                runtime::Process::old_heap,
                                runtime::Process::old_htop,
                                runtime::Process::old_hend,
                                runtime::Process::mbuf,
                                runtime::Process::mbuf_sz,
                                runtime::Process::msg_frag,
                                runtime::Process::off_heap_first,
                                runtime::Process::i,
                                runtime::Process::reds,
                                runtime::Process::fcalls,
                                runtime::Process::catches,
                                runtime::Process::arity,
                                runtime::Process::arg_reg,
                                runtime::Process::dictionary,
                                runtime::Process::psd,
                                runtime::Process::gen_gcs,
                                runtime::Process::sig_qs_first,
                                runtime::Process::sig_qs_cont,
                                runtime::Process::common_links,
                                runtime::Process::common_monitors,
                                runtime::Process::common_id,
                                runtime::Process::common_lt_monitors};

/// From OTP 25 on.
constexpr std::array kFieldsIfAny = {runtime::Process::wrt_bins, runtime::Process::sig_inq_buffers};

}  // namespace

Result<std::vector<Field>> ProcessProof::watched_fields(const Layout& layout) {
    LayoutNames names(layout);
    std::vector<Field> fields;
    fields.reserve(kFields.size() + kFieldsIfAny.size() + 1);
    for (const auto& name : kFields) {
        fields.push_back(names.field(name));
    }
    for (const auto& name : kFieldsIfAny) {
        if (const auto field = names.field_if_any(name)) {
            fields.push_back(*field);
        }
    }
    fields.push_back(names.field({runtime::Process::sig_qs_len, runtime::Process::sig_qs_mq_len}));
    RETURN_IF_ERROR(names.outcome());
    return fields;
}

Result<ProcessProof> ProcessProof::open(const Layout& layout, memory::MemorySource& source) {
    auto watched = watched_fields(layout);
    return watched ? open(layout, source, std::move(*watched)) : std::unexpected(watched.error());
}

Result<ProcessProof> ProcessProof::open(const Layout& layout, memory::MemorySource& source,
                                        std::vector<Field> watched) {
    ProcessProof proof(source);
    LayoutNames names(layout);
    proof.fields_ = std::move(watched);
    proof.bytes_ = names.bytes(runtime::Process::kName);
    proof.state_ = names.field(runtime::Process::state);
    proof.lock_ = names.field(runtime::Process::lock_flags);
    proof.free_ = names.constant(runtime::constant::state_free);
    proof.exiting_ = names.constant(runtime::constant::state_exiting);
    proof.gc_ = names.constant(runtime::constant::state_gc);
    // Not a process on a dirty scheduler: its code works on a shadow process (docs/live.md).
    proof.running_ = names.constant(runtime::constant::state_running) |
                     names.constant(runtime::constant::state_running_sys) |
                     names.constant(runtime::constant::state_dirty_running_sys);
    proof.lock_main_ = names.constant(runtime::constant::lock_main);
    RETURN_IF_ERROR(names.outcome());
    return proof;
}

Result<bool> ProcessProof::read(Address process, ProcessReading& into) {
    RETURN_IF_ERROR(read(std::span(&process, 1), std::span(&into, 1)));
    return into.here;
}

Result<void> ProcessProof::read(memory::MemorySource& source, std::span<const Address> processes,
                                std::span<ProcessReading> into) {
    const auto word = [](std::uint64_t& value, Field field) {
        return std::as_writable_bytes(std::span(&value, 1)).first(field.bytes);
    };
    reads_.clear();
    for (std::size_t i = 0; i < processes.size(); ++i) {
        into[i].structure.resize(bytes_);
        reads_.push_back({processes[i], into[i].structure, false});
    }
    RETURN_IF_ERROR(merged_.read(source, reads_));
    for (std::size_t i = 0; i < processes.size(); ++i) {
        into[i].here = reads_[i].done;
    }
    // After all structures: if somebody has taken the lock and moved a top, the later reading of
    // the lock shows it, wherever the two are in the structure.
    constexpr std::size_t kWords = 2;
    reads_.clear();
    for (std::size_t i = 0; i < processes.size(); ++i) {
        auto& one = into[i];
        one.lock = 0;
        one.state = 0;
        reads_.push_back({processes[i] + lock_.offset, word(one.lock, lock_), false});
        reads_.push_back({processes[i] + state_.offset, word(one.state, state_), false});
    }
    RETURN_IF_ERROR(merged_.read(source, reads_));
    for (std::size_t i = 0; i < processes.size(); ++i) {
        into[i].here &= std::ranges::all_of(std::span(reads_).subspan(i * kWords, kWords),
                                            &memory::BatchRead::done);
    }
    return {};
}

records::VoidReason ProcessProof::busy(const ProcessReading& reading) const {
    const StructView view(reading.structure);
    for (const auto state : {view.get(state_), reading.state}) {
        if ((state & (free_ | exiting_)) != 0) {
            return records::VOID_REASON_EXITING;
        }
        if ((state & gc_) != 0) {
            return records::VOID_REASON_COLLECTING;
        }
        if ((state & running_) != 0) {
            return records::VOID_REASON_RUNNING;
        }
    }
    if (((view.get(lock_) | reading.lock) & lock_main_) != 0) {
        return records::VOID_REASON_LOCKED;
    }
    return records::VOID_REASON_NONE;
}

records::VoidReason ProcessProof::changed(const ProcessReading& before,
                                          const ProcessReading& after) const {
    if (const auto reason = busy(after); reason != records::VOID_REASON_NONE) {
        return reason;
    }
    const StructView first(before.structure);
    const StructView second(after.structure);
    const bool same = std::ranges::all_of(
        fields_, [&](Field field) { return first.get(field) == second.get(field); });
    return same ? records::VOID_REASON_NONE : records::VOID_REASON_CHANGED;
}

}  // namespace beamdump::beam
