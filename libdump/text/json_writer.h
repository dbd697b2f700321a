#pragma once

#include <libdump/base/utf8.h>
#include <libdump/text/output.h>

#include <rapidjson/prettywriter.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump {

/// Text escaped for a JSON string: terminal controls and invalid UTF-8 as \uXXXX.
std::string json_escaped(std::string_view text);

/// Writes one JSON document as a stream. Text is converted to valid UTF-8. Unknown values are
/// omitted, never null and never of another type. The document ends with a newline.
class JsonWriter {
  public:
    /// Begins the document's object with the name of its schema: "beamdump.NAME/VERSION".
    JsonWriter(Output& output, std::string_view schema);
    /// Ends the document.
    void finish();

    void begin_object() { writer_.StartObject(); }
    void begin_object(std::string_view name);
    void end_object() { writer_.EndObject(); }
    void begin_array(std::string_view name);
    void end_array() { writer_.EndArray(); }

    void value(std::string_view text);
    void value(const std::string& text) { value(std::string_view(text)); }
    void value(const char* text) { value(std::string_view(text)); }
    void value(bool flag) { writer_.Bool(flag); }
    void value(std::unsigned_integral auto number) { writer_.Uint64(number); }
    void value(std::signed_integral auto number) { writer_.Int64(number); }
    /// A finite number.
    void value(double number) { writer_.Double(number); }

    template <typename Value>
    void member(std::string_view name, const Value& known) {
        key(name);
        value(known);
    }
    template <typename Value>
    void member(std::string_view name, const std::optional<Value>& known) {
        if (known) {
            member(name, *known);
        }
    }
    /// An address or a set of bits: "0x7f0012345678".
    void hex_member(std::string_view name, std::uint64_t number);

    /// A text in pieces.
    void begin_text(std::string_view name);
    void text_piece(std::string_view piece);
    void end_text();
    /// False after the output failed.
    [[nodiscard]] bool ok() const { return stream_.output.ok(); }

  private:
    /// The output stream for RapidJSON.
    struct Stream {
        using Ch = char;
        Output& output;
        void Put(char c) { output.write(c); }
        void Flush() {}
    };
    void key(std::string_view name);

    Stream stream_;
    rapidjson::PrettyWriter<Stream> writer_;
    Utf8Pieces pieces_;
};

/// A list of objects: `write` writes the members of one.
template <typename Items, typename Write>
void write_objects(JsonWriter& json, std::string_view name, const Items& items, Write write) {
    json.begin_array(name);
    for (const auto& item : items) {
        json.begin_object();
        write(item);
        json.end_object();
    }
    json.end_array();
}

}  // namespace beamdump
