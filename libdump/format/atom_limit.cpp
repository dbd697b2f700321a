#include <libdump/base/decimal.h>
#include <libdump/format/atom_limit.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace beamdump {
namespace {

/// ATOM_LIMIT (atom.h, OTP 25.2.3, 27.3.4 and 29.1.1).
constexpr std::uint64_t kDefaultAtomLimit = 1024UL * 1024;

}  // namespace

AtomLimit atom_limit_of(const std::vector<std::string>& arguments) {
    const auto end = std::ranges::find(arguments, "--");
    if (end == arguments.end()) {
        return {};
    }
    AtomLimit found{kDefaultAtomLimit, true};
    for (auto at = arguments.begin(); at != end; ++at) {
        if (at->starts_with("-t")) {
            const auto next = std::next(at);
            found.is_default = false;
            found.limit = at->size() > 2 ? decimal_number(std::string_view(*at).substr(2))
                          : next != end  ? decimal_number(*next)
                                         : std::nullopt;
        }
    }
    return found;
}

}  // namespace beamdump
