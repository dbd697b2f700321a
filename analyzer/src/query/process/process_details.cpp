#include "query/process/process_details.h"

#include "query/node/dump_facts.h"
#include "query/node/process_facts.h"
#include "query/process/dictionary.h"
#include "query/process/opened_process.h"
#include "query/process/process_binaries.h"
#include "query/process/process_code.h"
#include "query/process/process_relations.h"
#include "query/term/deferred_texts.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/messages.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/pointer_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::query {

namespace {

std::string region_kind_text(format::RegionKind kind) {
    switch (kind) {
        case format::RegionKind::kStack:
            return "stack";
        case format::RegionKind::kHeap:
            return "heap";
        case format::RegionKind::kOldHeap:
            return "old_heap";
        case format::RegionKind::kAbandonedHeap:
            return "abandoned_heap";
        case format::RegionKind::kHeapFragment:
            return "heap_fragment";
        case format::RegionKind::kReceivedFragment:
            return "received_fragment";
        case format::RegionKind::kMessageFragment:
            return "message_fragment";
        case format::RegionKind::kDictionary:
            return "dictionary";
        case format::RegionKind::kArguments:
            return "arguments";
        case format::RegionKind::kShadowFragment:
            return "shadow_fragment";
        case format::RegionKind::kSpecificData:
            return "specific_data";
        case format::RegionKind::kSignalData:
            return "signal_data";
        case format::RegionKind::kRemoteIdentifiers:
            return "remote_identifiers";
        case format::RegionKind::kExternalData:
            return "external_data";
        case format::RegionKind::kUnplaced:
            return "unplaced";
        case format::RegionKind::kCollectedHeap:
            return "collected_heap";
        case format::RegionKind::kCopiedHeap:
            return "copied_heap";
        default:
            return fmt::format("kind_{}", static_cast<int>(kind));
    }
}

/// Reads one process's details, part by part.
class Reading {
  public:
    Reading(Dump& dump, OpenedProcess& process, DeferredTexts& texts, const DetailsOptions& options,
            ProcessDetails& into)
        : dump_(dump),
          process_(process),
          run_(process.run),
          scheme_(process.scheme),
          context_(process.context()),
          options_(options),
          into_(into),
          texts_(texts),
          identifiers_(process.context(), without_style(process.scheme)) {}

    Result<void> run_all() {
        into_.withheld = run_.process.sensitive() && !options_.sensitive;
        const bool terms = !into_.withheld && !run_.is_void();
        if (terms) {
            RETURN_IF_ERROR(dictionary());
        }
        into_.groups = process_facts(dump_, run_, identifiers_, marks_);
        into_.stacktrace = current_stacktrace(dump_, process_);
        if (terms) {
            RETURN_IF_ERROR(arguments());
        }
        RETURN_IF_ERROR(read_relations(dump_, run_, identifiers_, options_.limit, into_));
        regions();
        RETURN_IF_ERROR(binaries());
        RETURN_IF_ERROR(messages());
        return {};
    }

  private:
    [[nodiscard]] bool room_for(std::size_t items) const {
        return options_.limit == 0 || items < options_.limit;
    }

    Result<void> arguments() {
        if (is_of_crash_dump(dump_)) {
            return {};
        }
        ASSIGN_OR_RETURN(const auto words, process_.arguments());
        auto& list = into_.arguments.emplace();
        list.total = words.size();
        for (std::size_t index = 0; index < words.size() && room_for(index); ++index) {
            list.items.push_back({index, text((words)[index])});
        }
        return {};
    }

    TermText text(std::uint64_t word) { return texts_.word(word); }

    void regions() {
        const bool lazily_read =
            is_of_crash_dump(dump_) && !run_.is_void() && !run_.end.has_words_captured();
        if (lazily_read) {
            return;
        }
        auto& regions = into_.regions.emplace();
        for (const Region& region : run_.directory.regions) {
            ++regions.total;
            if (!room_for(regions.items.size())) {
                continue;
            }
            // Words of a converted crash dump have eight bytes, whatever the node's word size.
            const auto unit =
                region.unit_bytes() == kWordBytes ? into_.dump.word_bytes : region.unit_bytes();
            RegionLine line{region_kind_text(region.kind),
                            address_in_node(process_.scheme, region.address), region.total * unit,
                            region.here * unit, std::nullopt};
            if (region.here < region.total) {
                line.absent_because = absence_reason(region.state);
            }
            regions.items.push_back(std::move(line));
        }
    }

    Result<void> binaries() {
        if (is_of_crash_dump(dump_)) {
            return {};
        }
        ASSIGN_OR_RETURN(auto binaries, process_binaries(dump_, process_, options_.limit));
        into_.binaries = std::move(binaries);
        return {};
    }

