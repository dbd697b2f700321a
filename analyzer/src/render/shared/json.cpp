#include "render/shared/json.h"

#include <libdump/base/terminal_text.h>
#include <libdump/base/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace beamdump::render {

JsonWriter::JsonWriter(Output& output, std::string_view schema)
    : stream_{output}, writer_(stream_) {
    writer_.SetIndent(' ', 2);
    writer_.StartObject();
    member("schema", schema);
}

void JsonWriter::finish() {
    writer_.EndObject();
    stream_.output.write("\n");
}

void JsonWriter::key(std::string_view name) {
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

void JsonWriter::begin_object(std::string_view name) {
    key(name);
    writer_.StartObject();
}

void JsonWriter::begin_array(std::string_view name) {
    key(name);
    writer_.StartArray();
}

void JsonWriter::value(std::string_view text) {
    writer_.RawValue("\"", 1, rapidjson::kStringType);
    stream_.output.write(json_escaped(valid_utf8(text)));
    stream_.output.write("\"");
}

void JsonWriter::hex_member(std::string_view name, std::uint64_t number) {
    member(name, fmt::format("{:#x}", number));
}

void JsonWriter::begin_text(std::string_view name) {
    key(name);
    // The writer writes the prefix of a value; the text bypasses it, piece by piece.
    writer_.RawValue("\"", 1, rapidjson::kStringType);
}

std::string json_escaped(std::string_view text) {
    const auto is_special = [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; };
    std::string escaped;
    while (!text.empty()) {
        const auto plain =
            static_cast<std::size_t>(std::ranges::find_if(text, is_special) - text.begin());
        escaped += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) {
            break;
        }
        const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
        // An invalid byte is taken as Latin-1, as in valid_utf8().
        const char32_t character = utf8_length(text) == 0 ? static_cast<unsigned char>(text.front())
                                                          : utf8_character(text.substr(0, length));
        if (character == '\n') {
            escaped += "\\n";
        } else if (is_terminal_control(character) || utf8_length(text) == 0) {
            escaped += fmt::format("\\u{:04X}", static_cast<std::uint32_t>(character));
        } else {
            escaped += length > 1 ? "" : "\\";
            escaped += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return escaped;
}

void JsonWriter::text_piece(std::string_view piece) {
    std::string valid;
    pieces_.add(piece, valid);
    stream_.output.write(json_escaped(valid));
}

void JsonWriter::end_text() {
    std::string valid;
    pieces_.end(valid);
    stream_.output.write(json_escaped(valid));
    stream_.output.write("\"");
}

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
    json.member("node", facts.node_name);
    json.member("captured_us", facts.captured_us);
    if (facts.memory_of_heaps) {
        json.member("process_memory", "stack, heap and old heap");
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

void write_process_members(JsonWriter& json, const query::ProcessLine& line) {
    json.member("pid", line.pid);
    json.member("registered_name", line.registered_name);
    json.member("initial_call", line.initial_call);
    json.member("translated_initial_call", line.translated_initial_call);
    json.member("current_function", line.current_function);
    json.member("status", line.status);
    json.member("void_reason", line.void_reason);
    json.member("memory", line.memory_bytes);
    json.member("reductions", line.reductions);
    json.member("message_queue_len", line.message_queue_length);
    json.member("total_heap_size", line.total_heap_words);
    json.member("stack_size", line.stack_words);
    json.member("binary_references", line.binary_references);
    json.member("binary_bytes", line.binary_bytes);
    json.member("ets_tables", line.ets_tables);
    json.member("ets_bytes", line.ets_bytes);
    json.member("heap_size", line.heap_words);
    json.member("old_heap_size", line.old_heap_words);
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
