#include <libdump/base/decimal.h>
#include <libdump/profile/native_filter.h>
#include <libdump/profile/samples.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fnmatch.h>
#include <span>

namespace beamdump {
namespace {

/// Names of the emulator's functions and fragments (OTP 25 to 29). Where a function has no name in
/// its file, the fragment or BIF that called it still has one.
constexpr std::array<std::string_view, 6> kCollection = {
    "erts_garbage_collect*", "garbage_collect*", "<garbage_collect*",
    "minor_collection",      "major_collection", "do_major_collection"};
constexpr std::array<std::string_view, 5> kCopying = {
    "copy_struct*", "copy_shallow*", "copy_shared*", "size_object*", "size_shared*"};
constexpr std::array<std::string_view, 11> kAllocation = {
    "erts_alloc*", "erts_realloc*", "erts_free*", "erts_alcu_*", "sys_alloc*", "sys_free*",
    "erts_mseg_*", "malloc",        "realloc",    "calloc",      "free"};
constexpr std::array<std::string_view, 4> kTables = {"ets:*", "db_*", "erts_db_*", "ets_*"};
constexpr std::array<std::string_view, 2> kNifs = {"<call_nif*", "dirty_call_nif*"};

struct NamedSet {
    std::string_view name;
    std::span<const std::string_view> patterns;
};
constexpr std::array<NamedSet, 5> kSets = {{{"gc", kCollection},
                                            {"copy", kCopying},
                                            {"alloc", kAllocation},
                                            {"ets", kTables},
                                            {"nif", kNifs}}};

}  // namespace

Result<NativeFilter> NativeFilter::parse(std::string_view text) {
    if (text.empty() || std::ranges::any_of(text, [](unsigned char character) {
            return std::isspace(character) != 0;
        })) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--native \"{}\": it is a function's name, a pattern such as "
                                "erts_alloc*, or gc, copy, alloc, ets or nif",
                                text));
    }
    NativeFilter filter;
    filter.text_ = text;
    const auto* known = std::ranges::find(kSets, text, &NamedSet::name);
    if (known == kSets.end()) {
        filter.patterns_.emplace_back(text);
    } else {
        filter.patterns_.assign(known->patterns.begin(), known->patterns.end());
    }
    return filter;
}

bool NativeFilter::matches(const std::string& name) const {
    return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
        return pattern == name || ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
    });
}

bool NativeFilter::matches(const SampleStack& sample) const {
    return matches(sample.fragment) ||
           std::ranges::any_of(sample.native,
                               [this](const std::string& name) { return matches(name); });
}

std::vector<std::string> native_names_of_bif(std::string_view text) {
    const auto colon = text.find(':');
    const auto slash = text.rfind('/');
    if (colon == std::string_view::npos || slash == std::string_view::npos || slash < colon + 2 ||
        colon == 0 || !decimal_number(text.substr(slash + 1))) {
        return {};
    }
    const auto module = text.substr(0, colon);
    const auto function = text.substr(colon + 1, slash - colon - 1);
    const auto arity = text.substr(slash + 1);
    std::vector<std::string> names;
    if (module == "erlang") {
        names.push_back(fmt::format("{}_{}", function, arity));
    }
    names.push_back(fmt::format("{}_{}_{}", module, function, arity));
    return names;
}

}  // namespace beamdump
