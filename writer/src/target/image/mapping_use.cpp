#include "target/image/mapping_use.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>

namespace beamdump::target {
namespace {

constexpr std::uint64_t kKilobyte = 1024;
/// No process has more memory: what says so is not an amount.
constexpr std::uint64_t kMaxKilobytes = std::uint64_t{1} << 40U;

/// The amount of a line "Rss:    12 kB".
std::optional<std::uint64_t> amount_of(std::string_view line) {
    const auto digits = line.find_first_of("0123456789");
    if (digits == std::string_view::npos || !line.ends_with(" kB")) {
        return std::nullopt;
    }
    std::uint64_t amount = 0;
    const auto parsed = std::from_chars(line.data() + digits, line.data() + line.size(), amount);
    const bool whole = parsed.ec == std::errc() && amount <= kMaxKilobytes;
    return whole ? std::optional(amount * kKilobyte) : std::nullopt;
}

/// What is said of one mapping, while its lines are read.
struct Amounts {
    std::optional<std::uint64_t> resident;
    std::uint64_t swapped = 0;
};

}  // namespace

Result<std::vector<MappingUse>> parse_mapping_use(std::string_view text) {
    std::string heads;
    std::vector<Amounts> amounts;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.substr(0, line.find(' ')).ends_with(':')) {
            heads.append(line).push_back('\n');
            amounts.emplace_back();
        } else if (!amounts.empty() && line.starts_with("Rss:")) {
            amounts.back().resident = amount_of(line);
        } else if (!amounts.empty() && line.starts_with("Swap:")) {
            amounts.back().swapped = amount_of(line).value_or(0);
        }
    }
    ASSIGN_OR_RETURN(const auto mappings, Mappings::parse(heads));
    std::vector<MappingUse> uses;
    for (std::size_t index = 0; index < amounts.size(); ++index) {
        const auto& mapping = mappings.all()[index];
        if (!amounts[index].resident) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("smaps does not say how much of the mapping at {:#x} is in "
                                    "memory",
                                    mapping.range.begin));
        }
        uses.push_back({mapping, *amounts[index].resident, amounts[index].swapped});
    }
    return uses;
}

}  // namespace beamdump::target
