#include "query/tables/ets_rows.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace beamdump::query {
namespace {

constexpr std::uint64_t kRowWordBytes = 8;
constexpr std::size_t kRecordsHeld = 8;
constexpr std::size_t kRowsKept = 4096;
constexpr std::uint64_t kBoxedTag = 2;  // erl_term.h
constexpr std::uint64_t kArityShift = 6;

Result<EtsTableLine> find_table(Dump& dump, const std::string& name) {
    ASSIGN_OR_RETURN(auto tables, ets_tables(dump));
    std::vector<EtsTableLine> found;
    Nearest nearest(name);
    for (auto& table : tables) {
        const auto own = table.name.value_or("");
        nearest.add(own);
        if (table.id == name) {
            return table;
        }
        // A name may be given without the quotes that Erlang prints.
        if (own == name || own == '\'' + name + '\'') {
            found.push_back(std::move(table));
        }
    }
    if (found.size() == 1) {
        return found.front();
    }
    if (found.empty()) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("there is no ETS table \"{}\"{}", name,
                                nearest.best().empty()
                                    ? std::string()
                                    : fmt::format("; did you mean \"{}\"?", nearest.best())));
    }
    return fail(ErrorCode::kNotFound,
                fmt::format("{} ETS tables have the name {}: name one by its id, such as \"{}\"",
                            found.size(), name, found.front().id.value_or("?")));
}

/// The words of a row's tuple: its header and elements.
Result<std::vector<std::uint64_t>> tuple_of(TermContext& context, std::uint64_t address,
                                            std::uint64_t most) {
    std::vector<std::uint64_t> words(1);
    ASSIGN_OR_RETURN(auto got, context.words(address, words));
    const auto arity = words[0] >> kArityShift;
    if (got != 1 || arity + 1 > most) {
        return fail(ErrorCode::kCorrupt, "a row of an ETS table is no tuple");
    }
    words.resize(arity + 1);
    for (std::size_t at = 0; at < words.size(); at += got) {
        ASSIGN_OR_RETURN(got,
                         context.words(address + at * kRowWordBytes, std::span(words).subspan(at)));
        if (got == 0) {
            return fail(ErrorCode::kCorrupt, "a row of an ETS table breaks off");
        }
    }
    return words;
}

}  // namespace

Result<EtsRowSort> parse_ets_row_sort(std::string_view name) {
    if (name == "size") {
        return EtsRowSort::kSize;
    }
    return name == "stored"
               ? Result<EtsRowSort>(EtsRowSort::kStored)
               : fail(ErrorCode::kUsage,
                      fmt::format("there is no sort order \"{}\" of rows: use size", name));
}

Result<std::unique_ptr<EtsRowListing>> EtsRowListing::open(Dump& dump, const std::string& table,
                                                           const EtsRowsOptions& options) {
    ASSIGN_OR_RETURN(auto found, find_table(dump, table));
    ASSIGN_OR_RETURN(const auto scheme, node_scheme(dump));
    ASSIGN_OR_RETURN(auto records, EtsRowRecords::of_table(dump, found.index));
    std::unique_ptr<EtsRowListing> listing(
        new EtsRowListing(dump, std::move(found), std::move(records), scheme, options));
    for (bool more = true; more && !(options.in_pieces && !listing->records_.empty());) {
        ASSIGN_OR_RETURN(more, listing->read_record());
    }
    if (listing->records_.empty() && !form_of(dump).table_rows) {
        return fail(ErrorCode::kNotFound,
                    "a crash dump has no rows of ETS tables, only how many there are and what they "
                    "take: beamdump-capture --ets full captures the rows of a running node");
    }
    if (listing->records_.empty()) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("the rows of the ETS table {} were not captured: "
                                "beamdump-capture --ets full captures those of all tables",
                                table));
    }
    return listing;
}

Result<bool> EtsRowListing::read_record() {
    ASSIGN_OR_RETURN(const auto next, unread_.next());
    if (!next) {
        return false;
    }
    const records::EtsRows& record = next->record;
    records_.push_back({next->offset, counts_.captured, record.rows()});
    counts_.captured += record.rows();
    counts_.locked += record.locked();
    counts_.changed += record.changed();
    counts_.unreadable += record.unreadable();
    counts_.resized |= record.resized();
    counts_.cut_off |= record.cut_off();
    counts_.gone |= record.gone();
    if (record.has_deleted()) {
        counts_.deleted = counts_.deleted.value_or(0) + record.deleted();
    }
    if (record.has_counted()) {
        counts_.counted = record.counted();
    }
    return true;
}

