#include "capture/session/process_capture.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/left_out.h>
#include <libdump/format/process_row.h>
#include <libdump/write/record_limits.h>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace beamdump::capture {
namespace {

constexpr std::uint64_t kMessagesBetweenWatches = 1024;

/// Errors that mean "this process's memory is inconsistent", not "the capture cannot continue".
bool is_about_the_process(const Error& error) {
    return error.code == ErrorCode::kImplausible || error.code == ErrorCode::kUnmapped ||
           error.code == ErrorCode::kChanged;
}

/// More about a process than a reason to be void.
std::string detail_of(const Try& request, const beam::ProcessView& process) {
    std::string detail(request.unpaused);
    if ((request.yielded || request.own_collection) && request.in_function &&
        process.void_reason == records::VOID_REASON_NONE) {
        detail +=
            fmt::format("{}{}{}{}", detail.empty() ? "" : format::kBetweenDetails, format::kLeftOut,
                        request.without_x_registers ? "x registers" : "machine registers",
                        request.without_frame ? ", frame" : "");
    }
    return detail;
}

/// Of a process in memory that stands still.
class MovedInMemory final : public redact::MovedHeaders {
  public:
    MovedInMemory(const TagScheme& scheme, memory::MemorySource& memory,
                  const beam::CollectionSpaces& spaces)
        : MovedHeaders(scheme), memory_(memory), promoted_(spaces.promoted), block_(spaces.block) {}

    [[nodiscard]] bool is_target(std::uint64_t address) const override {
        return promoted_.holds(address) || block_.holds(address);
    }

  private:
    std::size_t words(std::uint64_t address, std::span<std::uint64_t> into) override {
        const auto read = memory_.read_some(address, std::as_writable_bytes(into));
        return read.value_or(0) / sizeof(std::uint64_t);
    }

    memory::MemorySource& memory_;
    beam::Span promoted_, block_;
};

/// Whether the reason of a request, that of the last try, tells more than what the process is doing
/// when it is listed: it goes on meanwhile.
bool tells_more(const Try& request, const beam::ProcessView& process) {
    return request.skip_reason != records::VOID_REASON_LEFT_OUT &&
           process.void_reason != records::VOID_REASON_EXITING &&
           process.void_reason != records::VOID_REASON_IMPLAUSIBLE;
}

}  // namespace

Result<ProcessCapture> ProcessCapture::open(Parts parts) {
    ASSIGN_OR_RETURN(auto reader, beam::ProcessReader::open(parts.vm, *parts.code));
    ASSIGN_OR_RETURN(auto relations, beam::RelationWalker::open(parts.vm));
    ASSIGN_OR_RETURN(auto messages, beam::MessageWalker::open(parts.vm));
    ASSIGN_OR_RETURN(auto fragments, beam::FragmentReader::open(parts.vm));
    ASSIGN_OR_RETURN(auto off_heap, beam::OffHeapWalker::open(parts.vm));
    ASSIGN_OR_RETURN(auto shown, beam::ShownParts::open(parts.vm));
    ASSIGN_OR_RETURN(auto dictionaries, beam::DictionaryReader::open(parts.vm));
    ASSIGN_OR_RETURN(auto calls,
                     beam::TranslatedCalls::open(parts.vm, parts.dictionary_keys.initial_call));
    ASSIGN_OR_RETURN(auto collections, beam::CollectionReader::open(parts.vm));
    std::optional<beam::SystemTaskReader> tasks;
    if (auto opened = beam::SystemTaskReader::open(parts.vm)) {
        tasks = *opened;
    }
    std::optional<beam::TraceReader> traces;
    if (auto opened = beam::TraceReader::open(parts.vm)) {
        traces = *opened;
    }
    return ProcessCapture(std::move(parts), std::move(reader), std::move(relations),
                          std::move(messages), std::move(fragments), std::move(off_heap),
                          std::move(shown), dictionaries, calls, std::move(collections), tasks,
                          traces);
}

/// Why a copy that ended with kChanged is void: what watched it says so, else its own words do.
records::VoidReason ProcessCapture::why_changed() const {
    return changed_ != records::VOID_REASON_NONE ? changed_
           : collecting_                         ? records::VOID_REASON_COLLECTING
                                                 : records::VOID_REASON_CHANGED;
}

