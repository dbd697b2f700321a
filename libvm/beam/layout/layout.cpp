#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/beam/layout/layout.h>

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <new>
#include <utility>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kMaxStructBytes = 1U << 20U;

using simdjson::dom::element;
using simdjson::dom::object;

std::unexpected<Error> bad(std::string_view what) {
    return fail(ErrorCode::kUnsupported, fmt::format("layout: {}", what));
}

Result<std::uint32_t> number(const object& from, std::string_view key, std::string_view where) {
    std::uint64_t value = 0;
    if (from[key].get_uint64().get(value) != simdjson::SUCCESS || value > kMaxStructBytes) {
        return bad(fmt::format("{} has no sensible \"{}\"", where, key));
    }
    return static_cast<std::uint32_t>(value);
}

Result<std::string> text(const object& from, std::string_view key) {
    std::string_view value;
    if (from[key].get_string().get(value) != simdjson::SUCCESS) {
        return bad(fmt::format("no string \"{}\"", key));
    }
    return std::string(value);
}

Result<StructLayout> parse_struct(std::string_view name, const element& value) {
    object body;
    object fields;
    if (value.get_object().get(body) != simdjson::SUCCESS ||
        body["fields"].get_object().get(fields) != simdjson::SUCCESS) {
        return bad(fmt::format("structure {} has no \"fields\"", name));
    }
    ASSIGN_OR_RETURN(auto bytes, number(body, "bytes", name));
    StructLayout result{std::string(name), bytes, {}};
    for (const auto& [key, field_value] : fields) {
        object field;
        if (field_value.get_object().get(field) != simdjson::SUCCESS) {
            return bad(fmt::format("{}.{} is not an object", name, key));
        }
        ASSIGN_OR_RETURN(auto offset, number(field, "offset", key));
        ASSIGN_OR_RETURN(auto size, number(field, "bytes", key));
        if (std::uint64_t{offset} + size > bytes) {
            return bad(
                fmt::format("{}.{} reaches beyond the structure's {} bytes", name, key, bytes));
        }
        result.fields.emplace(std::string(key), Field{offset, size});
    }
    return result;
}

Result<StructLayouts> parse_structs(const object& from, std::string_view where) {
    object structs;
    if (from["structs"].get_object().get(structs) != simdjson::SUCCESS) {
        return bad(fmt::format("no \"structs\" {}", where));
    }
    StructLayouts result;
    for (const auto& [key, value] : structs) {
        ASSIGN_OR_RETURN(auto parsed, parse_struct(key, value));
        result.emplace(std::string(key), std::move(parsed));
    }
    return result;
}

Result<LayoutConstants> parse_constants(const object& from) {
    object constants;
    if (from["constants"].get_object().get(constants) != simdjson::SUCCESS) {
        return bad("no \"constants\"");
    }
    LayoutConstants result;
    for (const auto& [key, value] : constants) {
        std::uint64_t constant = 0;
        if (value.get_uint64().get(constant) != simdjson::SUCCESS) {
            return bad(fmt::format("constant {} is not an unsigned number", key));
        }
        result.emplace(std::string(key), constant);
    }
    return result;
}

/// Of structures that the release has before them.
Result<std::vector<LayoutPatch>> parse_patches(simdjson::simdjson_result<element> json,
                                               const StructLayouts& before) {
    std::vector<LayoutPatch> patches;
    if (json.error() == simdjson::NO_SUCH_FIELD) {
        return patches;
    }
    simdjson::dom::array list;
    if (json.get_array().get(list) != simdjson::SUCCESS) {
        return bad("\"patches\" is not an array");
    }
    for (const auto& entry : list) {
        object patch;
        if (entry.get_object().get(patch) != simdjson::SUCCESS) {
            return bad("one of \"patches\" is not an object");
        }
        ASSIGN_OR_RETURN(const auto version, text(patch, "erts"));
        const auto erts = erts_version(version);
        if (!erts.is_known() || (!patches.empty() && erts <= patches.back().erts)) {
            return bad(fmt::format("\"patches\": '{}' is no later version of ERTS", version));
        }
        ASSIGN_OR_RETURN(auto structs, parse_structs(patch, "in one of \"patches\""));
        for (const auto& [name, body] : structs) {
            if (!before.contains(name)) {
                return bad(fmt::format("lacks structure {}, which one of \"patches\" has", name));
            }
        }
        LayoutConstants constants;
        if (patch["constants"].error() != simdjson::NO_SUCH_FIELD) {
            ASSIGN_OR_RETURN(constants, parse_constants(patch));
        }
        patches.push_back({erts, std::move(structs), std::move(constants)});
    }
    return patches;
}

Result<std::optional<ComparedVersions>> parse_compared(simdjson::simdjson_result<element> json) {
    if (json.error() == simdjson::NO_SUCH_FIELD) {
        return std::nullopt;
    }
    object versions;
    if (json.get_object().get(versions) != simdjson::SUCCESS) {
        return bad("\"compared\" is not an object");
    }
    ComparedVersions compared;
    ASSIGN_OR_RETURN(compared.first, text(versions, "first"));
    ASSIGN_OR_RETURN(compared.last, text(versions, "last"));
    if (!compared.holds(compared.first) || !compared.holds(compared.last)) {
        return bad(fmt::format("\"compared\": '{}' to '{}' are no versions of ERTS", compared.first,
                               compared.last));
    }
    return compared;
}

}  // namespace

