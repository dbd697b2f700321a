#include "query/facts/layout_facts.h"

#include "query/facts/layout_sources.h"

#include <algorithm>

namespace beamdump::query {

namespace {

template <typename Texts>
std::vector<std::string> sorted(const Texts& texts) {
    std::vector<std::string> result(texts.begin(), texts.end());
    std::ranges::sort(result);
    return result;
}

}  // namespace

std::optional<LayoutFacts> layout_facts(const Dump& dump) {
    const records::Capture& capture = dump.capture();
    const records::Node& node = dump.node();
    const bool another_release = capture.has_layout_release() && node.has_otp_release() &&
                                 capture.layout_release() != node.otp_release();
    // The lists exist only if the layout was not made for the release.
    if (!capture.layout_inferred() && !another_release && capture.unverified_fields().empty() &&
        capture.left_out().empty()) {
        return std::nullopt;
    }
    LayoutFacts facts;
    const auto known = [](bool has, const std::string& text) {
        return has ? std::optional(text) : std::nullopt;
    };
    facts.name = known(capture.has_layout_name(), capture.layout_name());
    facts.release = known(capture.has_layout_release(), capture.layout_release());
    facts.node_release = known(node.has_otp_release(), node.otp_release());
    facts.inferred = capture.layout_inferred();
    facts.inferred_from.assign(capture.inferred_from().begin(), capture.inferred_from().end());
    facts.unverified_fields = sorted(capture.unverified_fields());
    facts.unverified = values_read_through(facts.unverified_fields);
    facts.left_out = sorted(capture.left_out());
    return facts;
}

}  // namespace beamdump::query
