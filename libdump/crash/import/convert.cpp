#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/convert.h>
#include <libdump/crash/import/heap/heap_lines.h>
#include <libdump/crash/import/heap/lazy_context.h>
#include <libdump/crash/import/records/names_record.h>
#include <libdump/crash/import/records/node_parser.h>
#include <libdump/crash/import/records/relation_parser.h>
#include <libdump/crash/import/records/run_writer.h>
#include <libdump/crash/import/sections/section_records.h>
#include <libdump/crash/import/words/code_parser.h>
#include <libdump/crash/import/words/node_terms.h>
#include <libdump/crash/import/words/word_regions.h>
#include <libdump/crash/text/text_pieces.h>
#include <libdump/format/process_name.h>
#include <libdump/format/process_row.h>
#include <libdump/write/append.h>
#include <libdump/write/dump_writer.h>
#include <libdump/write/process_index_writer.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace beamdump::crash {

namespace {

constexpr std::size_t kPieceBytes = 64U << 10U;
constexpr std::size_t kSectionPageBytes = 96U << 10U;

class SectionPages {
  public:
    SectionPages(const TextSource& text, DumpWriter& writer, records::Trailer& trailer,
                 SectionRecords& records)
        : text_(text), writer_(writer), trailer_(trailer), records_(records) {}

    /// All sections of a part of the text.
    Result<void> add(Span part) {
        SectionScanner scanner(
            [this, part](const Section& section) { return add(section, part.begin); });
        return scan_sections(text_, part, scanner);
    }

    Result<void> flush() {
        if (page_.section_size() == 0) {
            return {};
        }
        ASSIGN_OR_RETURN(auto offset, writer_.append(format::RecordKind::kCrashSections, page_));
        trailer_.add_crash_sections_offset(offset);
        page_.Clear();
        page_bytes_ = 0;
        return {};
    }

  private:
    /// `start`: where the text began that the section's offsets count from.
    Result<void> add(const Section& section, std::uint64_t start) {
        auto at = start + section.body;
        const auto end = start + section.end;
        bool continues = false;
        do {
            ASSIGN_OR_RETURN(auto lines, piece(at, end));
            constexpr std::size_t kEntryBytes = 16;
            page_bytes_ +=
                section.tag.size() + section.argument.size() + lines.size() + kEntryBytes;
            at += lines.size();
            const bool more = !lines.empty() && at < end;
            auto& entry = *page_.add_section();
            entry.set_tag(std::string(section.tag));
            entry.set_argument(std::string(section.argument));
            entry.set_lines(std::move(lines));
            if (continues) {
                entry.set_continues(true);
            }
            RETURN_IF_ERROR(records_.add(entry));
            if (page_bytes_ >= kSectionPageBytes) {
                RETURN_IF_ERROR(flush());
            }
            continues = more;
        } while (continues);
        return {};
    }

    /// The next lines, complete unless one is longer than a piece.
    Result<std::string> piece(std::uint64_t at, std::uint64_t end) {
        std::string lines(std::min<std::uint64_t>(kPieceBytes, end - std::min(at, end)), '\0');
        ASSIGN_OR_RETURN(auto got, text_.read(at, lines));
        lines.resize(got);
        if (at + lines.size() < end) {
            if (const auto last = lines.rfind('\n'); last != std::string::npos) {
                lines.resize(last + 1);
            }
        }
        return lines;
    }

