#include "render/heap.h"
#include "render/shared/json.h"

#include <libdump/heap/term_sizes.h>

namespace beamdump::render {

namespace {

void write_memory(JsonWriter& json, const query::HeapReport& report) {
    json.begin_object("memory");
    for (const query::AreaUse& area : report.areas) {
        json.begin_object(area.name);
        json.member("block_words", area.block_words);
        json.member("used_words", area.used_words);
        json.member("live_words", area.live_words);
        json.member("live_objects", area.live_objects);
        json.member("dead_words", area.dead_words);
        json.end_object();
    }
    if (report.unplaced_objects > 0) {
        json.begin_object("unplaced");
        json.member("live_words", report.unplaced_words);
        json.member("live_objects", report.unplaced_objects);
        json.end_object();
    }
    json.member("stack_words", report.stack_words);
    json.member("free_words", report.free_words);
    json.member("literal_words", report.literal_words);
    json.member("heap_words_after_major_collection", report.heap_words_after_major);
    json.end_object();
}

void write_root_members(JsonWriter& json, const query::RootLine& line) {
    json.member("root", query::root_text(line));
    if (line.kind == query::RootKind::kStack) {
        json.member("frame", line.frame);
        json.member("function", line.name);
    }
    if (line.kind == query::RootKind::kStack || line.kind == query::RootKind::kArgument ||
        line.kind == query::RootKind::kMessage) {
        json.member("index", line.index);
    }
    if (line.key) {
        write_term(json, "key", *line.key);
    }
    write_term(json, "term", line.term);
    json.member("shared_words", line.shared_words);
    json.member("flat_words", line.flat_words);
    json.member("flat_saturated", line.flat_words == kSaturatedSize);
    json.member("whole", line.whole);
}

void write_roots(JsonWriter& json, const query::HeapReport& report) {
    json.begin_object("roots");
    for (const query::RootGroup& group : report.roots) {
        json.begin_object(query::root_kind_text(group.kind));
        json.member("total", group.total);
        json.member("shared_words", group.shared_words);
        write_objects(json, "items", group.lines,
                      [&json](const query::RootLine& line) { write_root_members(json, line); });
        json.end_object();
    }
    json.end_object();
}

void write_counts(JsonWriter& json, std::string_view name,
                  const std::vector<query::KindCount>& counts) {
    write_objects(json, name, counts, [&json](const query::KindCount& count) {
        json.member("name", count.name);
        json.member("objects", count.objects);
        json.member("words", count.words);
    });
}

void write_terms(JsonWriter& json, std::string_view name,
                 const std::vector<query::LargeTermLine>& lines) {
    write_objects(json, name, lines, [&json](const query::LargeTermLine& line) {
        json.member("words", line.words);
        json.member("root", line.root);
        json.begin_array("path");
        for (const std::string& step : line.path) {
            json.value(step);
        }
        json.end_array();
        write_term(json, "term", line.term);
    });
}

void write_top_level(JsonWriter& json, const query::TopLevelTermList& list) {
    json.begin_object("terms");
    json.member("total", list.total);
    json.member("dead", list.dead);
    json.member("dead_words", list.dead_words);
    json.member("unreadable_words", list.unreadable_words);
    write_objects(json, "items", list.lines, [&json](const query::TopLevelLine& line) {
        json.member("area", line.area);
        json.hex_member("address", line.address);
        json.member("words", line.words);
        json.member("dead", line.dead);
        json.member("unreadable", line.unreadable);
        if (!line.unreadable) {
            write_term(json, "term", line.term);
        }
    });
    json.end_object();
}

void write_binaries(JsonWriter& json, const query::HeapReport& report) {
    json.begin_object("binaries");
    json.member("total", report.binaries);
    json.member("bytes", report.binary_bytes);
    json.member("without_size", report.unsized_binaries);
    write_objects(json, "largest", report.largest_binaries, [&json](const query::BinaryLine& line) {
        json.member("bytes", line.bytes);
        json.member("references", line.references);
        json.hex_member("address", line.address);
    });
    json.end_object();
}

}  // namespace

void heap_json(Output& output, const query::HeapReport& report) {
    JsonWriter json(output, "beamdump.heap/1");
    write_dump(json, "dump", report.dump);
    json.member("pid", report.line.pid);
    json.member("registered_name", report.line.registered_name);
    json.member("void_reason", report.line.void_reason);
    json.member("void_detail", report.void_detail);
    json.member("withheld", report.withheld);
    if (!report.withheld) {
        write_memory(json, report);
        write_roots(json, report);
        json.member("undecoded_messages", report.undecoded_messages);
        write_counts(json, "kinds", report.kinds);
        write_counts(json, "tags", report.tags);
        write_counts(json, "key_sets", report.key_sets);
        write_terms(json, "largest_terms", report.largest);
        if (report.retained) {
            write_terms(json, "retained", *report.retained);
        }
        if (report.terms) {
            write_top_level(json, *report.terms);
        }
        write_binaries(json, report);
        json.member("unreadable", report.unreadable);
    }
    json.finish();
}

}  // namespace beamdump::render
