#include <libdump/base/byte_amount.h>
#include <libdump/base/decimal.h>

#include <cctype>
#include <limits>
#include <string>

namespace beamdump {

std::optional<std::uint64_t> byte_amount(std::string_view text) {
    const auto digits = text.find_first_not_of("0123456789");
    const auto number = decimal_number(text.substr(0, digits));
    std::string unit(digits == std::string_view::npos ? "" : text.substr(digits));
    unit.erase(0, unit.find_first_not_of(' '));
    for (auto& letter : unit) {
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    unsigned shift = 0;
    if (!unit.empty() && unit != "b") {
        const auto power = std::string_view("kmgtpe").find(unit.front());
        const auto rest = std::string_view(unit).substr(1);
        if (power == std::string_view::npos ||
            (!rest.empty() && rest != "b" && rest != "i" && rest != "ib")) {
            return std::nullopt;
        }
        shift = 10 * (static_cast<unsigned>(power) + 1);
    }
    return number && *number <= std::numeric_limits<std::uint64_t>::max() >> shift
               ? std::optional(*number << shift)
               : std::nullopt;
}

}  // namespace beamdump