    const TextSource& text_;
    DumpWriter& writer_;
    records::Trailer& trailer_;
    SectionRecords& records_;
    records::CrashSections page_;
    std::size_t page_bytes_ = 0;
};

/// Writes the sections that are not those of processes: verbatim, page by page, and what they say
/// as records. Gives how many modules have old code.
Result<std::uint64_t> write_other_sections(const CrashDump& dump, std::uint32_t word_bytes,
                                           Names& names, DumpWriter& writer,
                                           records::Trailer& trailer) {
    SectionRecords records(names, dump.header().slogan, word_bytes, writer, trailer);
    SectionPages pages(dump.text(), writer, trailer, records);
    for (const auto& part : dump.other_sections()) {
        RETURN_IF_ERROR(pages.add(part));
    }
    RETURN_IF_ERROR(pages.flush());
    RETURN_IF_ERROR(records.finish());
    return records.old_modules();
}

constexpr int kTermsOfAPage = 4096;

bool take_term(TextCursor& text, NodeTerms& terms, records::PersistentTerm& term) {
    const Objects objects{terms.literals, terms.literals, terms.names};
    const auto key = take_element(text, terms.format, terms.names);
    if (!key || !text.take('|')) {
        return false;
    }
    const auto value = take_element(text, terms.format, terms.names);
    if (!value || !text.take_line_end()) {
        return false;
    }
    term.set_key_word(final_word(*key, objects, terms.format.words));
    term.set_value_word(final_word(*value, objects, terms.format.words));
    return true;
}

/// Writes the section `persistent_terms` (erl_process_dump.c: `Key|Value` a line) as records, if
/// there is one. The literals must be known.
Result<void> write_persistent_terms(const CrashDump& dump, NodeTerms& terms, DumpWriter& writer,
                                    records::Trailer& trailer) {
    if (!dump.persistent_terms()) {
        return {};
    }
    TextCursor text(dump.text(), dump.persistent_terms()->begin, dump.persistent_terms()->end);
    records::PersistentTerms page;
    page.set_first_index(0);
    std::uint64_t malformed = 0;
    const auto flush = [&]() -> Result<void> {
        const auto next = page.first_index() + static_cast<std::uint64_t>(page.term_size());
        RETURN_IF_ERROR(append_noted(writer, format::RecordKind::kPersistentTerms, page,
                                     *trailer.mutable_persistent_terms_offset()));
        page.Clear();
        page.set_first_index(next);
        return {};
    };
    while (!text.at_end()) {
        RETURN_IF_ERROR(terms.names.check());
        records::PersistentTerm term;
        if (!take_term(text, terms, term)) {
            ++malformed;
            text.skip_line();
            continue;
        }
        *page.add_term() = std::move(term);
        if (page.term_size() >= kTermsOfAPage) {
            RETURN_IF_ERROR(flush());
        }
    }
    if (text.error()) {
        return std::unexpected(*text.error());
    }
    page.set_last(true);
    page.set_unreadable(malformed);
    return flush();
}

/// One conversion: of the whole text, or of what a dump of the facts lacks. Non-owning: dump and
/// writer.
class Converter {
  public:
    /// `key`: of a dump that is to be kept, else empty.
    static Result<std::unique_ptr<Converter>> create(const CrashDump& dump, DumpWriter& writer,
                                                     std::string key);

    Result<ConvertOutcome> run(const ConvertChoice& choice, const CrashDump::Progress& on_progress);
    /// Appends to the dump of the facts.
    Result<ConvertOutcome> run_after(const FactsDump& facts, const ConvertChoice& choice,
                                     const CrashDump::Progress& on_progress);

  private:
    Converter(const CrashDump& dump, DumpWriter& writer, TextFormat format, ParsedNode node,
              std::string key)
        : dump_(dump),
          writer_(writer),
          key_(std::move(key)),
          terms_(std::make_unique<NodeTerms>(std::move(format), &dump.budget())),
          node_(std::move(node)),
          binaries_(dump, terms_->format, writer) {}

    Result<void> begin();
    Result<void> other_sections();
    Result<void> save_index();
    Result<void> literals();
    Result<void> node_terms(const ConvertChoice& choice);
    Result<void> processes(const ConvertChoice& choice, const CrashDump::Progress& on_progress);
    Result<void> chosen_process(const FactsDump::Process& process, const ConvertChoice& choice,
                                const CrashDump::Progress& on_progress);
    Result<void> replace_row(const FactsDump::Process& process, const records::ProcessRow& row);
    Result<void> extend(const FactsDump& facts, const ConvertChoice& choice,
                        const CrashDump::Progress& on_progress);
    Result<void> write_all_names();
    Result<void> finish();
    Result<ConvertOutcome> outcome(const Result<void>& done);
    /// How much is written of the chosen process.
    [[nodiscard]] static RunWriter::Extent extent_of(const ConvertChoice& choice,
                                                     const ProcessSections& sections);
    [[nodiscard]] bool is_chosen(const ConvertChoice& choice, const ParsedProcess& process);

