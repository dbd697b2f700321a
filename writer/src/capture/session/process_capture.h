#pragma once

#include "capture/copy/binary_store.h"

#include <libdump/redact/redactor.h>
#include <libdump/write/process_index_writer.h>
#include <libvm/beam/collections/collection.h>
#include <libvm/beam/collections/collectors.h>
#include <libvm/beam/processes/messages.h>
#include <libvm/beam/processes/off_heap.h>
#include <libvm/beam/processes/relations.h>
#include <libvm/beam/processes/shown_parts.h>
#include <libvm/beam/processes/system_tasks.h>
#include <libvm/beam/processes/traces.h>
#include <libvm/beam/processes/translated_call.h>

#include <functional>
#include <memory>

namespace beamdump::capture {

/// One try to capture a process.
struct Try {
    beam::IdSlot slot;
    std::span<const std::byte> structure;  ///< as it was read
    std::uint32_t epoch = 1;
    std::uint32_t number = 1;  ///< of the tries for this process
    /// Why the copy is no longer consistent with the structure, NONE while it is. Asked after
    /// reading ahead, now and then, and at the end. Null: nothing can change.
    const std::function<Result<records::VoidReason>()>* watch = nullptr;
    /// Nothing in memory changes while `watch` says so: a process in the middle of a collection can
    /// be captured.
    bool standing = false;
    /// Why a collection cannot be followed at this moment; empty if it can.
    std::string_view unclear = {};
    /// Words of collected objects in place of those in memory (beam::Collectors).
    std::span<const beam::MendedWord> mended = {};
    /// The structure of a process that runs was completed from registers (beam::YieldState).
    bool yielded = false;
    /// It runs in the middle of a function, and terms in its registers are not known
    /// (beam::YieldState::State).
    bool in_function = false;
    bool without_x_registers = false;
    /// Its code has called for the collection that it is in, with so many words on its stack, and
    /// the structure has where its arguments are.
    std::optional<std::uint32_t> own_collection = {};
    bool without_frame = false;
    /// Stack, heaps and more, if they were read together with others'; null: they are still to be
    /// read.
    const std::vector<memory::HeldPart>* contents = nullptr;
    /// NONE: all of it. Else only what the structure says, void for that reason.
    records::VoidReason skip_reason = records::VOID_REASON_NONE;
    /// More about `skip_reason`; may be empty.
    std::string skip_detail = {};
    /// That it has run without a pause for long; empty: it is not known to.
    std::string_view unpaused = {};
    /// Whether a process that cannot be copied is listed as void; else it is as if there had been
    /// no try.
    bool last = true;
};

struct TryOutcome {
    /// NONE: it was copied.
    records::VoidReason reason = records::VOID_REASON_NONE;
    bool no_process = false;  ///< the structure is not a process's
    std::string detail = {};  ///< more about `reason`; may be empty
};

/// Writes processes' runs: structure, regions, queues, relations, end.
class ProcessCapture {
  public:
    struct Parts {
        beam::Vm& vm;
        std::unique_ptr<beam::CodeLookup> code;  ///< readers refer to it
        RegionCopier& copier;
        BinaryStore binaries;
        ProcessIndexWriter& index;
        /// Ends a walk over a chain that was torn into a ring: more members than fit into memory.
        std::uint64_t chain_limit;
        /// Small heaps are read in one go; not where absent pages must be left alone.
        bool read_ahead;
        beam::DictionaryKeys dictionary_keys;
        /// Hides values in what is written; null: nothing does.
        redact::Redactor* redactor;
    };
    static Result<ProcessCapture> open(Parts parts);

    /// Decodes and writes one process. A structure that is not a process's is skipped, and counted
    /// if the try is the last.
    Result<TryOutcome> capture(const Try& request);

