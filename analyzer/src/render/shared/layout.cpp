#include "render/shared/layout.h"

#include "render/shared/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace beamdump::render {

namespace {

constexpr std::string_view kPartOfTerm = "term.";

/// "a", "a and b", "a, b and c".
std::string list_text(const std::vector<std::string>& items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        text += i == 0 ? "" : i + 1 == items.size() ? " and " : ", ";
        text += items[i];
    }
    return text;
}

std::string layout_text(const query::LayoutFacts& facts, std::string_view what) {
    const std::string node =
        facts.node_release ? "OTP " + *facts.node_release : "a node of unknown release";
    if (facts.inferred) {
        return fmt::format("{} inferred from {} for {}", what, list_text(facts.inferred_from),
                           node);
    }
    const std::string name = facts.name.value_or("of unknown name");
    return fmt::format("{} {}, made for {}, used on {}", what, name,
                       facts.release ? "OTP " + *facts.release : "another release", node);
}

std::string unmarked_text(const query::LayoutFacts& facts,
                          std::span<const std::string_view> unmarked) {
    std::vector<std::string> here;
    std::vector<std::string> in_terms;
    for (const std::string_view value : unmarked) {
        if (!facts.is_unverified(value)) {
            continue;
        }
        if (value.starts_with(kPartOfTerm)) {
            std::string part(value.substr(kPartOfTerm.size()));
            std::ranges::replace(part, '_', ' ');
            in_terms.push_back(part == "binary" ? "binaries" : part + "s");
        } else {
            here.emplace_back(value);
        }
    }
    if (!in_terms.empty()) {
        here.push_back("inside terms " + list_text(in_terms));
    }
    return fmt::format("{}", fmt::join(here, ", "));
}

}  // namespace

std::string_view Marks::mark(std::initializer_list<std::string_view> values) const {
    const bool unverified =
        facts_ != nullptr && std::ranges::any_of(values, [this](std::string_view value) {
            return facts_->is_unverified(value);
        });
    return unverified ? "~" : "";
}

std::string Marks::operator()(std::string_view value, std::string text) const {
    return (*this)({value}, std::move(text));
}

std::string Marks::operator()(std::initializer_list<std::string_view> values,
                              std::string text) const {
    if (!text.empty() && text != "?") {
        text.insert(0, mark(values));
    }
    return text;
}

void print_layout_notice(Output& output, const std::optional<query::LayoutFacts>& facts,
                         std::span<const std::string_view> unmarked, std::string_view what) {
    if (!facts) {
        return;
    }
    output.print("{}: {}.\n", one_line(layout_text(*facts, what)),
                 facts->unverified_fields.empty()
                     ? "checks verified all fields"
                     : "values marked ~ depend on fields that no check could verify");
    if (const auto text = unmarked_text(*facts, unmarked); !text.empty()) {
        output.print("Not verified by any check either, and not marked: {}.\n", text);
    }
    if (!facts->left_out.empty()) {
        output.print("Not in this dump: {}.\n", one_line(list_text(facts->left_out)));
    }
    output.write("\n");
}

}  // namespace beamdump::render
