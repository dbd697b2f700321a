#include "file/names.h"

#include "file/text_file.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <builtin_names.h>

namespace beamdump::layout {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::unexpected<Error> bad_names(std::string_view what) {
    return fail(ErrorCode::kCorrupt, fmt::format("not a file of names: {}", what));
}

Result<std::vector<std::string>> texts(const element& value, std::string_view where) {
    array entries;
    if (value.get_array().get(entries) != simdjson::SUCCESS) {
        return bad_names(fmt::format("{} is not an array", where));
    }
    std::vector<std::string> result;
    for (const auto entry : entries) {
        std::string_view text;
        if (entry.get_string().get(text) != simdjson::SUCCESS || text.empty()) {
            return bad_names(fmt::format("{} has an element that is not a string", where));
        }
        result.emplace_back(text);
    }
    return result;
}

Result<StructureNames> parse_structure_names(std::string_view name, const element& value) {
    element types;
    object fields;
    if (value["types"].get(types) != simdjson::SUCCESS ||
        value["fields"].get_object().get(fields) != simdjson::SUCCESS) {
        return bad_names(fmt::format("structure {} lacks \"types\" or \"fields\"", name));
    }
    StructureNames result;
    ASSIGN_OR_RETURN(auto candidates, texts(types, name));
    result.types = std::move(candidates);
    if (element unit; value["unit"].get(unit) == simdjson::SUCCESS) {
        std::string_view source;
        if (unit.get_string().get(source) != simdjson::SUCCESS || source.empty()) {
            return bad_names(fmt::format("\"unit\" of {} is not a string", name));
        }
        result.unit = source;
    }
    for (const auto& [key, paths] : fields) {
        ASSIGN_OR_RETURN(auto parsed, texts(paths, key));
        result.fields.emplace_back(key, std::move(parsed));
    }
    return result;
}

}  // namespace

Result<Names> parse_names(std::string_view json) {
    simdjson::dom::parser parser;
    const simdjson::padded_string padded(json);
    object top;
    object structures;
    element constants;
    object sources;
    if (parser.parse(padded).get_object().get(top) != simdjson::SUCCESS ||
        top["structures"].get_object().get(structures) != simdjson::SUCCESS ||
        top["constants"].get(constants) != simdjson::SUCCESS ||
        top["constants_source"].get_object().get(sources) != simdjson::SUCCESS) {
        return bad_names("it lacks \"structures\", \"constants\" or \"constants_source\"");
    }
    Names names;
    for (const auto& [key, value] : structures) {
        ASSIGN_OR_RETURN(auto parsed, parse_structure_names(key, value));
        names.structures.emplace_back(key, std::move(parsed));
    }
    ASSIGN_OR_RETURN(auto listed, texts(constants, "constants"));
    names.constants = std::move(listed);
    for (const auto& [key, value] : sources) {
        std::string_view source;
        if (value.get_string().get(source) != simdjson::SUCCESS) {
            return bad_names(fmt::format("constants_source {} is not a string", key));
        }
        names.constants_source.emplace_back(key, source);
    }
    return names;
}

Result<Names> read_names(const std::string& path) {
    ASSIGN_OR_RETURN(const auto text, read_text(path));
    auto names = parse_names(text);
    if (!names) {
        return wrap(path, names.error());
    }
    return names;
}

Result<Names> builtin_names() {
    return parse_names(builtin_names_json());
}

void add_names_of(const LayoutFile& layout, Names& names) {
    for (const auto& [name, structure] : layout.structs) {
        auto known = std::ranges::find(names.structures, name,
                                       [](auto& entry) -> auto& { return entry.first; });
        if (known == names.structures.end()) {
            names.structures.emplace_back(name, StructureNames{{name}, {}, {}});
            known = std::prev(names.structures.end());
        }
        auto& fields = known->second.fields;
        for (const auto& [field, place] : structure.fields) {
            if (find(fields, field) == nullptr) {
                fields.emplace_back(field, std::vector<std::string>{field});
            }
        }
    }
    for (const auto& [constant, value] : layout.constants) {
        if (std::ranges::find(names.constants, constant) == names.constants.end()) {
            names.constants.push_back(constant);
        }
    }
}

}  // namespace beamdump::layout
