#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/convert.h>
#include <libdump/crash/import/converter.h>
#include <libdump/crash/import/heap/heap_lines.h>
#include <libdump/crash/import/heap/lazy_context.h>
#include <libdump/crash/import/records/other_sections.h>
#include <libdump/crash/import/records/persistent_terms.h>
#include <libdump/crash/import/records/relation_parser.h>
#include <libdump/crash/import/records/table_writer.h>
#include <libdump/crash/import/words/code_parser.h>
#include <libdump/crash/import/words/names_record.h>
#include <libdump/format/process_name.h>
#include <libdump/write/process_index_writer.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace beamdump::crash {

Result<void> Converter::begin() {
    ASSIGN_OR_RETURN(auto capture, writer_.append(format::RecordKind::kCapture, node_.capture));
    trailer_.set_capture_offset(capture);
    records::Epoch epoch;
    epoch.set_number(1);
    epoch.set_source(records::MEMORY_SOURCE_CRASH_DUMP);
    ASSIGN_OR_RETURN(auto written, writer_.append(format::RecordKind::kEpoch, epoch));
    trailer_.add_epoch_offset(written);
    RETURN_IF_ERROR(save_index());
    return parse_other_nodes(dump_, terms_->names);
}

/// What belongs to the whole text, if the dump is to be kept.
Result<void> Converter::save_index() {
    if (key_.empty()) {
        return {};
    }
    bool first = true;
    return dump_.save([&](records::CrashIndex& page) -> Result<void> {
        if (std::exchange(first, false)) {
            page.set_key(key_);
        }
        RETURN_IF_ERROR(writer_.append(format::RecordKind::kCrashIndex, page));
        return {};
    });
}

Result<void> Converter::literals() {
    if (!dump_.literals()) {
        return {};
    }
    TextCursor text(dump_.text(), dump_.literals()->begin, dump_.literals()->end);
    auto& literals = terms_->literals;
    HeapParser objects(terms_->format, terms_->names, literals, literals,
                       [this](std::uint64_t address) { return binaries_.want(address); });
    auto counts = objects.read(text);
    if (counts && !counts->objects.empty()) {
        counts = read_again(
            dump_.text(), *dump_.literals(), terms_->format, terms_->names, literals, literals,
            [this](std::uint64_t address) { return binaries_.want(address); }, dump_.budget());
    }
    if (!counts) {
        return std::unexpected(counts.error());
    }
    counts_ = counts->all();
    if (!counts_.empty()) {
        *trailer_.mutable_crash_literals() = counts_.record();
    }
    ASSIGN_OR_RETURN(auto stretches, literals.stretches(kGapWords));
    RunRecordWriter run(writer_);
    for (const auto& stretch : stretches) {
        format::RegionHeader header;
        header.owner_kind = format::OwnerKind::kNode;
        header.region_kind = format::RegionKind::kLiterals;
        header.address = stretch.address;
        header.total = stretch.words;
        ASSIGN_OR_RETURN(auto ref,
                         append_words(writer_, header, literals, stretch.address,
                                      {literals, literals, terms_->names}, terms_->format.words));
        RETURN_IF_ERROR(run.region(std::move(ref)));
    }
    ASSIGN_OR_RETURN(const auto offset, run.finish_as_record());
    trailer_.set_literals_directory_offset(offset);
    return binaries_.flush();
}

bool Converter::is_chosen(const ConvertChoice& choice, const ParsedProcess& process) {
    switch (choice.heaps) {
        case ConvertChoice::Heaps::kNone:
            return false;
        case ConvertChoice::Heaps::kAll:
            return true;
        case ConvertChoice::Heaps::kOne:
            break;
    }
    if (wanted_.owner_id) {
        return *wanted_.owner_id == process.process.owner_id();
    }
    if (!process.process.has_registered_name_atom()) {
        return false;
    }
    // A name may stand for two registered ones; as Dump::find_process(), prefers the first.
    const auto end = wanted_.registered.begin() + static_cast<std::ptrdiff_t>(names_left_);
    const auto found = std::find(wanted_.registered.begin(), end,
                                 terms_->names.atoms().at(process.process.registered_name_atom()));
    if (found == end) {
        return false;
    }
    names_left_ = static_cast<std::size_t>(found - wanted_.registered.begin());
    return true;
}

