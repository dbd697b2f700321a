#include "query/tables/persistent_terms.h"

#include "query/facts/sections.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/process_context.h>

#include <fmt/format.h>

#include <array>

namespace beamdump::query {
namespace {

enum PersistentTermPlace : std::uint8_t { kKey, kWords, kMemory, kValue, kLeftOut, kPlaces };

constexpr std::array<Column, kPlaces> kTermColumns = {
    {{.name = "key",
      .title = "KEY",
      .shrinks = true,
      .sentence = "Absent where its words are not in the dump"},
     {.name = "words",
      .title = "WORDS",
      .kind = ColumnKind::kCount,
      .sentence = "Of key and value with their tuple; absent in crash dumps"},
     {.name = "memory",
      .title = "MEMORY",
      .kind = ColumnKind::kBytes,
      .sentence = "Bytes, as persistent_term:info/0 counts"},
     {.name = "value",
      .title = "VALUE",
      .shrinks = true,
      .sentence = "Of a list: cut after --term-bytes"},
     {.name = "left_out",
      .kind = ColumnKind::kFlag,
      .sentence = "Larger than is captured: the value may be incomplete"}}};

constexpr std::uint64_t kTermWordBytes = 8;
constexpr std::uint64_t kAreaWords = 2;  // of a literal area beside its terms: global.h
constexpr std::size_t kMaxKeyTextBytes = 4096;

/// One term of the dump, and what its words are read through.
struct Found {
    TermContext& context;
    std::uint64_t key = 0;
    std::uint64_t value = 0;
    std::optional<std::uint64_t> words;
    bool left_out = false;
    std::uint64_t pair = 0;  ///< address of the tuple of key and value; 0: not here

    [[nodiscard]] std::optional<std::uint64_t> memory() const {
        return words ? std::optional((*words + kAreaWords) * kTermWordBytes) : std::nullopt;
    }
};
/// Says whether to go on. Null: a term whose words are not here.
using VisitTerm = std::function<bool(const Found&)>;

void count_last(const records::PersistentTerms& record, PersistentTermCounts& counts) {
    counts.changed = record.changed();
    counts.unreadable = record.unreadable();
    counts.replaced = record.replaced();
    counts.cut_off = record.cut_off();
    if (record.has_counted()) {
        counts.count = record.counted();
    }
    if (record.has_table_bytes() && counts.memory) {
        *counts.memory += record.table_bytes();
    } else {
        counts.memory.reset();
    }
}

Result<bool> visit_record(Dump& dump, std::uint64_t offset, const VisitTerm& visit,
                          PersistentTermCounts& counts) {
    ASSIGN_OR_RETURN(const auto record, dump.reader().message_at<records::PersistentTerms>(
                                            offset, format::RecordKind::kPersistentTerms));
    ProcessRun run;
    if (record.has_directory()) {
        ASSIGN_OR_RETURN(run.directory, read_directory(dump.reader(), record.directory(), offset));
    }
    run.row.set_end_offset(record.has_binaries_before_offset() ? record.binaries_before_offset()
                                                               : offset);
    ProcessContext context(dump, run);
    if (record.has_directory()) {
        context.set_packed_before_literals();
    }
    for (const auto& term : record.term()) {
        ++counts.captured;
        counts.left_out += term.left_out() ? 1 : 0;
        Found found{context, term.key_word(), term.value_word(), std::nullopt, term.left_out()};
        if (term.has_words()) {
            found.words = term.words();
        }
        if (counts.memory && found.words) {
            *counts.memory += *found.memory();
        } else {
            counts.memory.reset();
        }
        if (!term.has_key_word()) {
            std::array<std::uint64_t, 3> pair{};
            const auto got = context.words(term.address(), pair);
            if (!got || *got < pair.size()) {
                found.key = found.value = 0;
            } else {
                found.key = pair[1];
                found.value = pair[2];
                found.pair = term.address();
            }
        }
        if (!visit(found)) {
            return false;
        }
    }
    if (record.last()) {
        count_last(record, counts);
    }
    return true;
}

Result<PersistentTermCounts> visit_terms(Dump& dump, const VisitTerm& visit) {
    const auto& offsets = dump.trailer().persistent_terms_offset();
    if (offsets.empty()) {
        return fail(ErrorCode::kNotFound,
                    is_of_crash_dump(dump) && dump.capture().has_cut_off()
                        ? "the crash dump breaks off before its section persistent_terms"
                    : is_of_crash_dump(dump)
                        ? "the crash dump has no section persistent_terms"
                        : "the dump has no persistent terms: it was captured by an older version, "
                          "or they could not be found (the warnings of summary tell)");
    }
    PersistentTermCounts counts;
    counts.memory = 0;
    for (const auto offset : offsets) {
        ASSIGN_OR_RETURN(const auto go_on, visit_record(dump, offset, visit, counts));
        if (!go_on) {
            break;
        }
    }
    if (!counts.is_whole()) {
        counts.memory.reset();
    }
    return counts;
}

/// Large maps as the node's VM prints them; but a crash dump lacks the bitmaps that it prints.
Result<TagScheme> printed_scheme(Dump& dump) {
    ASSIGN_OR_RETURN(auto scheme, node_scheme(dump));
    scheme.large_maps_as_pairs = scheme.large_maps_as_pairs || is_of_crash_dump(dump);
    return scheme;
}

}  // namespace

std::span<const Column> persistent_term_columns() {
    return kTermColumns;
}

Result<PersistentTermsAnswer> list_persistent_terms(Dump& dump, const RowQuery& query,
                                                    std::size_t term_bytes) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kTermColumns, query));
    ASSIGN_OR_RETURN(const auto scheme, printed_scheme(dump));
    PersistentTermsAnswer answer{std::move(list), {}, 0};
    const auto text = [&](const Found& found, std::uint64_t word) -> Cell {
        if (word == 0) {
            return {};
        }
        TermPrinter printer(found.context, scheme);
        auto term = term_text(printer, word, term_bytes);
        answer.placeholders += placeholders(printer.statistics());
        return term.cut ? term.text + "..." : std::move(term.text);
    };
    ASSIGN_OR_RETURN(answer.counts, visit_terms(dump, [&](const Found& found) {
                         Row row(kPlaces);
                         row[kKey] = text(found, found.key);
                         row[kValue] = text(found, found.value);
                         row[kLeftOut] = found.left_out;
                         if (found.words) {
                             row[kWords] = *found.words;
                             row[kMemory] = *found.memory();
                         }
                         answer.list.add(std::move(row));
                         return true;
                     }));
    return answer;
}