    const CrashDump& dump_;
    DumpWriter& writer_;
    std::string key_;
    std::unique_ptr<NodeTerms> terms_;
    ParsedNode node_;
    BinaryWriter binaries_;
    std::unique_ptr<LazyHeap> lazy_heap_;
    records::Trailer trailer_;
    TextCounts counts_;
    std::uint64_t words_ = 0;
    ProcessName wanted_;
    std::size_t names_left_ = 0;  ///< of wanted_: the first ones
};

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

Result<ConvertOutcome> Converter::run(const ConvertChoice& choice,
                                      const CrashDump::Progress& on_progress) {
    auto done = begin();
    if (done) {
        done = node_terms(choice);
    }
    if (done && choice.other_sections) {
        done = other_sections();
    }
    if (done) {
        done = processes(choice, on_progress);
    }
    if (done) {
        done = finish();
    }
    return outcome(done);
}

Result<ConvertOutcome> Converter::run_after(const FactsDump& facts, const ConvertChoice& choice,
                                            const CrashDump::Progress& on_progress) {
    return outcome(extend(facts, choice, on_progress));
}

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

Result<void> Converter::other_sections() {
    ASSIGN_OR_RETURN(
        const auto old_modules,
        write_other_sections(dump_, node_.node.word_size(), terms_->names, writer_, trailer_));
    if (auto& totals = node_.totals; totals.has_modules()) {
        totals.set_modules(totals.modules() + old_modules);
    }
    return {};
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

/// The node's literals and persistent terms.
Result<void> Converter::node_terms(const ConvertChoice& choice) {
    if (!choice.literals && choice.heaps == ConvertChoice::Heaps::kNone) {
        return {};
    }
    RETURN_IF_ERROR(literals());
    return write_persistent_terms(dump_, *terms_, writer_, trailer_);
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

Result<void> Converter::chosen_process(const FactsDump::Process& process,
                                       const ConvertChoice& choice,
                                       const CrashDump::Progress& on_progress) {
    const auto& sections = process.sections;
    TextWindow window(dump_.text());
    RunWriter runs(dump_, *terms_, writer_, binaries_);
    if (on_progress) {
        runs.on_reached([&](std::uint64_t at) { on_progress(at, dump_.text().size()); });
    }
    ASSIGN_OR_RETURN(auto facts,
                     parse_process(dump_.text(), window, sections, terms_->format, terms_->names));
    RETURN_IF_ERROR(terms_->names.check());
    const auto relations = (facts.links + facts.monitors) * kRelationMemory;
    ASSIGN_OR_RETURN(auto row, runs.write(sections, std::move(facts), extent_of(choice, sections)));
    dump_.budget().give_memory(relations);
    lazy_heap_ = runs.take_lazy_heap();
    counts_.add(runs.counts());
    words_ = runs.words();
    return replace_row(process, row);
}

/// The page of the process index with the row of a run that was written anew, and the top lists.
Result<void> Converter::replace_row(const FactsDump::Process& process,
                                    const records::ProcessRow& row) {
    if (process.page < 0 || process.page >= trailer_.process_pages_size()) {
        return fail(ErrorCode::kCorrupt, "the kept facts have no page of the process's row");
    }
    auto& page = *trailer_.mutable_process_pages(process.page);
    for (auto column : process.columns) {
        const auto kind = column.column();
        const auto value = column_value(row, kind);
        if (process.row < 0 || process.row >= column.value_plus_one_size() || kind < 0 ||
            kind >= page.column_offset_size()) {
            return fail(ErrorCode::kCorrupt, "a page of the kept facts lacks the process's row");
        }
        column.set_value_plus_one(process.row, value ? *value + 1 : 0);
        ASSIGN_OR_RETURN(const auto offset,
                         writer_.append(format::RecordKind::kProcessColumn, column));
        page.set_column_offset(kind, offset);
    }
    for (auto& top : *trailer_.mutable_top()) {
        for (auto& other : *top.mutable_row()) {
            if (other.owner_id() == row.owner_id()) {
                other = row;
            }
        }
    }
    return {};
}

Result<void> Converter::extend(const FactsDump& facts, const ConvertChoice& choice,
                               const CrashDump::Progress& on_progress) {
    trailer_ = facts.trailer;
    if (!choice.other_sections) {
        trailer_.clear_crash_sections_offset();
    }
    RETURN_IF_ERROR(restore_names(facts.names, terms_->names));
    RETURN_IF_ERROR(node_terms(choice));
    if (choice.heaps != ConvertChoice::Heaps::kNone) {
        if (facts.process) {
            RETURN_IF_ERROR(chosen_process(*facts.process, choice, on_progress));
        }
        trailer_.mutable_totals()->clear_binary_bytes_captured();
    }
    RETURN_IF_ERROR(binaries_.finish_index(trailer_));
    trailer_.mutable_totals()->set_words_captured(words_);
    if (!counts_.empty()) {
        *trailer_.mutable_crash_text() = counts_.record();
    }
    // All names anew: those of the facts are among them.
    trailer_.clear_atoms();
    trailer_.clear_module_index_offset();
    trailer_.clear_fun_entries_offset();
    trailer_.clear_exports_offset();
    trailer_.clear_node_entries_offset();
    trailer_.clear_catches_offset();
    trailer_.clear_code_points_offset();
    RETURN_IF_ERROR(write_all_names());
    RETURN_IF_ERROR(writer_.finish(trailer_));
    return {};
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

RunWriter::Extent Converter::extent_of(const ConvertChoice& choice,
                                       const ProcessSections& sections) {
    const auto bytes = sections.heap ? sections.heap->end - sections.heap->begin : 0;
    return choice.heaps == ConvertChoice::Heaps::kOne && bytes >= choice.lazily_from
               ? RunWriter::Extent::kRoots
               : RunWriter::Extent::kWhole;
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

}  // namespace

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

Result<ConvertOutcome> extend(const CrashDump& dump, std::unique_ptr<ByteSink> sink,
                              const FactsDump& facts, const ConvertChoice& choice,
                              const CrashDump::Progress& on_progress) {
    DumpWriterOptions options;
    options.level = choice.level;
    ASSIGN_OR_RETURN(auto writer, DumpWriter::resume(std::move(sink), facts.frames, options));
    ASSIGN_OR_RETURN(auto converter, Converter::create(dump, writer, {}));
    return converter->run_after(facts, choice, on_progress);
}

}  // namespace beamdump::crash
