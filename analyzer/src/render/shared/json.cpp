#include "render/shared/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace beamdump::render {

namespace {

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
    json.begin_array(name);
    for (const std::string& text : texts) {
        json.value(text);
    }
    json.end_array();
}

void write_layout(JsonWriter& json, std::string_view name, const query::LayoutFacts& facts) {
    json.begin_object(name);
    json.member("name", facts.name);
    json.member("release", facts.release);
    json.member("inferred", facts.inferred);
    write_texts(json, "inferred_from", facts.inferred_from);
    write_texts(json, "unverified", facts.unverified);
    write_texts(json, "unverified_fields", facts.unverified_fields);
    write_texts(json, "left_out", facts.left_out);
    json.end_object();
}

}  // namespace

void write_dump(JsonWriter& json, std::string_view name, const query::DumpFacts& facts) {
    json.begin_object(name);
    json.member("file", facts.file);
    json.member("file_bytes", facts.file_bytes);
    json.member("stream_bytes", facts.stream_bytes);
    json.member("complete", !facts.damage.has_value());
    json.member("damage", facts.damage);
    json.member("redaction", facts.redaction);
    json.member("export_detail", facts.export_detail);
    json.member("node", facts.node_name);
    json.member("captured_us", facts.captured_us);
    if (facts.text_complete == false) {
        json.member("text_complete", false);
    }
    if (!facts.text_notes.empty()) {
        write_texts(json, "text_notes", facts.text_notes);
    }
    if (facts.memory_of_heaps) {
        json.member("process_memory", "stack, heap, old heap and heap fragments");
    }
    if (facts.term_syntax) {
        json.member("term_syntax", *facts.term_syntax == TermSyntax::kElixir ? "elixir" : "erlang");
    }
    json.end_object();
    if (facts.layout) {
        write_layout(json, name == "dump" ? "layout" : fmt::format("{}_layout", name),
                     *facts.layout);
    }
}

void write_term(JsonWriter& json, std::string_view name, const query::TermText& term) {
    json.begin_object(name);
    bool cut = term.cut;
    if (term.more) {
        json.begin_text("text");
        json.text_piece(term.text);
        cut = term.more([&json](std::string_view piece) {
            json.text_piece(piece);
            return json.ok();
        });
        json.end_text();
    } else {
        json.member("text", term.text);
    }
    json.member("cut", cut);
    json.end_object();
}

void write_message_members(JsonWriter& json, const query::MessageLine& line) {
    json.member("index", line.index);
    json.member("queue", line.queue);
    write_term(json, "term", line.term);
}

void write_cell(JsonWriter& json, const query::Column& column, const query::CellView& cell) {
    std::visit(
        [&](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::uint64_t>) {
                if (column.kind == query::ColumnKind::kAddress) {
                    json.hex_member(column.name, value);
                } else {
                    json.member(column.name, value);
                }
            } else if constexpr (!std::is_same_v<Value, std::monostate>) {
                json.member(column.name, value);
            }
        },
        cell);
}

void write_process_members(JsonWriter& json, const query::ProcessLine& line) {
    write_fields(json, query::process_fields(), line);
}

void write_process(JsonWriter& json, const query::ProcessLine& line, Withheld withheld) {
    json.begin_object("process");
    write_process_members(json, line);
    json.end_object();
    if (withheld != Withheld::kNo) {
        json.member("withheld", withheld == Withheld::kVoid ? "void" : "sensitive");
    }
}

}  // namespace beamdump::render
