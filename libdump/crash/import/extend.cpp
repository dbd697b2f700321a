// The part of Converter that appends to a dump of the facts.

#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/converter.h>
#include <libdump/crash/import/extend.h>
#include <libdump/crash/import/records/relation_parser.h>
#include <libdump/crash/import/records/table_writer.h>
#include <libdump/crash/import/words/names_record.h>
#include <libdump/format/process_row.h>

#include <algorithm>

namespace beamdump::crash {

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

Result<ConvertOutcome> Converter::run_after(const FactsDump& facts, const ConvertChoice& choice,
                                            const CrashDump::Progress& on_progress) {
    return outcome(extend(facts, choice, on_progress));
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
