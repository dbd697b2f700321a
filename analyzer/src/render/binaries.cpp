#include "render/binaries.h"

#include "render/holders.h"
#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/row_list.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

namespace {

constexpr RowListTexts kTexts = {
    .schema = "beamdump.binaries/1", .member = "binaries", .things = "binaries"};

/// What the answer says before its rows.
void print_totals(Output& output, const query::NodeBinaries& answer) {
    if (answer.may_lack_some) {
        output.write(
            "the number of reference-counted binaries is unknown: the crash dump breaks "
            "off before the end of their sections\n");
        if (answer.list.total() == 0) {
            return;
        }
    }
    const bool bytes_known = answer.total_bytes != 0 || !answer.may_lack_some;
    output.print(
        "{}{}{}\n\n", answer.may_lack_some ? "at least " : "",
        counted(answer.list.total(), "reference-counted binary", "reference-counted binaries"),
        bytes_known ? ", " + bytes_text(answer.total_bytes) : "");
}

}  // namespace

void binaries_text(Output& output, query::NodeBinaries& answer, const query::DumpFacts& facts,
                   bool groups) {
    if (groups) {
        row_groups(output, answer.list, facts, kTexts, query::kNodeBinarySort, false);
        return;
    }
    RowListExtras extras;
    extras.text_before = [&](Output& out) { print_totals(out, answer); };
    rows_text(output, answer.list, facts, kTexts, extras);
}

void binaries_json(Output& output, query::NodeBinaries& answer, const query::DumpFacts& facts,
                   bool groups) {
    if (groups) {
        row_groups(output, answer.list, facts, kTexts, query::kNodeBinarySort, true);
        return;
    }
    JsonWriter json(output, kTexts.schema);
    write_dump(json, "dump", facts);
    if (!answer.may_lack_some) {
        json.member("total", answer.list.total());
        json.member("total_bytes", answer.total_bytes);
    }
    if (!answer.may_lack_some || answer.list.total() != 0) {
        json.member("matching", answer.list.matching());
    }
    if (answer.read) {
        write_processes_read(json, *answer.read);
    }
    row_array_json(json, answer.list, kTexts);
    json.finish();
}

void binary_leaks_text(Output& output, const query::BinaryLeaks& answer) {
    print_layout_notice(output, answer.dump.layout);
    std::string owners = counted(answer.examined, "process", "processes");
    if (answer.examined_others != 0) {
        owners += fmt::format(" and {} (ETS tables, literals, persistent terms)",
                              counted(answer.examined_others, "other holder"));
    }
    output.print("{} {} {} of binaries or more; {} of them more than their terms show\n", owners,
                 answer.examined + answer.examined_others == 1 ? "keeps" : "keep",
                 bytes_text(query::kLeastKeptBytes), count_text(answer.total));
    if (answer.node.tables_without != 0) {
        output.print(
            "Not looked at: rows of {} that the dump lacks (beamdump-capture --ets full)\n",
            counted(answer.node.tables_without, "ETS table"));
    }
    if (answer.node.persistent_terms_without != 0) {
        output.print("Not looked at: {} that the dump lacks\n",
                     counted(answer.node.persistent_terms_without, "persistent term"));
    }
    if (answer.owners.empty()) {
        return;
    }
    output.write("\n");
    Table table({{"PID"},
                 {"NAME OR INITIAL CALL", Align::kLeft, true},
                 {"BINARIES", Align::kRight},
                 {"KEPT", Align::kRight},
                 {"SHOWN", Align::kRight},
                 {"PINNED", Align::kRight},
                 {"GARBAGE", Align::kRight},
                 {"WORST PINNED"}});
    for (const auto& line : answer.owners) {
        const auto holder = query::holder_name(line.owner);
        const auto& pid = line.owner.process.pid;
        table.add(
            {pid.empty() ? "" : pid,
             holder.empty() ? process_name(line.owner.process) : one_line(holder),
             count_text(line.binaries), bytes_text(line.kept_bytes), bytes_text(line.shown_bytes),
             bytes_text(line.pinned_bytes),
             line.garbage_bytes ? bytes_text(*line.garbage_bytes)
             : holder.empty()   ? "?"
                                : "",
             line.worst_address == 0
                 ? ""
                 : fmt::format("{:#x}: {} of {} shown", line.worst_address,
                               bytes_text(line.worst_shown_bytes), bytes_text(line.worst_bytes))});
    }
    table.print(output);
    print_rest(output, answer.owners.size(), answer.total);
}

void binary_leaks_json(Output& output, const query::BinaryLeaks& answer) {
    JsonWriter json(output, "beamdump.binaries/1");
    write_dump(json, "dump", answer.dump);
    json.member("examined", answer.examined);
    json.member("examined_others", answer.examined_others);
    write_searched(json, answer.node);
    json.member("total", answer.total);
    json.member("undecoded_messages", answer.undecoded_messages);
    json.member("unreadable", answer.unreadable);
    write_processes_read(json, answer.read);
    write_objects(json, "leaks", answer.owners, [&json](const query::BinaryLeakLine& line) {
        write_owner(json, line.owner);
        json.member("binaries", line.binaries);
        json.member("kept_bytes", line.kept_bytes);
        json.member("shown_bytes", line.shown_bytes);
        json.member("pinned_bytes", line.pinned_bytes);
        json.member("garbage_bytes", line.garbage_bytes);
        json.member("releasable_bytes", line.releasable_bytes);
        if (line.worst_address != 0) {
            json.begin_object("worst");
            json.hex_member("address", line.worst_address);
            json.member("size_bytes", line.worst_bytes);
            json.member("shown_bytes", line.worst_shown_bytes);
            json.end_object();
        }
    });
    json.finish();
}

}  // namespace beamdump::render
