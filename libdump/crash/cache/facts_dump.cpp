#include <libdump/base/return_if_error.h>
#include <libdump/crash/cache/facts_dump.h>

#include <fmt/format.h>

namespace beamdump::crash {
namespace {

std::unexpected<Error> bad_facts(std::string_view what) {
    return fail(ErrorCode::kCorrupt, fmt::format("the kept facts of the crash dump {}", what));
}

/// The records of a kind that follow one another directly behind the record at `offset`.
template <typename Message>
Result<std::vector<Message>> records_after(DumpReader& reader, std::uint64_t offset,
                                           format::RecordKind kind) {
    std::vector<Message> found;
    ASSIGN_OR_RETURN(auto record, reader.record_at(offset));
    while (true) {
        ASSIGN_OR_RETURN(auto next, reader.next(record));
        if (!next || next->kind != kind) {
            return found;
        }
        ASSIGN_OR_RETURN(auto message, DumpReader::parse<Message>(*next, kind));
        found.push_back(std::move(message));
        record = std::move(*next);
    }
}

/// The row of the process that the choice names; nothing if there is none of that name.
Result<std::optional<records::ProcessRow>> row_of(Dump& dump, const ConvertChoice& choice) {
    if (choice.heaps == ConvertChoice::Heaps::kNone) {
        return std::nullopt;
    }
    auto row = dump.find_process(choice.process);
    if (!row && row.error().code == ErrorCode::kNotFound) {
        return std::nullopt;
    }
    return row ? Result<std::optional<records::ProcessRow>>(*std::move(row))
               : std::unexpected(row.error());
}

Result<void> read_page(Dump& dump, std::uint64_t number, FactsDump::Process& into) {
    const auto& pages = dump.trailer().process_pages();
    for (int place = 0; place < pages.size(); ++place) {
        const auto& page = pages.Get(place);
        if (number < page.first_row() || number - page.first_row() >= page.rows()) {
            continue;
        }
        into.page = place;
        into.row = static_cast<int>(number - page.first_row());
        for (const auto offset : page.column_offset()) {
            if (offset != 0) {
                ASSIGN_OR_RETURN(auto column, dump.reader().message_at<records::ProcessColumn>(
                                                  offset, format::RecordKind::kProcessColumn));
                into.columns.push_back(std::move(column));
            }
        }
        return {};
    }
    return bad_facts("have no page of a process");
}

Result<FactsDump::Process> read_process(Dump& dump, const CrashDump& text,
                                        const records::ProcessRow& row) {
    FactsDump::Process process;
    ASSIGN_OR_RETURN(const auto places,
                     records_after<records::CrashPlaces>(dump.reader(), row.end_offset(),
                                                         format::RecordKind::kCrashPlaces));
    if (places.size() != 1) {
        return bad_facts("do not tell where the sections of a process are");
    }
    ASSIGN_OR_RETURN(process.sections, text.sections_at(row.owner_id(), places.front()));
    ASSIGN_OR_RETURN(const auto number,
                     dump.processes().find(records::PROCESS_COLUMN_OWNER_ID, row.owner_id()));
    if (!number) {
        return bad_facts("have no row of a process");
    }
    RETURN_IF_ERROR(read_page(dump, *number, process));
    return process;
}

}  // namespace

Result<std::vector<records::CrashIndex>> read_index(Dump& dump) {
    if (dump.reader().damage() || dump.reader().skipped_index_entries() != 0 ||
        dump.trailer().epoch_offset().empty()) {
        return bad_facts("are damaged");
    }
    return records_after<records::CrashIndex>(dump.reader(), dump.trailer().epoch_offset(0),
                                              format::RecordKind::kCrashIndex);
}

Result<FactsDump> read_facts(Dump& dump, const CrashDump& text, const ConvertChoice& choice) {
    FactsDump facts;
    facts.trailer = dump.trailer();
    facts.frames = dump.reader().written_frames();
    ASSIGN_OR_RETURN(facts.names,
                     records_after<records::CrashNames>(dump.reader(), dump.trailer().node_offset(),
                                                        format::RecordKind::kCrashNames));
    if (facts.names.empty() || !facts.names.back().last()) {
        return bad_facts("lack names");
    }
    ASSIGN_OR_RETURN(const auto row, row_of(dump, choice));
    if (row) {
        ASSIGN_OR_RETURN(facts.process, read_process(dump, text, *row));
    }
    return facts;
}

}  // namespace beamdump::crash