RunWriter::Extent Converter::extent_of(const ConvertChoice& choice,
                                       const ProcessSections& sections) {
    const auto bytes = sections.heap ? sections.heap->end - sections.heap->begin : 0;
    return choice.heaps == ConvertChoice::Heaps::kOne && bytes >= choice.lazily_from
               ? RunWriter::Extent::kRoots
               : RunWriter::Extent::kWhole;
}

Result<void> Converter::processes(const ConvertChoice& choice,
                                  const CrashDump::Progress& on_progress) {
    wanted_ = parse_process_name(choice.process);
    names_left_ = wanted_.registered.size();
    ProcessIndexWriter index(writer_);
    bool all_heaps_told = true;
    TextWindow window(dump_.text());
    RunWriter runs(dump_, *terms_, writer_, binaries_);
    if (on_progress) {
        runs.on_reached([&](std::uint64_t at) { on_progress(at, dump_.text().size()); });
    }
    for (const auto& sections : dump_.processes()) {
        ASSIGN_OR_RETURN(auto facts, parse_process(dump_.text(), window, sections, terms_->format,
                                                   terms_->names));
        RETURN_IF_ERROR(terms_->names.check());
        const auto relations = (facts.links + facts.monitors) * kRelationMemory;
        const bool chosen = is_chosen(choice, facts);
        const auto extent = chosen ? extent_of(choice, sections) : RunWriter::Extent::kFacts;
        ASSIGN_OR_RETURN(auto row, runs.write(sections, std::move(facts), extent));
        dump_.budget().give_memory(relations);
        all_heaps_told = all_heaps_told && row.has_heap_words();
        if (!key_.empty()) {
            RETURN_IF_ERROR(
                writer_.append(format::RecordKind::kCrashPlaces, CrashDump::places_of(sections)));
        }
        RETURN_IF_ERROR(index.add(row));
        if (extent == RunWriter::Extent::kRoots) {
            lazy_heap_ = runs.take_lazy_heap();
        }
        if (on_progress && chosen && sections.heap) {
            on_progress(sections.heap->end, dump_.text().size());
        }
    }
    counts_.add(runs.counts());
    words_ = runs.words();
    if (choice.heaps == ConvertChoice::Heaps::kAll) {
        for (const auto& [address, lines] : dump_.binaries()) {
            binaries_.want(address);
        }
    }
    using Requested = BinaryWriter::Requested;
    RETURN_IF_ERROR(binaries_.finish(
        trailer_, choice.heaps == ConvertChoice::Heaps::kAll    ? Requested::kAll
                  : choice.heaps == ConvertChoice::Heaps::kNone ? Requested::kNone
                                                                : Requested::kSome));
    auto& totals = *trailer_.mutable_totals();
    totals.MergeFrom(index.totals());
    if (!all_heaps_told) {
        totals.clear_heap_words();
    }
    return index.finish(trailer_);
}

/// The names that were met. Elixir's own module is among the loaded ones, whether a stack has it or
/// not: it tells the syntax of terms, which must not depend on what is converted.
Result<void> Converter::write_all_names() {
    if (dump_.has_elixir()) {
        terms_->names.loaded_module("elixir");
    }
    return write_names(terms_->names, terms_->format.node_name, writer_, trailer_);
}