Result<void> ProcessCapture::still(const Try& request) {
    changed_ = records::VOID_REASON_NONE;
    if (request.watch == nullptr) {
        return {};
    }
    ASSIGN_OR_RETURN(auto reason, (*request.watch)());
    changed_ = reason;
    return changed_ == records::VOID_REASON_NONE
               ? Result<void>()
               : fail(ErrorCode::kChanged, "it changed while it was being copied");
}

/// Reads stack and heaps of a small process in one call, all from the same moment.
Result<void> ProcessCapture::read_ahead(const Try& request, const beam::ProcessView& process) {
    if (request.contents != nullptr) {
        return {};
    }
    parts_.vm.prefetched().drop();
    std::array<memory::AddressRange, 3> ranges = {{{process.stack.begin, process.stack.end},
                                                   {process.heap.begin, process.heap.end},
                                                   {process.old_heap.begin, process.old_heap.end}}};
    std::uint64_t bytes = 0;
    for (const auto& range : ranges) {
        bytes += range.bytes();
    }
    if (!parts_.read_ahead || bytes > parts_.vm.sizes().contents_bytes) {
        return {};
    }
    return parts_.vm.prefetched().read(parts_.vm.target().memory(), ranges);
}

/// Does nothing where absent pages must not be touched, like read_ahead().
void ProcessCapture::read_dictionary(beam::ProcessView& process) {
    if (!parts_.read_ahead) {
        return;
    }
    if (auto call = calls_.of(process)) {
        *process.facts.mutable_translated_initial_call() = *call;
    }
    std::uint32_t absent = 0;
    for (std::size_t at = 0; const auto& key : parts_.dictionary_keys.naming) {
        const auto bit = 1U << at++;
        absent |= dictionaries_.lacks(process, key) ? bit : 0;
    }
    if (absent != 0) {
        process.facts.set_naming_keys_absent(absent);
    }
}

void ProcessCapture::forget_dictionary(beam::ProcessView& process) {
    process.facts.clear_translated_initial_call();
    process.facts.clear_naming_keys_absent();
}

Result<TryOutcome> ProcessCapture::capture(const Try& request) {
    if (request.contents != nullptr) {
        parts_.vm.prefetched().hold(*request.contents);
    }
    auto* const process = &process_;
    if (!reader_.decode(request.slot, request.structure, request.yielded, *process)) {
        unrecognised_ += request.last ? 1 : 0;
        return TryOutcome{records::VOID_REASON_NONE, true};
    }
    RETURN_IF_ERROR(find_collection(request, *process));
    const bool held = process->void_reason == records::VOID_REASON_NONE;
    if (request.skip_reason != records::VOID_REASON_NONE &&
        (held || tells_more(request, *process))) {
        process->void_reason = request.skip_reason;
    }
    if (!request.skip_detail.empty() && process->void_reason == request.skip_reason) {
        process->void_detail = request.skip_detail;
    }
    if (process->void_reason == records::VOID_REASON_NONE) {
        auto ahead = read_ahead(request, *process);
        read_dictionary(*process);
        auto same = ahead ? still(request) : ahead;
        if (!same && same.error().code != ErrorCode::kChanged) {
            return std::unexpected(same.error());
        }
        if (!same) {
            process->void_reason = why_changed();
            forget_dictionary(*process);
        }
    } else if (held && process->void_reason == records::VOID_REASON_LEFT_OUT) {
        // It distinguishes processes in lists that have no heaps.
        read_dictionary(*process);
        if (auto same = still(request); !same) {
            forget_dictionary(*process);
            if (same.error().code != ErrorCode::kChanged) {
                return std::unexpected(same.error());
            }
        }
    }
    if (process->void_reason == records::VOID_REASON_NONE || request.last) {
        process->facts.set_epoch(request.epoch);
        if (tasks_) {
            RETURN_IF_ERROR(tasks_->read(beam::StructView(request.structure), process->facts));
        }
        if (traces_) {
            RETURN_IF_ERROR(traces_->read(beam::StructView(request.structure), process->facts));
        }
        RETURN_IF_ERROR(write(request, *process));
    }
    parts_.vm.prefetched().drop();
    return TryOutcome{process->void_reason, false, process->void_detail};
}

