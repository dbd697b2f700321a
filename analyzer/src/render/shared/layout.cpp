#include "render/shared/layout.h"

#include "render/shared/table.h"

#include <fmt/format.h>

#include <vector>

namespace beamdump::render {

namespace {

/// "a", "a and b", "a, b and c".
std::string list_text(const std::vector<std::string>& items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        text += i == 0 ? "" : i + 1 == items.size() ? " and " : ", ";
        text += items[i];
    }
    return text;
}

/// Those that are named; JSON has all.
constexpr std::size_t kMostNamedFields = 12;

std::string unverified_text(std::vector<std::string> values) {
    const auto all = values.size();
    if (all > kMostNamedFields) {
        values.resize(kMostNamedFields);
        values.push_back(fmt::format("{} more (--json names all)", all - kMostNamedFields));
    }
    return "no check could verify " + list_text(values);
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

}  // namespace

void print_layout_notice(Output& output, const std::optional<query::LayoutFacts>& facts,
                         std::string_view what) {
    if (!facts) {
        return;
    }
    output.print("{}: {}.\n", one_line(layout_text(*facts, what)),
                 facts->unverified.empty() ? "checks verified all fields"
                                           : unverified_text(facts->unverified));
    if (!facts->left_out.empty()) {
        output.print("Not in this dump: {}.\n", one_line(list_text(facts->left_out)));
    }
    output.write("\n");
}

}  // namespace beamdump::render