    /// Those that the processes name.
    [[nodiscard]] BinaryStore& binaries() { return parts_.binaries; }
    /// The code that was loaded when the node's facts were read.
    [[nodiscard]] beam::CodeLookup& code() { return *parts_.code; }
    [[nodiscard]] const beam::ProcessReader& reader() const { return reader_; }
    /// Whether contents may be read ahead.
    [[nodiscard]] bool reads_ahead() const { return parts_.read_ahead; }
    [[nodiscard]] std::uint64_t words() const { return words_; }
    [[nodiscard]] std::uint64_t unrecognised() const { return unrecognised_; }

  private:
    ProcessCapture(Parts parts, beam::ProcessReader reader, beam::RelationWalker relations,
                   beam::MessageWalker messages, beam::FragmentReader fragments,
                   beam::OffHeapWalker off_heap, beam::ShownParts shown,
                   beam::DictionaryReader dictionaries, beam::TranslatedCalls calls,
                   beam::CollectionReader collections, std::optional<beam::SystemTaskReader> tasks,
                   std::optional<beam::TraceReader> traces)
        : parts_(std::move(parts)),
          reader_(std::move(reader)),
          relations_(std::move(relations)),
          messages_(std::move(messages)),
          fragments_(std::move(fragments)),
          off_heap_(std::move(off_heap)),
          shown_(std::move(shown)),
          dictionaries_(dictionaries),
          calls_(calls),
          collections_(std::move(collections)),
          tasks_(tasks),
          traces_(traces),
          run_(parts_.copier, parts_.vm, format::OwnerKind::kProcess, 0) {}

    struct Outcome {
        records::ProcessEnd end;
        std::uint64_t memory_bytes = 0;
        std::uint64_t message_words = 0;  ///< in fragments, of an on-heap queue
    };
    Result<void> contents(const Try& request, const beam::ProcessView& process, RunWriter& run,
                          Outcome& outcome);
    static Result<void> resolve_roots(beam::RootResolver& roots, records::Message& message);
    Result<void> relations(const records::Relations& page, RunWriter& run);
    Result<void> heaps(const beam::ProcessView& process, RunWriter& run);
    Result<void> find_collection(const Try& request, beam::ProcessView& process);
    void mend(Address begin, std::span<std::byte> words) const;
    Result<void> collected_heaps(const beam::ProcessView& process, RunWriter& run,
                                 Outcome& outcome);
    Result<void> collected_words(const beam::ProcessView& process, RunWriter& run);
    Result<void> fragments(const beam::ProcessView& process, RunWriter& run);
    Result<void> off_heap(const beam::ProcessView& process, const RunWriter& run);
    Result<void> list(beam::Address first, std::uint64_t limit);
    Result<void> write(const Try& request, beam::ProcessView& process);
    Result<void> read_ahead(const Try& request, const beam::ProcessView& process);
    void read_dictionary(beam::ProcessView& process);
    static void forget_dictionary(beam::ProcessView& process);
    [[nodiscard]] records::VoidReason why_changed() const;
    /// kChanged where the request's watch says so; the reason is then in `changed_`.
    Result<void> still(const Try& request);
    Result<void> finish(const Try& request, const beam::ProcessView& process, std::uint64_t begin,
                        Outcome& outcome);

    Parts parts_;
    records::VoidReason changed_ = records::VOID_REASON_NONE;
    beam::ProcessReader reader_;
    beam::RelationWalker relations_;
    beam::MessageWalker messages_;
    beam::FragmentReader fragments_;
    beam::OffHeapWalker off_heap_;
    beam::ShownParts shown_;
    beam::DictionaryReader dictionaries_;
    beam::TranslatedCalls calls_;
    beam::CollectionReader collections_;
    std::optional<beam::SystemTaskReader> tasks_;  // nothing: the layout lacks their structures
    std::optional<beam::TraceReader> traces_;      // nothing: as above
    // What the process at hand has; kept for their memory.
    beam::ProcessView process_;
    std::optional<beam::CollectionSpaces> collecting_;  // it is in the middle of a collection
    std::span<const beam::MendedWord> mended_;
    RunWriter run_;
    Outcome outcome_;
    records::ProcessRow row_;
    std::uint64_t words_ = 0;
    std::uint64_t unrecognised_ = 0;
};

}  // namespace beamdump::capture