Result<void> ProcessCapture::write(const Try& request, beam::ProcessView& process) {
    ASSIGN_OR_RETURN(auto begin,
                     parts_.copier.writer().append(format::RecordKind::kProcess, process.facts));
    auto& run = run_;
    run.begin(process.facts.owner_id());
    auto& outcome = outcome_;
    outcome.end.Clear();
    outcome.memory_bytes = process.fixed_bytes;
    outcome.message_words = 0;
    if (process.void_reason == records::VOID_REASON_NONE) {
        const RegionCopier::Watch watch = [&] { return still(request); };
        parts_.copier.set_watch(&watch);
        parts_.binaries.set_watch(&watch);
        const RegionCopier::Observer look = [&](Address address, std::span<std::byte> words) {
            shown_.look(address, words);
        };
        shown_.clear();
        run.observe(parts_.binaries.keeps_parts() ? &look : nullptr);
        auto done = contents(request, process, run, outcome);
        run.observe(nullptr);
        if (done && request.watch != nullptr) {
            done = parts_.binaries.settle();
        }
        if (done) {
            done = still(request);
        }
        parts_.copier.set_watch(nullptr);
        parts_.binaries.set_watch(nullptr);
        if (!done) {
            parts_.binaries.drop();
        }
        if (!done && !is_about_the_process(done.error())) {
            return done;
        }
        if (!done) {
            process.void_reason = done.error().code == ErrorCode::kChanged ? why_changed()
                                  : done.error().code == ErrorCode::kUnmapped
                                      ? records::VOID_REASON_UNREADABLE
                                      : records::VOID_REASON_IMPLAUSIBLE;
            process.void_detail = done.error().message;
        } else if (run.unreadable()) {
            process.void_reason = records::VOID_REASON_UNREADABLE;
            process.void_detail = "a region could not be read to its end";
        }
    }
    RETURN_IF_ERROR(run.finish(*outcome.end.mutable_directory()));
    outcome.end.set_words_captured(run.words());
    outcome.end.set_queue_entries(run.queue_entries());
    words_ += run.words();
    return finish(request, process, begin, outcome);
}

Result<void> ProcessCapture::contents(const Try& request, const beam::ProcessView& process,
                                      RunWriter& run, Outcome& outcome) {
    ASSIGN_OR_RETURN(
        auto walked,
        relations_.walk(process, limits::kRelationsOfAPage, parts_.chain_limit,
                        [&](records::Relations& page) { return relations(page, run); }));
    outcome.memory_bytes += walked.bytes;
    outcome.end.set_links(walked.links);
    outcome.end.set_monitors(walked.monitors);
    walked.counts.set(outcome.end);
    RETURN_IF_ERROR(collecting_ ? collected_heaps(process, run, outcome) : heaps(process, run));
    std::optional<beam::RootResolver> roots;
    if (outcome.end.has_collection()) {
        roots.emplace(parts_.vm, outcome.end.collection());
    }
    auto queues =
        messages_.walk(process, parts_.chain_limit, [&](beam::QueueEntry& entry) -> Result<void> {
            if (run.queue_entries() % kMessagesBetweenWatches == kMessagesBetweenWatches - 1) {
                RETURN_IF_ERROR(still(request));
            }
            outcome.memory_bytes += entry.bytes;
            if (roots) {
                RETURN_IF_ERROR(resolve_roots(*roots, entry.message));
            }
            for (const auto& fragment : entry.fragments) {
                if (entry.message.kind() != records::MESSAGE_KIND_SIGNAL &&
                    !process.facts.off_heap_message_queue()) {
                    outcome.message_words += fragment.used_words;
                }
            }
            RETURN_IF_ERROR(run.message(entry));
            // Once their words were looked at.
            for (const auto& fragment : entry.fragments) {
                RETURN_IF_ERROR(list(fragment.off_heap, fragment.used_words));
            }
            return {};
        });
    if (!queues) {
        return queues;
    }
    return off_heap(process, run);
}

/// Resolves the term of a message that a collection may have moved.
Result<void> ProcessCapture::resolve_roots(beam::RootResolver& roots, records::Message& message) {
    if (message.has_term_word()) {
        ASSIGN_OR_RETURN(const auto term, roots.resolved(message.term_word()));
        message.set_term_word(term);
    }
    if (message.has_token_word()) {
        ASSIGN_OR_RETURN(const auto token, roots.resolved(message.token_word()));
        message.set_token_word(token);
    }
    return {};
}

