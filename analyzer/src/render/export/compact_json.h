#pragma once

#include "query/rows/row_list.h"
#include "render/shared/json.h"
#include "render/shared/output.h"

#include <libdump/base/utf8.h>

#include <rapidjson/writer.h>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

namespace beamdump::render {

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
    template <typename Value>
    void member(std::string_view name, const Value& known) {
        key(name);
        value(known);
    }
    /// Members of a thing; none for an absent cell.
    void members(std::span<const query::Column> columns, const query::Row& row) {
        for (std::size_t at = 0; at < row.size() && at < columns.size(); ++at) {
            std::visit(
                [&](const auto& known) {
                    using Value = std::decay_t<decltype(known)>;
                    if constexpr (std::is_same_v<Value, std::string>) {
                        member(columns[at].name, std::string_view(known));
                    } else if constexpr (!std::is_same_v<Value, std::monostate>) {
                        member(columns[at].name, known);
                    }
                },
                row[at]);
        }
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

}  // namespace beamdump::render
