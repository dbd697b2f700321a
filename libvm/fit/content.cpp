#include <libvm/fit/content.h>

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>

namespace beamdump::fit {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

bool same_field(const beam::Field& one, const beam::Field& other) {
    return one.offset == other.offset && one.bytes == other.bytes;
}

bool same_structure(const beam::StructLayout& one, const beam::StructLayout& other) {
    return one.bytes == other.bytes && one.fields.size() == other.fields.size() &&
           std::ranges::equal(one.fields, other.fields, [](const auto& left, const auto& right) {
               return left.first == right.first && same_field(left.second, right.second);
           });
}

/// nullopt if a field has another offset, or exists in one of them only.
std::optional<beam::StructLayout> common(const beam::StructLayout& one,
                                         const beam::StructLayout& other) {
    if (is_array_element(one.name) && one.bytes != other.bytes) {
        return std::nullopt;
    }
    auto result = one;
    result.bytes = std::min(one.bytes, other.bytes);
    if (one.fields.size() != other.fields.size()) {
        return std::nullopt;
    }
    for (auto& [name, field] : result.fields) {
        const auto found = other.fields.find(name);
        if (found == other.fields.end() || found->second.offset != field.offset) {
            return std::nullopt;
        }
        // An array may have grown, but a number that has another size is another field.
        constexpr std::uint32_t kWord = 8;
        if (field.bytes != found->second.bytes &&
            std::min(field.bytes, found->second.bytes) <= kWord) {
            return std::nullopt;
        }
        field.bytes = std::min(field.bytes, found->second.bytes);
    }
    return result;
}

void text(Writer& json, std::string_view value) {
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void write_structure(Writer& json, const beam::StructLayout& structure) {
    json.StartObject();
    text(json, "bytes");
    json.Uint(structure.bytes);
    text(json, "fields");
    json.StartObject();
    for (const auto& [name, field] : structure.fields) {
        text(json, name);
        json.StartObject();
        text(json, "offset");
        json.Uint(field.offset);
        text(json, "bytes");
        json.Uint(field.bytes);
        json.EndObject();
    }
    json.EndObject();
    json.EndObject();
}

}  // namespace

bool same(const Content& one, const Content& other) {
    return one.constants == other.constants && one.structs.size() == other.structs.size() &&
           std::ranges::equal(one.structs, other.structs, [](const auto& left, const auto& right) {
               return left.first == right.first && same_structure(left.second, right.second);
           });
}

std::vector<Content> split(const beam::Layout& layout) {
    std::vector<Content> parts(layout_parts().size());
    for (auto& part : parts) {
        part.from = layout.name();
    }
    for (const auto& [name, structure] : layout.structures()) {
        parts[part_of_structure(name)].structs.emplace(name, structure);
    }
    for (const auto& [name, value] : layout.constants()) {
        parts[part_of_constant(name)].constants.emplace(name, value);
    }
    return parts;
}

Content agreed(const Content& one, const Content& other) {
    Content result;
    result.from = one.from == other.from ? one.from : one.from + " and " + other.from;
    for (const auto& [name, structure] : one.structs) {
        const auto found = other.structs.find(name);
        const auto both =
            found == other.structs.end() ? std::nullopt : common(structure, found->second);
        if (both) {
            result.structs.emplace(name, *both);
        }
    }
    for (const auto& [name, value] : one.constants) {
        const auto found = other.constants.find(name);
        if (found != other.constants.end() && found->second == value) {
            result.constants.emplace(name, value);
        }
    }
    return result;
}

bool agree(const Content& one, const Content& other) {
    if (agreed(one, other).structs.size() != one.structs.size() ||
        one.structs.size() != other.structs.size()) {
        return false;
    }
    return std::ranges::all_of(one.constants, [&](const auto& constant) {
        const auto found = other.constants.find(constant.first);
        return found == other.constants.end() || found->second == constant.second;
    });
}

Result<beam::Layout> compose(const std::string& name, const std::string& release,
                             Architecture architecture, const std::string& source,
                             const std::vector<Content>& parts) {
    rapidjson::StringBuffer out;
    Writer json(out);
    json.SetIndent(' ', 2);
    json.StartObject();
    for (const auto& [key, value] :
         {std::pair{"$schema", std::string("layout.schema.json")}, std::pair{"name", name},
          std::pair{"otp_release", release},
          std::pair{"architecture", std::string(name_of(architecture))}}) {
        text(json, key);
        text(json, value);
    }
    text(json, "word_bytes");
    json.Uint(8);
    text(json, "source");
    text(json, source);
    text(json, "constants");
    json.StartObject();
    for (const auto& part : parts) {
        for (const auto& [constant, value] : part.constants) {
            text(json, constant);
            json.Uint64(value);
        }
    }
    json.EndObject();
    text(json, "structs");
    json.StartObject();
    for (const auto& part : parts) {
        for (const auto& [structure, body] : part.structs) {
            text(json, structure);
            write_structure(json, body);
        }
    }
    json.EndObject();
    json.EndObject();
    return beam::Layout::parse(std::string_view(out.GetString(), out.GetSize()));
}

}  // namespace beamdump::fit