Result<void> ProcessCapture::relations(const records::Relations& page, RunWriter& run) {
    // A remote pid is a separate term outside of the link or monitor: keep its words too.
    const auto keep = [&](std::uint64_t word) {
        const auto address = relations_.remote_thing(word);
        return run.fragment(
            format::RegionKind::kRemoteIdentifiers,
            {0, address, relations_.remote_words(), relations_.remote_words(), 0, 0});
    };
    for (const auto& link : page.link()) {
        if (link.has_remote_owner_id()) {
            RETURN_IF_ERROR(keep(link.other_word()));
        }
    }
    for (const auto& monitor : page.monitor()) {
        if (monitor.has_remote_owner_id()) {
            RETURN_IF_ERROR(keep(monitor.other_word()));
        }
    }
    return run.relations(page);
}

/// Where the words are of a process in the middle of a collection.
Result<void> ProcessCapture::find_collection(const Try& request, beam::ProcessView& process) {
    collecting_.reset();
    if (process.void_reason != records::VOID_REASON_COLLECTING || !request.standing) {
        return {};
    }
    if (!request.unclear.empty()) {
        process.void_detail = request.unclear;
        return {};
    }
    auto spaces =
        collections_.read(beam::StructView(request.structure), process, request.own_collection);
    if (!spaces && spaces.error().code == ErrorCode::kTargetDied) {
        return std::unexpected(spaces.error());
    }
    if (!spaces) {
        process.void_detail = spaces.error().message;
        return {};
    }
    process.void_reason = records::VOID_REASON_NONE;
    process.stack = spaces->stack;
    process.facts.set_stack_words(spaces->stack.words());
    process.facts.set_stack_top_address(spaces->stack.begin);
    process.facts.set_heap_end_address(spaces->stack.end);
    // As a region, in which words that lead to objects that were copied are shown as such.
    const auto count = process.facts.argument_words_size();
    if (count != 0 && process.facts.argument_array_address() != 0) {
        const auto begin = process.facts.argument_array_address();
        process.arguments = {begin, begin + static_cast<std::uint64_t>(count) * 8};
        process.facts.clear_argument_words();
    }
    collecting_ = std::move(*spaces);
    mended_ = request.mended;
    return {};
}

/// Puts the words that a stopped thread was about to store, or has overwritten, among those read.
void ProcessCapture::mend(Address begin, std::span<std::byte> words) const {
    for (const auto& [address, word] : mended_) {
        if (begin <= address && address + sizeof(word) <= begin + words.size()) {
            std::memcpy(words.data() + (address - begin), &word, sizeof(word));
        }
    }
}

/// All that is collected, then what it was copied to: how far that goes is known from the former.
Result<void> ProcessCapture::collected_heaps(const beam::ProcessView& process, RunWriter& run,
                                             Outcome& outcome) {
    using format::RegionKind;
    const auto& spaces = *collecting_;
    for (const auto& [kind, span] : {std::pair{RegionKind::kStack, process.stack},
                                     std::pair{RegionKind::kArguments, process.arguments},
                                     std::pair{RegionKind::kArguments, process.native_arguments},
                                     std::pair{RegionKind::kDictionary, process.dictionary}}) {
        RETURN_IF_ERROR(run.region(kind, span));
    }
    if (spaces.whole) {
        RETURN_IF_ERROR(run.region(RegionKind::kHeap, spaces.block));
        return run.region(RegionKind::kOldHeap, spaces.old_heap);
    }
    ASSIGN_OR_RETURN(auto moved, beam::MovedObjects::open(parts_.vm, spaces));
    const RegionCopier::Observer look = [&](Address begin, std::span<std::byte> words) {
        mend(begin, words);
        moved.look(begin, words);
        shown_.look(begin, words);
    };
    const auto* const before = run.observe(&look);
    const auto collected = collected_words(process, run);
    run.observe(before);
    RETURN_IF_ERROR(collected);
    records::Collection collection;
    RETURN_IF_ERROR(moved.finish(collection));
    for (const auto& target : collection.target()) {
        RETURN_IF_ERROR(run.region(RegionKind::kCopiedHeap, {target.begin(), target.end()}));
    }
    for (const auto& spans : {spaces.from, spaces.fragments}) {
        for (const auto& span : spans) {
            auto& from = *collection.add_from();
            from.set_begin(span.begin);
            from.set_end(span.end);
        }
    }
    *outcome.end.mutable_collection() = std::move(collection);
    return {};
}

