#include <libdump/base/terminal_text.h>
#include <libdump/base/utf8.h>
#include <libdump/text/json_writer.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump {

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

}  // namespace beamdump
