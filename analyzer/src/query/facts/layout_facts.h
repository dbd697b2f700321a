#pragma once

#include <libdump/model/dump.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// The layout of a dump, if it was not made for the node's own release, and what is unverified or
/// missing because of it.
struct LayoutFacts {
    std::optional<std::string> name;
    std::optional<std::string> release;  ///< that the layout was made for
    std::optional<std::string> node_release;
    bool inferred = false;
    std::vector<std::string> inferred_from;      ///< layouts: "otp-27"
    std::vector<std::string> unverified_fields;  ///< of the layout: "Process.reds", sorted
    std::vector<std::string> unverified;         ///< values read through them (layout_sources.h)
    std::vector<std::string> left_out;           ///< descriptions of what was not read, sorted
};

/// nullopt if the layout was made for the node's release, as far as known.
std::optional<LayoutFacts> layout_facts(const Dump& dump);

}  // namespace beamdump::query