/// The words that are collected; the redactor is told which of their objects were moved.
Result<void> ProcessCapture::collected_words(const beam::ProcessView& process, RunWriter& run) {
    const auto write = [&]() -> Result<void> {
        for (const auto& span : collecting_->from) {
            RETURN_IF_ERROR(run.region(format::RegionKind::kCollectedHeap, span));
        }
        RETURN_IF_ERROR(fragments(process, run));
        return run.flush_fragments();
    };
    if (parts_.redactor == nullptr) {
        return write();
    }
    ASSIGN_OR_RETURN(const auto scheme, beam::term_scheme_of(parts_.vm));
    MovedInMemory moved(scheme, parts_.vm.memory(), *collecting_);
    parts_.redactor->moved(&moved);
    auto written = write();
    parts_.redactor->moved(nullptr);
    if (written && moved.any_unknown()) {
        return fail(
            ErrorCode::kChanged,
            "its collection stands where the size of an object that was moved is not known");
    }
    return written;
}

Result<void> ProcessCapture::heaps(const beam::ProcessView& process, RunWriter& run) {
    using format::RegionKind;
    for (const auto& [kind, span] :
         {std::pair{RegionKind::kStack, process.stack}, std::pair{RegionKind::kHeap, process.heap},
          std::pair{RegionKind::kOldHeap, process.old_heap},
          std::pair{RegionKind::kAbandonedHeap, process.abandoned_heap},
          std::pair{RegionKind::kArguments, process.arguments},
          std::pair{RegionKind::kArguments, process.native_arguments},
          std::pair{RegionKind::kDictionary, process.dictionary}}) {
        RETURN_IF_ERROR(run.region(kind, span));
    }
    return fragments(process, run);
}

Result<void> ProcessCapture::fragments(const beam::ProcessView& process, RunWriter& run) {
    using format::RegionKind;
    const auto with_binaries = [&](RegionKind kind,
                                   const beam::Fragment& fragment) -> Result<void> {
        RETURN_IF_ERROR(run.fragment(kind, fragment));
        return list(fragment.off_heap, fragment.used_words);
    };
    auto chained =
        fragments_.chain(process.mbuf, parts_.chain_limit, [&](const beam::Fragment& fragment) {
            return with_binaries(
                collecting_ ? RegionKind::kCollectedHeap : RegionKind::kHeapFragment, fragment);
        });
    if (!chained) {
        return chained;
    }
    return messages_.received(
        process.msg_frag, parts_.chain_limit, [&](const beam::Fragment& fragment) {
            return with_binaries(
                collecting_ ? RegionKind::kCollectedHeap : RegionKind::kReceivedFragment, fragment);
        });
}

Result<void> ProcessCapture::list(beam::Address first, std::uint64_t limit) {
    return off_heap_.binaries(first, limit, [&](const beam::BinaryReference& reference) {
        return parts_.binaries.add(reference.binary, shown_.of(reference));
    });
}

Result<void> ProcessCapture::off_heap(const beam::ProcessView& process, const RunWriter& run) {
    // A member of an off-heap list has at least three words, all of them in the captured regions.
    const auto limit = run.words() / 3 + 1;
    for (const auto first : {process.off_heap, process.writable_binaries}) {
        auto listed = list(first, limit);
        // A collection that has copied all links these lists anew.
        const bool may_fail = collecting_ && collecting_->whole;
        if (!listed && !(may_fail && is_about_the_process(listed.error()))) {
            return listed;
        }
    }
    return {};
}

Result<void> ProcessCapture::finish(const Try& request, const beam::ProcessView& process,
                                    std::uint64_t begin, Outcome& outcome) {
    auto& end = outcome.end;
    end.set_owner_id(process.facts.owner_id());
    end.set_void_reason(process.void_reason);
    if (process.void_reason != records::VOID_REASON_NONE) {
        end.clear_linked();
        end.clear_monitored();
        end.clear_monitored_by();
    }
    if (!process.void_detail.empty()) {
        end.set_detail(process.void_detail);
    } else if (auto detail = detail_of(request, process); !detail.empty()) {
        end.set_detail(std::move(detail));
    }
    end.set_begin_offset(begin);
    end.set_attempt(request.number);
    end.set_memory_bytes(outcome.memory_bytes);
    end.set_message_words(outcome.message_words);
    ASSIGN_OR_RETURN(auto offset,
                     parts_.copier.writer().append(format::RecordKind::kProcessEnd, end));
    if (process.void_reason != records::VOID_REASON_NONE && !request.last) {
        return {};
    }
    set_row(process.facts, end, offset, row_);
    return parts_.index.add(row_);
}

}  // namespace beamdump::capture