bool ComparedVersions::holds(std::string_view version) const {
    const auto erts = erts_version(version);
    return erts.is_known() && erts_version(first) <= erts && erts <= erts_version(last);
}

std::uint32_t end_of(std::initializer_list<Field> fields) {
    std::uint32_t end = 0;
    for (const auto& field : fields) {
        end = std::max(end, field.offset + field.bytes);
    }
    return end;
}

Result<Layout> Layout::parse(std::string_view json) {
    simdjson::dom::parser parser;
    const simdjson::padded_string padded(json);
    object top;
    const auto error = parser.parse(padded).get_object().get(top);
    if (error == simdjson::MEMALLOC) {
        return std::unexpected(error_of(std::bad_alloc()));
    }
    if (error != simdjson::SUCCESS) {
        return bad(fmt::format("not a JSON object: {}", simdjson::error_message(error)));
    }
    Layout layout;
    layout.json_ = std::string(json);
    ASSIGN_OR_RETURN(auto name, text(top, "name"));
    ASSIGN_OR_RETURN(auto release, text(top, "otp_release"));
    layout.name_ = std::move(name);
    layout.release_ = std::move(release);
    std::uint64_t word_bytes = 0;
    if (top["word_bytes"].get_uint64().get(word_bytes) != simdjson::SUCCESS || word_bytes != 8) {
        return bad("only \"word_bytes\": 8 is supported");
    }
    if (top["architecture"].error() == simdjson::SUCCESS) {
        ASSIGN_OR_RETURN(const auto named, text(top, "architecture"));
        const auto architecture = architecture_named(named);
        if (!architecture) {
            return bad(fmt::format("\"architecture\" is '{}', neither x86-64 nor aarch64", named));
        }
        layout.architecture_ = *architecture;
    }
    ASSIGN_OR_RETURN(layout.structs_, parse_structs(top, "at the top"));
    ASSIGN_OR_RETURN(layout.constants_, parse_constants(top));
    ASSIGN_OR_RETURN(layout.patches_, parse_patches(top["patches"], layout.structs_));
    ASSIGN_OR_RETURN(layout.compared_, parse_compared(top["compared"]));
    return layout;
}

Layout Layout::at(ErtsVersion version) const {
    auto result = *this;
    result.patches_.clear();
    for (const auto& patch : patches_) {
        if (version < patch.erts) {
            break;
        }
        for (const auto& [name, body] : patch.structs) {
            result.structs_[name] = body;
        }
        for (const auto& [name, value] : patch.constants) {
            result.constants_[name] = value;
        }
    }
    return result;
}

Layout Layout::moved(const std::string& structure, const std::string& field,
                     std::uint32_t bytes) const {
    auto result = *this;
    auto& body = result.structs_.at(structure);
    auto& place = body.fields.at(field);
    place.offset += bytes;
    body.bytes = std::max(body.bytes, place.offset + place.bytes);
    return result;
}

Result<const StructLayout*> Layout::structure(std::string_view name) const {
    const auto found = structs_.find(name);
    if (found == structs_.end()) {
        return bad(fmt::format("{} lacks structure {}", name_, name));
    }
    return &found->second;
}

Result<Field> Layout::field(std::string_view structure_name, std::string_view name) const {
    ASSIGN_OR_RETURN(auto found, structure(structure_name));
    const auto field = found->fields.find(name);
    if (field == found->fields.end()) {
        return bad(fmt::format("{} lacks {}.{}", name_, structure_name, name));
    }
    return field->second;
}

Result<std::uint64_t> Layout::constant(std::string_view name) const {
    const auto found = constants_.find(name);
    if (found == constants_.end()) {
        return bad(fmt::format("{} lacks constant {}", name_, name));
    }
    return found->second;
}

template <typename T>
T LayoutNames::keep(Result<T> result) {
    if (result) {
        return *result;
    }
    if (!missing_) {
        missing_ = result.error();
    }
    return T{};
}

Field LayoutNames::field(FieldName name) {
    return keep(layout_.field(name));
}

Field LayoutNames::field(std::initializer_list<FieldName> names) {
    for (const auto& name : names) {
        if (const auto found = layout_.field(name)) {
            return *found;
        }
    }
    return field(*names.begin());
}

std::optional<Field> LayoutNames::field_if_any(FieldName name) {
    const auto found = layout_.field(name);
    return found ? std::optional(*found) : std::nullopt;
}

std::uint32_t LayoutNames::bytes(StructName structure) {
    const auto found = layout_.structure(structure.text);
    return found ? (*found)->bytes : keep(Result<std::uint32_t>(std::unexpected(found.error())));
}

std::uint64_t LayoutNames::constant(ConstantName name) {
    return keep(layout_.constant(name));
}

std::uint64_t LayoutNames::constant(std::initializer_list<ConstantName> names) {
    for (const auto& name : names) {
        if (const auto found = layout_.constant(name)) {
            return *found;
        }
    }
    return constant(*names.begin());
}

std::optional<std::uint64_t> LayoutNames::constant_if_any(ConstantName name) const {
    const auto found = layout_.constant(name);
    return found ? std::optional(*found) : std::nullopt;
}

Result<void> LayoutNames::outcome() const {
    if (missing_) {
        return std::unexpected(*missing_);
    }
    return {};
}

}  // namespace beamdump::beam
