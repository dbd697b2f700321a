#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/redact/policy.h>

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fnmatch.h>
#include <fstream>
#include <set>
#include <utility>

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
            return no_policy(
                fmt::format("\"{}\" has an entry that is no pattern: each is a string, "
                            "not empty and without a NUL",
                            key));
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

/// The list that a member is; null for another member.
std::vector<std::string>* list_of(std::string_view key, Policy& policy) {
    const std::pair<std::string_view, std::vector<std::string>*> lists[] = {
        {"keep_atoms", &policy.keep_atoms},     {"hide_atoms", &policy.hide_atoms},
        {"keep_modules", &policy.modules.keep}, {"hide_modules", &policy.modules.hide},
        {"keep_records", &policy.records.keep}, {"hide_records", &policy.records.hide},
        {"keep_structs", &policy.structs.keep}, {"hide_structs", &policy.structs.hide},
        {"keep_keys", &policy.keys.keep},       {"hide_keys", &policy.keys.hide},
    };
    const auto* const found = std::ranges::find(
        lists, key, &std::pair<std::string_view, std::vector<std::string>*>::first);
    return found == std::end(lists) ? nullptr : found->second;
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
    if (auto* const list = list_of(key, policy)) {
        ASSIGN_OR_RETURN(*list, patterns(key, value));
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
        fmt::format("this version knows no \"{}\"; it knows level, salt, and keep_ and hide_ with "
                    "atoms, modules, records, structs and keys",
                    key));
}

}  // namespace

bool matches(const std::vector<std::string>& patterns, std::string_view text) {
    if (text.contains('\0')) {
        return false;
    }
    const std::string name(text);
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
        return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
    });
}

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
    std::set<std::string_view> seen;
    for (const auto& [key, value] : top) {
        if (!seen.insert(key).second) {  // the last one alone would count
            return no_policy(fmt::format("\"{}\" is there twice", key));
        }
        RETURN_IF_ERROR(set_member(key, value, policy));
    }
    if (policy.name.empty()) {
        return no_policy("it has no \"level\"");
    }
    const bool hides = !policy.modules.hide.empty() || !policy.records.hide.empty() ||
                       !policy.structs.hide.empty() || !policy.keys.hide.empty();
    if (policy.level == Level::kText && hides) {
        return no_policy(
            "with the level text, numbers and atoms remain wherever they are, also copies of those "
            "that a list would hide: use the level structure, with lists of what is kept");
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
