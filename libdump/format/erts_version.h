#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

namespace beamdump {

/// The version of a runtime system: 13.2.2.6. Parts that it does not have are 0; all are 0 where it
/// is unknown. Versions follow each other within a release only: 14.0 may lack what 13.2.2.6 has.
struct ErtsVersion {
    std::array<std::uint32_t, 4> parts{};

    [[nodiscard]] bool is_known() const { return *this != ErtsVersion(); }
    auto operator<=>(const ErtsVersion&) const = default;
};

/// Of a text like "13.2.2.6", "5.10.4" or "16.0-rc2"; unknown if it does not begin with a number.
ErtsVersion erts_version(std::string_view text);

}  // namespace beamdump
