#pragma once

#include <libdump/base/utf8.h>
#include <libdump/text/json_writer.h>
#include <libdump/text/output.h>

#include <rapidjson/writer.h>

#include <concepts>
#include <string_view>

namespace beamdump {

/// Writes JSON without spaces, as a stream: a line for each document. Text is converted to valid
/// UTF-8.
class CompactJson {
  public:
    explicit CompactJson(Output& output) : stream_{output}, writer_(stream_) {}

    void begin_object() { writer_.StartObject(); }
    void end_object() { writer_.EndObject(); }
    void begin_array() { writer_.StartArray(); }
    void end_array() { writer_.EndArray(); }
    void key(std::string_view name) {
        writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    }
    void value(std::string_view text) {
        writer_.RawValue("\"", 1, rapidjson::kStringType);
        stream_.output.write(json_escaped(valid_utf8(text)));
        stream_.output.write("\"");
    }
    void value(bool flag) { writer_.Bool(flag); }
    void value(std::unsigned_integral auto number) { writer_.Uint64(number); }
    void value(std::signed_integral auto number) { writer_.Int64(number); }
    /// A finite number.
    void value(double number) { writer_.Double(number); }
    /// A value that is JSON already, without line ends.
    void json_value(std::string_view json) {
        writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
    }
    template <typename Value>
    void member(std::string_view name, const Value& known) {
        key(name);
        value(known);
    }
    /// Ends a document with a newline; another one may begin.
    void end_line() {
        stream_.output.write("\n");
        writer_.Reset(stream_);
    }

  private:
    struct Stream {
        using Ch = char;
        Output& output;
        void Put(char c) { output.write(std::string_view(&c, 1)); }
        void Flush() {}
    };

    Stream stream_;
    rapidjson::Writer<Stream> writer_;
};

}  // namespace beamdump