    Result<void> dictionary() {
        const auto entry = [this](std::uint64_t key, std::uint64_t value) {
            ++into_.dictionary.total;
            mark(key, value);
            if (room_for(into_.dictionary.items.size())) {
                into_.dictionary.items.push_back({text(key), text(value)});
            }
            return true;
        };
        const auto lost = [this](std::uint64_t word) {
            ++into_.dictionary.total;
            if (!room_for(into_.dictionary.items.size())) {
                ++into_.malformed;
                return true;
            }
            const auto absent = lost_entry(texts_.printer(), word);
            into_.malformed += absent.is_term ? 1 : 0;
            into_.dictionary.items.push_back({absent.text, absent.text});
            return true;
        };
        const auto read = walk_dictionary(context_, run_, scheme_, entry, lost);
        if (!read) {
            return wrap("reading the dictionary", read.error());
        }
        return {};
    }

    /// Initial call and label from the dictionary (proc_lib.erl, OTP 25; the label from OTP 27 on,
    /// before that Elixir's).
    void mark(std::uint64_t key, std::uint64_t value) {
        constexpr std::size_t kLongestLabel = 1000;
        if (word_kind(scheme_, key) != WordKind::kAtom) {
            return;
        }
        const auto name = context_.atom(static_cast<std::uint32_t>(table_index(key)));
        if (name == "$initial_call") {
            marks_.initial_call = initial_call(value);
        } else if (name == "$process_label") {
            marks_.label = term_text(texts_.printer(), value, kLongestLabel).text;
        } else if (name == "process_name") {
            marks_.process_name = term_text(texts_.printer(), value, kLongestLabel).text;
        }
    }

    /// {Module, Function, Arity} as module:function/arity; nullopt for other terms.
    std::optional<std::string> initial_call(std::uint64_t word) {
        std::array<std::uint64_t, 4> tuple{};
        if (word_kind(scheme_, word) != WordKind::kBoxed) {
            return std::nullopt;
        }
        const auto got = context_.words(pointer_of(word), tuple);
        if (!got || *got < tuple.size() || boxed_kind(scheme_, tuple[0]) != BoxedKind::kTuple ||
            header_arity(tuple[0]) != 3 || word_kind(scheme_, tuple[1]) != WordKind::kAtom ||
            word_kind(scheme_, tuple[2]) != WordKind::kAtom ||
            word_kind(scheme_, tuple[3]) != WordKind::kSmall) {
            return std::nullopt;
        }
        return function_text(dump_, {static_cast<std::uint32_t>(table_index(tuple[1])),
                                     static_cast<std::uint32_t>(table_index(tuple[2])),
                                     static_cast<std::uint32_t>(small_value(tuple[3]))});
    }

    /// Entries past the limit are counted by their packs, not read.
    Result<void> messages() {
        std::uint64_t entries = 0;
        for (const Pack& pack : run_.directory.messages) {
            entries += pack.count;
        }
        MessageWalker walker(dump_.reader(), run_);
        std::uint64_t walked = 0;
        while (room_for(into_.messages.items.size())) {
            ASSIGN_OR_RETURN(auto entry, walker.next());
            if (entry == nullptr) {
                break;
            }
            ++walked;
            if (!is_message(*entry)) {
                ++into_.other_signals;
                continue;
            }
            ++into_.messages.total;
            if (!into_.withheld) {
                RETURN_IF_ERROR(message(*entry, walker.index()));
            }
        }
        into_.messages.total += std::max(entries, walked) - walked;
        return {};
    }

    Result<void> message(const records::Message& entry, std::uint64_t index) {
        ASSIGN_OR_RETURN(auto message, texts_.message(entry, index));
        into_.messages.items.push_back({index, queue_text(entry.queue()), std::move(message)});
        return {};
    }

    Dump& dump_;
    OpenedProcess& process_;
    const ProcessRun& run_;
    const TagScheme& scheme_;
    ProcessContext& context_;
    const DetailsOptions& options_;
    ProcessDetails& into_;
    DeferredTexts& texts_;
    TermPrinter identifiers_;  ///< of what is no term of the process: Erlang's in any syntax
    DictionaryMarks marks_;
};

}  // namespace

Result<ProcessDetails> process_details(Dump& dump, const std::string& file, std::string_view name,
                                       const DetailsOptions& options) {
    ASSIGN_OR_RETURN(auto process, open_process(dump, name, HeapUse::kWhole));
    ProcessDetails details;
    details.dump = dump_facts(dump, file);
    details.line = process->line;
    if (process->run.end.has_detail() && !process->run.end.detail().empty()) {
        details.void_detail = process->run.end.detail();
    }
    const std::shared_ptr<OpenedProcess> opened = std::move(process);
    const auto texts = DeferredTexts::make(dump, opened, options.term_bytes);
    details.texts = texts;
    Reading reading(dump, *opened, *texts, options, details);
    RETURN_IF_ERROR(reading.run_all());
    return details;
}

std::uint64_t ProcessDetails::all_placeholders() const {
    return malformed + texts->placeholders();
}

}  // namespace beamdump::query
