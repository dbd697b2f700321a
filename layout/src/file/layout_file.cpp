#include "file/layout_file.h"

#include "file/text_file.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <simdjson.h>

namespace beamdump::layout {
namespace {

constexpr std::uint64_t kMaxStructBytes = 1U << 20U;

using simdjson::dom::element;
using simdjson::dom::object;

std::unexpected<Error> bad_layout(std::string_view what) {
    return fail(ErrorCode::kCorrupt, fmt::format("not a layout: {}", what));
}

Result<std::uint64_t> number(const object& from, std::string_view key, std::string_view where,
                             std::uint64_t most) {
    std::uint64_t value = 0;
    if (from[key].get_uint64().get(value) != simdjson::SUCCESS || value > most) {
        return bad_layout(fmt::format("{} has no number \"{}\" of at most {}", where, key, most));
    }
    return value;
}

Result<std::string> text(const object& from, std::string_view key) {
    std::string_view value;
    if (from[key].get_string().get(value) != simdjson::SUCCESS) {
        return bad_layout(fmt::format("no string \"{}\" at the top", key));
    }
    return std::string(value);
}

Result<Structure> parse_structure(std::string_view name, const element& value) {
    object body;
    object fields;
    if (value.get_object().get(body) != simdjson::SUCCESS ||
        body["fields"].get_object().get(fields) != simdjson::SUCCESS) {
        return bad_layout(fmt::format("structure {} has no \"fields\"", name));
    }
    ASSIGN_OR_RETURN(const auto bytes, number(body, "bytes", name, kMaxStructBytes));
    Structure result{bytes, {}};
    for (const auto& [key, place] : fields) {
        const auto where = fmt::format("{}.{}", name, key);
        object field;
        if (place.get_object().get(field) != simdjson::SUCCESS) {
            return bad_layout(fmt::format("{} is not an object", where));
        }
        ASSIGN_OR_RETURN(const auto offset, number(field, "offset", where, kMaxStructBytes));
        ASSIGN_OR_RETURN(const auto size, number(field, "bytes", where, kMaxStructBytes));
        if (offset + size > bytes) {
            return bad_layout(
                fmt::format("{} reaches beyond the structure's {} bytes", where, bytes));
        }
        result.fields.emplace_back(key, Field{offset, size});
    }
    return result;
}

Result<void> parse_constants(const object& top, LayoutFile& layout) {
    object constants;
    if (top["constants"].get_object().get(constants) != simdjson::SUCCESS) {
        return bad_layout("no \"constants\"");
    }
    for (const auto& [key, value] : constants) {
        std::uint64_t constant = 0;
        if (value.get_uint64().get(constant) != simdjson::SUCCESS) {
            return bad_layout(fmt::format("constant {} is not an unsigned number", key));
        }
        layout.constants.emplace_back(key, constant);
    }
    object sources;
    if (top["constants_source"].get_object().get(sources) != simdjson::SUCCESS) {
        return {};
    }
    for (const auto& [key, value] : sources) {
        std::string_view source;
        if (value.get_string().get(source) != simdjson::SUCCESS) {
            return bad_layout(fmt::format("constants_source {} is not a string", key));
        }
        layout.constants_source.emplace_back(key, source);
    }
    return {};
}

Result<void> parse_heading(const object& top, LayoutFile& layout) {
    auto name = text(top, "name");
    auto release = text(top, "otp_release");
    auto source = text(top, "source");
    const auto word_bytes = number(top, "word_bytes", "the top", 8);
    for (const auto* part : {&name, &release, &source}) {
        if (!*part) {
            return std::unexpected(part->error());
        }
    }
    if (!word_bytes) {
        return std::unexpected(word_bytes.error());
    }
    if (top["architecture"].error() == simdjson::SUCCESS) {
        auto architecture = text(top, "architecture");
        if (!architecture) {
            return std::unexpected(architecture.error());
        }
        layout.architecture = std::move(*architecture);
    }
    layout.name = std::move(*name);
    layout.otp_release = std::move(*release);
    layout.source = std::move(*source);
    layout.word_bytes = *word_bytes;
    return {};
}

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

Result<LayoutFile> parse_layout(std::string_view json) {
    simdjson::dom::parser parser;
    const simdjson::padded_string padded(json);
    object top;
    if (const auto error = parser.parse(padded).get_object().get(top); error != simdjson::SUCCESS) {
        return bad_layout(fmt::format("not a JSON object: {}", simdjson::error_message(error)));
    }
    LayoutFile layout;
    RETURN_IF_ERROR(parse_heading(top, layout));
    RETURN_IF_ERROR(parse_constants(top, layout));
    object structs;
    if (top["structs"].get_object().get(structs) != simdjson::SUCCESS) {
        return bad_layout("no \"structs\"");
    }
    for (const auto& [key, value] : structs) {
        ASSIGN_OR_RETURN(auto parsed, parse_structure(key, value));
        layout.structs.emplace_back(key, std::move(parsed));
    }
    return layout;
}

Result<LayoutFile> read_layout(const std::string& path) {
    ASSIGN_OR_RETURN(const auto text, read_text(path));
    auto layout = parse_layout(text);
    if (!layout) {
        return wrap(path, layout.error());
    }
    return layout;
}

std::string layout_json(const LayoutFile& layout) {
    rapidjson::StringBuffer buffer;
    Writer writer(buffer);
    writer.SetIndent(' ', 2);
    writer.StartObject();
    member(writer, "$schema", "layout.schema.json");
    member(writer, "name", layout.name);
    member(writer, "otp_release", layout.otp_release);
    member(writer, "architecture", layout.architecture);
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