Result<std::optional<EtsRowListing::Record>> EtsRowListing::record_at(std::uint64_t row) {
    while (row >= counts_.captured) {
        ASSIGN_OR_RETURN(const auto more, read_record());
        if (!more) {
            return std::nullopt;
        }
    }
    const auto after = std::ranges::upper_bound(records_, row, {}, &Record::first_row);
    return after == records_.begin() ? std::nullopt : std::optional(*std::prev(after));
}

Result<void> EtsRowListing::visit(const Visit& visit) {
    for (const Record& record : records_) {
        ASSIGN_OR_RETURN(const auto go_on, visit_record(record.offset, visit));
        if (!go_on) {
            break;
        }
    }
    return {};
}

Result<void> EtsRowListing::each_tuple(const Look& look) {
    if (table_.compressed.value_or(true)) {
        return {};
    }
    return visit([&](Reader& reader, std::uint64_t, Place place) {
        return look(reader, scheme_, place.address | kBoxedTag, place.words);
    });
}

Result<void> EtsRowListing::each_sampled(std::uint64_t rows, const Look& look) {
    rows = table_.compressed.value_or(true) ? 0 : std::min(rows, counts_.captured);
    std::uint64_t next = 0;                             // of the sample
    const auto place_of = [&](std::uint64_t sampled) {  // sampled * captured / rows
        return counts_.captured / rows * sampled + counts_.captured % rows * sampled / rows;
    };
    std::uint64_t first = 0;
    for (const Record& record : records_) {
        std::vector<std::uint64_t> places;
        for (; next < rows && place_of(next) < first + record.rows; ++next) {
            places.push_back(place_of(next) - first);
        }
        first += record.rows;
        if (places.empty()) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto opened, open_ets_rows(dump_, record.offset));
        Reader reader(*opened->context, scheme_);
        RETURN_IF_ERROR(visit_ets_rows_at(dump_, *opened, places, [&](Place place) {
            return look(reader, scheme_, place.address | kBoxedTag, place.words);
        }));
    }
    return {};
}

Result<bool> EtsRowListing::visit_record(std::uint64_t offset, const Visit& visit) {
    ASSIGN_OR_RETURN(const auto record, open_ets_rows(dump_, offset));
    Reader reader(*record->context, scheme_);
    return visit_ets_rows(dump_, *record,
                          [&](Place place) { return visit(reader, offset, place); });
}

Result<bool> EtsRowListing::matches(Reader& reader, Place place) {
    if (!options_.key) {
        return true;
    }
    ASSIGN_OR_RETURN(const auto words, tuple_of(reader.context, place.address, place.words));
    const auto key = table_.keypos.value_or(1);
    if (key >= words.size()) {
        return false;
    }
    return reads_as(reader.printer, scheme_, words[key], *options_.key);
}

/// `{Key,#Compressed<N bytes>,...}`: the last one's size is rounded up to words.
TermText EtsRowListing::compressed_text(Reader& reader, Place place) {
    const auto words = tuple_of(reader.context, place.address, place.words);
    if (!words) {
        return {"#Unreadable<row>", false};
    }
    std::string text = "{";
    const bool elixir = scheme_.style.syntax == TermSyntax::kElixir;
    const auto is_compressed = [&](std::size_t index) { return ((*words)[index] & 3U) == 0; };
    for (std::size_t index = 1; index < words->size(); ++index) {
        text += index == 1 ? "" : elixir ? ", " : ",";
        if (!is_compressed(index)) {
            text += term_text(reader.printer, (*words)[index], options_.term_bytes).text;
            continue;
        }
        auto end = place.words * kRowWordBytes;
        for (auto later = index + 1; later < words->size(); ++later) {
            if (is_compressed(later)) {
                end = (*words)[later] >> 2U;
                break;
            }
        }
        const auto begin = (*words)[index] >> 2U;
        text += begin <= end ? fmt::format("#Compressed<{} bytes>", end - begin) : "#Compressed<>";
    }
    return {text + "}", false};
}

EtsRowLine EtsRowListing::line(Reader& reader, Place place) {
    EtsRowLine line;
    line.words = place.words;
    line.compressed = table_.compressed.value_or(false);
    if (line.compressed) {
        line.row = compressed_text(reader, place);
    } else {
        reader.printer.start(place.address | kBoxedTag);
        line.row = drain_in_pieces(reader.printer, options_.term_bytes);
    }
    const auto key = table_.keypos.value_or(1);
    if (const auto words = tuple_of(reader.context, place.address, place.words);
        options_.keys && words && key < words->size() &&
        (!line.compressed || ((*words)[key] & 3U) != 0)) {
        line.key = term_text(reader.printer, (*words)[key], options_.term_bytes).text;
    }
    return line;
}

