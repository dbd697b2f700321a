#include "query/tables/ets_sections.h"

#include "query/facts/sections.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>

namespace beamdump::query {
namespace {

constexpr std::uint64_t kWordBytes = 8;

std::optional<bool> flag_of(std::string_view text) {
    return text == "true"    ? std::optional(true)
           : text == "false" ? std::optional(false)
                             : std::nullopt;
}

/// One line of a table's section: erl_db.c (print_table) and the db_print of each kind of table.
void take(EtsTableLine& table, const SectionLine& line, std::uint64_t word_bytes) {
    const auto name = line.name.value_or("");
    const std::string value(line.value);
    if (name == "Table") {
        // A named table's identifier is its name here: an atom. Before OTP 20 that of an unnamed
        // one is a number.
        table.named_table = !value.starts_with("#Ref<") && !decimal_number(value);
        if (!*table.named_table) {
            table.id = value;
        }
    } else if (name == "Name") {
        table.name = value;
    } else if (name == "Objects") {
        table.size = decimal_number(value);
    } else if (name == "Words") {
        const auto words = decimal_number(value);
        table.memory_bytes = words ? std::optional(*words * word_bytes) : std::nullopt;
    } else if (line.text.starts_with("Ordered set (")) {
        table.type = "ordered_set";  // db_print_tree(); of old releases the only line that tells
    } else if (name == "Type") {
        table.type = value;
    } else if (name == "Protection") {
        // The runtime prints <TNV> of a table that is being deleted (OTP 25, erl_db.c: table_info()
        // finds none of the three in its status).
        if (value != "<TNV>") {
            table.protection = value;
        }
    } else if (name == "Compressed") {
        table.compressed = flag_of(value);
    } else if (name == "Write Concurrency") {
        table.write_concurrency = value;
    } else if (name == "Read Concurrency") {
        table.read_concurrency = flag_of(value);
    } else if (name == "Fixed") {
        table.fixed = value != "false";
    }
}

}  // namespace

Result<std::vector<EtsTableLine>> ets_tables_of_sections(Dump& dump) {
    ASSIGN_OR_RETURN(auto sections, SectionListing::open(dump, "", {"ets", 0}));
    const auto word_bytes = sections->dump_facts().word_bytes;
    std::vector<EtsTableLine> tables;
    RETURN_IF_ERROR(sections->show({
        .begin =
            [&tables](std::string_view owner) {
                EtsTableLine table;
                table.index = tables.size();
                if (!owner.empty()) {
                    table.owner = owner;
                }
                tables.push_back(std::move(table));
            },
        .line =
            [&](const SectionLine& line) {
                take(tables.back(), line, word_bytes == 0 ? kWordBytes : word_bytes);
            },
        .end = [] {},
    }));
    return tables;
}

}  // namespace beamdump::query
