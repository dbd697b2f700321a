#include "query/process_details.h"

#include "query/opened_process.h"
#include "query/process_dictionary.h"
#include "query/process_facts.h"
#include "query/process_relations.h"

#include <libdump/model/messages.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::query {

namespace {

std::string queue_text(records::QueueKind kind) {
    switch (kind) {
        case records::QUEUE_KIND_INNER:
            return "inner";
        case records::QUEUE_KIND_MIDDLE:
            return "middle";
        case records::QUEUE_KIND_OUTER:
            return "outer";
        case records::QUEUE_KIND_BUFFER:
            return "buffer";
        default:
            return "unknown";
    }
}

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
        default:
            return fmt::format("kind_{}", static_cast<int>(kind));
    }
}

/// Reads one process's details, part by part.
class Reading {
  public:
    Reading(Dump& dump, OpenedProcess& process, const DetailsOptions& options, ProcessDetails& into)
        : dump_(dump),
          run_(process.run),
          scheme_(process.scheme),
          context_(process.context),
          options_(options),
          into_(into),
          printer_(process.context, process.scheme) {}

    Result<void> run_all() {
        into_.groups = process_facts(dump_, run_, printer_);
        if (auto done = read_relations(dump_, run_, printer_, options_.limit, into_); !done) {
            return done;
        }
        regions();
        into_.withheld = run_.process.sensitive() && !options_.sensitive;
        if (!into_.withheld && !run_.is_void()) {
            if (auto done = dictionary(); !done) {
                return done;
            }
        }
        if (auto done = messages(); !done) {
            return done;
        }
        into_.placeholders += placeholders(printer_.statistics());
        return {};
    }

  private:
    [[nodiscard]] bool room_for(std::size_t items) const {
        return options_.limit == 0 || items < options_.limit;
    }

    void regions() {
        for (const Region& region : run_.directory.regions) {
            ++into_.regions.total;
            if (!room_for(into_.regions.items.size())) {
                continue;
            }
            RegionLine line{region_kind_text(region.kind), region.address,
                            region.total * region.unit_bytes(), region.here * region.unit_bytes(),
                            std::nullopt};
            if (region.here < region.total) {
                line.absent_because = absence_reason(region.state);
            }
            into_.regions.items.push_back(std::move(line));
        }
    }

    Result<void> dictionary() {
        auto malformed = visit_dictionary(
            context_, run_, scheme_, [this](std::uint64_t key, std::uint64_t value) {
                ++into_.dictionary.total;
                if (room_for(into_.dictionary.items.size())) {
                    into_.dictionary.items.push_back(
                        {term_text(printer_, key, options_.term_bytes),
                         term_text(printer_, value, options_.term_bytes)});
                }
            });
        if (!malformed) {
            return wrap("reading the dictionary", std::move(malformed.error()));
        }
        into_.placeholders += *malformed;
        return {};
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
            auto entry = walker.next();
            if (!entry) {
                return std::unexpected(entry.error());
            }
            if (*entry == nullptr) {
                break;
            }
            ++walked;
            if (!is_message(**entry)) {
                ++into_.other_signals;
                continue;
            }
            ++into_.messages.total;
            if (!into_.withheld) {
                message(**entry, walker.index());
            }
        }
        into_.messages.total += std::max(entries, walked) - walked;
        return {};
    }

    void message(const records::Message& entry, std::uint64_t index) {
        MessageLine line{index, queue_text(entry.queue()), {}};
        if (entry.kind() == records::MESSAGE_KIND_EXTERNAL) {
            line.term.text = fmt::format("#External<{} bytes>", entry.external().total_bytes());
        } else {
            context_.set_message(&entry);
            // Fragments of different messages may lie at the same place, so no words are kept
            // from one message to the next.
            TermPrinter printer(context_, scheme_);
            line.term = term_text(printer, entry.term_word(), options_.term_bytes);
            into_.placeholders += placeholders(printer.statistics());
            context_.set_message(nullptr);
        }
        into_.messages.items.push_back(std::move(line));
    }

    Dump& dump_;
    const ProcessRun& run_;
    const TagScheme& scheme_;
    ProcessContext& context_;
    const DetailsOptions& options_;
    ProcessDetails& into_;
    TermPrinter printer_;
};

}  // namespace

Result<ProcessDetails> process_details(Dump& dump, const std::string& file, std::string_view name,
                                       const DetailsOptions& options) {
    auto process = open_process(dump, name);
    if (!process) {
        return std::unexpected(process.error());
    }
    ProcessDetails details;
    details.dump = dump_facts(dump, file);
    details.line = (*process)->line;
    if ((*process)->run.end.has_detail() && !(*process)->run.end.detail().empty()) {
        details.void_detail = (*process)->run.end.detail();
    }
    Reading reading(dump, **process, options, details);
    if (auto done = reading.run_all(); !done) {
        return std::unexpected(done.error());
    }
    return details;
}

}  // namespace beamdump::query
