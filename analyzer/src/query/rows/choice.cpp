#include "query/rows/choice.h"

#include <libdump/base/nearest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace beamdump::query {

std::string unknown_value(std::string_view what, std::string_view word,
                          std::span<const std::string_view> known) {
    Nearest nearest(word);
    for (const std::string_view name : known) {
        nearest.add(name);
    }
    return fmt::format(
        "there is no {} \"{}\": use {}{}", what, word, fmt::join(known, ", "),
        nearest.best().empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest.best()));
}

}  // namespace beamdump::query
