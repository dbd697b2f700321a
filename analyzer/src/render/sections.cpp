#include "render/sections.h"

#include "render/shared/json.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::render {
namespace {

Result<void> counts_text(Output& output, query::SectionListing& listing) {
    ASSIGN_OR_RETURN(auto counts, listing.counts());
    Table table({{"TAG"}, {"SECTIONS", Align::kRight}, {"TEXT", Align::kRight}});
    for (const auto& count : counts) {
        table.add({one_line(count.tag), count_text(count.sections), bytes_text(count.bytes)});
    }
    table.print(output);
    return {};
}

Result<void> counts_json(JsonWriter& json, query::SectionListing& listing) {
    ASSIGN_OR_RETURN(auto counts, listing.counts());
    json.begin_array("tags");
    for (const auto& count : counts) {
        json.begin_object();
        json.member("tag", count.tag);
        json.member("sections", count.sections);
        json.member("bytes", count.bytes);
        json.end_object();
    }
    json.end_array();
    return {};
}

void print_more(Output& output, std::uint64_t count, std::string_view what) {
    output.print("\n{}; --limit 0 shows all\n", counted(count, fmt::format("more {}", what)));
}

}  // namespace

Result<void> sections_text(Output& output, query::SectionListing& listing) {
    const auto& options = listing.options();
    if (options.tag.empty()) {
        return counts_text(output, listing);
    }
    std::uint64_t shown = 0;
    auto total = listing.show({
        .begin =
            [&](std::string_view argument) {
                output.print("{}{}{}{}\n", shown++ == 0 ? "" : "\n", one_line(options.tag),
                             argument.empty() ? "" : " ", one_line(argument));
            },
        .line =
            [&output](const query::SectionLine& line) {
                print_line(output, "  " + one_line(line.text));
            },
        .end = [] {},
    });
    if (!total) {
        return std::unexpected(total.error());
    }
    if (total->sections == 0) {
        output.print(
            "no section {}{}\n", one_line(options.tag),
            total->nearest.empty() ? "" : "; did you mean " + one_line(total->nearest) + "?");
    }
    if (shown < total->sections) {
        print_more(output, total->sections - shown, "section");
    }
    if (const auto lines = total->lines.value_or(0); lines > options.limit) {
        print_more(output, lines - options.limit, "line");
    }
    return {};
}

Result<void> sections_json(Output& output, query::SectionListing& listing) {
    JsonWriter json(output, "beamdump.sections/1");
    write_dump(json, "dump", listing.dump_facts());
    const auto& options = listing.options();
    if (options.tag.empty()) {
        RETURN_IF_ERROR(counts_json(json, listing));
        json.finish();
        return {};
    }
    json.member("tag", options.tag);
    json.begin_array("sections");
    auto total = listing.show({
        .begin =
            [&json](std::string_view argument) {
                json.begin_object();
                if (!argument.empty()) {
                    json.member("argument", argument);
                }
                json.begin_array("lines");
            },
        .line =
            [&json](const query::SectionLine& line) {
                json.begin_object();
                json.member("name", line.name);
                json.member("value", line.value);
                json.end_object();
            },
        .end =
            [&json] {
                json.end_array();
                json.end_object();
            },
    });
    if (!total) {
        return std::unexpected(total.error());
    }
    json.end_array();
    json.member("total", total->sections);
    json.member("total_lines", total->lines);
    json.finish();
    return {};
}

}  // namespace beamdump::render