void EtsRowListing::show_row(Reader& reader, Place place, const Show& show) {
    const auto before = query::placeholders(reader.printer.statistics());
    show(line(reader, place));
    placeholders_ += query::placeholders(reader.printer.statistics()) - before;
}

Result<bool> EtsRowListing::next_rows(const Show& show) {
    constexpr std::uint64_t kMostRowsAtATime = 1024;
    if (reached_.record == records_.size()) {
        ASSIGN_OR_RETURN(const auto more, read_record());
        if (!more) {
            return false;
        }
    }
    const Record& record = records_[reached_.record];
    if (!reached_.opened) {
        ASSIGN_OR_RETURN(reached_.opened, open_ets_rows(dump_, record.offset));
        reached_.reader = std::make_unique<Reader>(*reached_.opened->context, scheme_);
    }
    std::vector<std::uint64_t> places(std::min(rows_at_a_time_, record.rows - reached_.row));
    rows_at_a_time_ = std::min(2 * rows_at_a_time_, kMostRowsAtATime);
    std::iota(places.begin(), places.end(), reached_.row);
    std::uint64_t told = 0;
    RETURN_IF_ERROR(visit_ets_rows_at(dump_, *reached_.opened, places, [&](Place place) {
        show_row(*reached_.reader, place, show);
        ++told;
        return true;
    }));
    reached_.row += places.size();
    // A record may say that it has more rows than there are.
    if (reached_.row == record.rows || told < places.size()) {
        reached_ = {.record = reached_.record + 1, .row = 0};
    }
    return true;
}

Result<void> EtsRowListing::each(const Show& show) {
    matching_ = placeholders_ = 0;
    return options_.sort == EtsRowSort::kSize ? each_by_size(show) : each_stored(show);
}

Result<void> EtsRowListing::each_stored(const Show& show) {
    Result<void> failed;
    std::uint64_t shown = 0;
    RETURN_IF_ERROR(visit([&](Reader& reader, std::uint64_t, Place place) {
        const auto match = matches(reader, place);
        if (!match) {
            failed = std::unexpected(match.error());
            return false;
        }
        if (!*match) {
            return true;
        }
        ++matching_;
        if (options_.limit == 0 || shown < options_.limit) {
            ++shown;
            show_row(reader, place, show);
        }
        // Without a key all rows match: the rest needs no reading.
        return options_.key.has_value() || shown != options_.limit;
    }));
    matching_ = options_.key ? matching_ : counts_.captured;
    return failed;
}

Result<void> EtsRowListing::each_by_size(const Show& show) {
    struct Sized {
        std::uint64_t record = 0;
        Place place;
    };
    const auto largest_first = [&](std::vector<Sized>& rows) {
        std::ranges::stable_sort(rows, std::greater{},
                                 [](const Sized& row) { return row.place.words; });
        if (options_.limit != 0 && rows.size() > options_.limit) {
            rows.resize(options_.limit);
        }
    };
    Result<void> failed;
    std::vector<Sized> rows;
    RETURN_IF_ERROR(visit([&](Reader& reader, std::uint64_t record_offset, Place place) {
        const auto match = matches(reader, place);
        if (!match) {
            failed = std::unexpected(match.error());
        } else if (*match) {
            ++matching_;
            rows.push_back({record_offset, place});
            // Only the largest of many rows are kept.
            if (options_.limit != 0 && rows.size() >= kRowsKept + options_.limit * 2) {
                largest_first(rows);
            }
        }
        return failed.has_value();
    }));
    RETURN_IF_ERROR(failed);
    largest_first(rows);
    struct Held {
        std::unique_ptr<EtsRowRecord> record;
        std::unique_ptr<Reader> reader;
    };
    std::map<std::uint64_t, Held> held;
    for (const auto& row : rows) {
        if (!held.contains(row.record)) {
            if (held.size() >= kRecordsHeld) {
                held.clear();
            }
            ASSIGN_OR_RETURN(auto record, open_ets_rows(dump_, row.record));
            auto reader = std::make_unique<Reader>(*record->context, scheme_);
            held[row.record] = {std::move(record), std::move(reader)};
        }
        show_row(*held[row.record].reader, row.place, show);
    }
    return {};
}

}  // namespace beamdump::query