Result<std::uint64_t> show_persistent_term(
    Dump& dump, const std::string& key, std::size_t term_bytes,
    const std::function<void(const PersistentTermLine&)>& show) {
    ASSIGN_OR_RETURN(const auto scheme, printed_scheme(dump));
    std::uint64_t shown = 0;
    std::uint64_t missing = 0;
    Nearest nearest(key);
    const auto visited = visit_terms(dump, [&](const Found& found) {
        if (found.key == 0) {
            return true;
        }
        TermPrinter keys(found.context, scheme);
        auto own = term_text(keys, found.key, std::max(key.size() + 1, kMaxKeyTextBytes));
        nearest.add(own.text);
        if ((own.cut || own.text != key) && !reads_as(keys, scheme, found.key, key)) {
            return true;
        }
        ++shown;
        TermPrinter printer(found.context, scheme);
        printer.start(found.value);
        show({std::move(own.text), found.words, found.memory(), found.left_out,
              drain_in_pieces(printer, term_bytes)});
        missing += placeholders(keys.statistics()) + placeholders(printer.statistics());
        return true;
    });
    RETURN_IF_ERROR(visited);
    if (shown == 0) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("there is no persistent term \"{}\"{}", key,
                                nearest.best().empty()
                                    ? std::string()
                                    : fmt::format("; did you mean \"{}\"?", nearest.best())));
    }
    return missing;
}

Result<PersistentTermCounts> visit_persistent_pairs(
    Dump& dump,
    const std::function<Result<void>(TermContext& context, std::uint64_t address)>& visit) {
    Result<void> visited;
    ASSIGN_OR_RETURN(const auto counts, visit_terms(dump, [&](const Found& found) {
                         visited =
                             found.pair == 0 ? Result<void>() : visit(found.context, found.pair);
                         return visited.has_value();
                     }));
    RETURN_IF_ERROR(visited);
    return counts;
}

}  // namespace beamdump::query