Result<void> Converter::finish() {
    if (!dump_.node_name().empty()) {
        node_.node.set_name_atom(terms_->names.atom(terms_->format.node_name));
    }
    ASSIGN_OR_RETURN(auto node, writer_.append(format::RecordKind::kNode, node_.node));
    trailer_.set_node_offset(node);
    if (!key_.empty()) {
        RETURN_IF_ERROR(save_names(terms_->names, writer_));
    }
    RETURN_IF_ERROR(write_all_names());
    auto& totals = *trailer_.mutable_totals();
    totals.MergeFrom(node_.totals);
    totals.set_words_captured(words_);
    if (!dump_.cut_off().empty()) {
        trailer_.add_warning(dump_.cut_off());
    }
    for (const auto& note : dump_.notes()) {
        trailer_.add_warning(note);
    }
    if (!counts_.empty()) {
        *trailer_.mutable_crash_text() = counts_.record();
    }
    auto written = writer_.finish(trailer_);
    return written ? Result<void>() : std::unexpected(written.error());
}

/// The node's literals and persistent terms.
Result<void> Converter::node_terms(const ConvertChoice& choice) {
    if (!choice.literals && choice.heaps == ConvertChoice::Heaps::kNone) {
        return {};
    }
    RETURN_IF_ERROR(literals());
    return write_persistent_terms(dump_, *terms_, writer_, trailer_);
}

Result<ConvertOutcome> Converter::outcome(const Result<void>& done) {
    if (!done) {
        return done.error().code == ErrorCode::kLimit ? wrap(dump_.text().name(), done.error())
                                                      : std::unexpected(done.error());
    }
    ConvertOutcome outcome{dump_.processes().size(), counts_.malformed, {}, nullptr};
    if (!dump_.cut_off().empty()) {
        outcome.missing.push_back(dump_.cut_off());
    }
    std::ranges::move(counts_.sentences(), std::back_inserter(outcome.missing));
    if (lazy_heap_) {
        outcome.lazy_terms =
            std::make_unique<LazyContext>(dump_, std::move(terms_), std::move(lazy_heap_));
    }
    return outcome;
}

Result<ConvertOutcome> Converter::run(const ConvertChoice& choice,
                                      const CrashDump::Progress& on_progress) {
    auto done = begin();
    if (done) {
        done = node_terms(choice);
    }
    if (done && choice.other_sections) {
        done = write_other_sections(dump_, writer_, trailer_);
    }
    if (done) {
        done = processes(choice, on_progress);
    }
    if (done) {
        done = finish();
    }
    return outcome(done);
}

Result<std::unique_ptr<Converter>> Converter::create(const CrashDump& dump, DumpWriter& writer,
                                                     std::string key) {
    ASSIGN_OR_RETURN(auto node, parse_node(dump));
    ASSIGN_OR_RETURN(auto scheme, scheme_of(node.scheme));
    std::string_view own = dump.node_name();
    const auto name = parse_atom(own);
    TextFormat format{WordMaker(scheme),
                      node.base64,
                      node.node.word_size(),
                      name.value_or("nonode@nohost"),
                      name.has_value(),
                      dump.has_returns(),
                      node.capture.memory_of_heaps()};
    return std::unique_ptr<Converter>(
        new Converter(dump, writer, std::move(format), std::move(node), std::move(key)));
}

Result<ConvertOutcome> convert(const CrashDump& dump, std::unique_ptr<ByteSink> sink,
                               const ConvertChoice& choice,
                               const CrashDump::Progress& on_progress) {
    DumpWriterOptions options;
    options.level = choice.level;
    ASSIGN_OR_RETURN(auto writer, DumpWriter::create(std::move(sink), options));
    ASSIGN_OR_RETURN(auto converter, Converter::create(dump, writer, {}));
    return converter->run(choice, on_progress);
}

Result<void> convert_facts(const CrashDump& dump, std::unique_ptr<ByteSink> sink,
                           const std::string& key, const CrashDump::Progress& on_progress) {
    ASSIGN_OR_RETURN(auto writer, DumpWriter::create(std::move(sink), {}));
    ASSIGN_OR_RETURN(auto converter, Converter::create(dump, writer, key));
    ConvertChoice choice;
    choice.heaps = ConvertChoice::Heaps::kNone;
    RETURN_IF_ERROR(converter->run(choice, on_progress));
    return {};
}

}  // namespace beamdump::crash
