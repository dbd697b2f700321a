#include "file/layout_file.h"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

namespace beamdump::layout {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void key(Writer& writer, std::string_view name) {
    writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

void member(Writer& writer, std::string_view name, std::string_view text) {
    key(writer, name);
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write_structure(Writer& writer, const Structure& structure) {
    writer.StartObject();
    key(writer, "bytes");
    writer.Uint64(structure.bytes);
    key(writer, "fields");
    writer.StartObject();
    for (const auto& [name, field] : structure.fields) {
        key(writer, name);
        const auto place =
            fmt::format(R"({{"offset": {}, "bytes": {}}})", field.offset, field.bytes);
        writer.RawValue(place.data(), place.size(), rapidjson::kObjectType);
    }
    writer.EndObject();
    writer.EndObject();
}

}  // namespace

std::string layout_json(const LayoutFile& layout) {
    rapidjson::StringBuffer buffer;
    Writer writer(buffer);
    writer.SetIndent(' ', 2);
    writer.StartObject();
    member(writer, "$schema", "layout.schema.json");
    member(writer, "name", layout.name);
    member(writer, "otp_release", layout.otp_release);
    key(writer, "word_bytes");
    writer.Uint64(layout.word_bytes);
    member(writer, "source", layout.source);
    if (!layout.constants_source.empty()) {
        key(writer, "constants_source");
        writer.StartObject();
        for (const auto& [name, source] : layout.constants_source) {
            member(writer, name, source);
        }
        writer.EndObject();
    }
    key(writer, "constants");
    writer.StartObject();
    for (const auto& [name, value] : layout.constants) {
        key(writer, name);
        writer.Uint64(value);
    }
    writer.EndObject();
    key(writer, "structs");
    writer.StartObject();
    for (const auto& [name, structure] : layout.structs) {
        key(writer, name);
        write_structure(writer, structure);
    }
    writer.EndObject();
    writer.EndObject();
    return std::string(buffer.GetString(), buffer.GetSize()) + '\n';
}

}  // namespace beamdump::layout
