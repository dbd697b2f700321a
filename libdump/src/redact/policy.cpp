#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/redact/policy.h>

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <cerrno>
#include <fstream>

namespace beamdump::redact {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxPolicyBytes = 1U << 20U;

std::unexpected<Error> no_policy(std::string_view what) {
    return fail(ErrorCode::kUsage, fmt::format("redaction policy: {}", what));
}

Result<std::vector<std::string>> patterns(std::string_view key, const dom::element& value) {
    dom::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) {
        return no_policy(fmt::format("\"{}\" is not a list", key));
    }
    std::vector<std::string> result;
    for (const auto& entry : list) {
        std::string_view text;
        if (entry.get_string().get(text) != simdjson::SUCCESS || text.empty() ||
            text.contains('\0')) {
            return no_policy(fmt::format("\"{}\" has an entry that is not a pattern", key));
        }
        result.emplace_back(text);
    }
    return result;
}

Result<std::string> string_of(std::string_view key, const dom::element& value) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) {
        return no_policy(fmt::format("\"{}\" is not a string", key));
    }
    return std::string(text);
}

/// By word: a member that is not known would be thought to hide something.
Result<void> set_member(std::string_view key, const dom::element& value, Policy& policy) {
    if (key == "level") {
        ASSIGN_OR_RETURN(const auto name, string_of(key, value));
        const auto named = named_policy(name);
        if (!named) {
            return no_policy(fmt::format("there is no level \"{}\": use structure or text", name));
        }
        policy.level = named->level;
        policy.name = "file, level " + name;
        return {};
    }
    if (key == "keep_atoms" || key == "hide_atoms") {
        ASSIGN_OR_RETURN(auto list, patterns(key, value));
        (key == "keep_atoms" ? policy.keep_atoms : policy.hide_atoms) = std::move(list);
        return {};
    }
    if (key == "salt") {
        ASSIGN_OR_RETURN(auto salt, string_of(key, value));
        if (salt.empty()) {
            return no_policy("\"salt\" is empty");
        }
        policy.salt = std::move(salt);
        return {};
    }
    return no_policy(
        fmt::format("this version knows no \"{}\"; it knows level, keep_atoms, "
                    "hide_atoms and salt",
                    key));
}

}  // namespace

std::optional<Policy> named_policy(std::string_view name) {
    if (name != "structure" && name != "text") {
        return std::nullopt;
    }
    Policy policy;
    policy.name = name;
    policy.level = name == "text" ? Level::kText : Level::kStructure;
    return policy;
}

Result<Policy> parse_policy(std::string_view json) {
    dom::parser parser(kMaxPolicyBytes);
    dom::object top;
    if (const auto error = parser.parse(simdjson::padded_string(json)).get_object().get(top);
        error != simdjson::SUCCESS) {
        return no_policy(fmt::format("not a JSON object: {}", simdjson::error_message(error)));
    }
    Policy policy;
    policy.name.clear();
    for (const auto& [key, value] : top) {
        RETURN_IF_ERROR(set_member(key, value, policy));
    }
    if (policy.name.empty()) {
        return no_policy("it has no \"level\"");
    }
    return policy;
}

Result<Policy> read_policy(const std::string& name_or_file) {
    if (auto named = named_policy(name_or_file)) {
        return std::move(*named);
    }
    std::ifstream file(name_or_file, std::ios::binary);
    std::string text(kMaxPolicyBytes + 1, '\0');
    if (!file || (!file.read(text.data(), static_cast<std::streamsize>(text.size())) &&
                  (file.bad() || !file.eof()))) {
        return fail(ErrorCode::kUsage,
                    fmt::format("a redaction policy is structure, text or a JSON file, and {} "
                                "cannot be read: {}",
                                name_or_file, system_error_text(errno)));
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxPolicyBytes) {
        return no_policy(fmt::format("{} has more than {} bytes", name_or_file, kMaxPolicyBytes));
    }
    auto policy = parse_policy(text);
    return policy ? policy : wrap(name_or_file, policy.error());
}

}  // namespace beamdump::redact
