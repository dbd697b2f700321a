#pragma once

#include "beam/search/image_search.h"

#include <optional>
#include <string>
#include <string_view>

namespace beamdump::beam {

/// What a runtime says of itself in the text that erlang:system_info(system_version) makes its
/// answer from: "Erlang/OTP 29%s [erts-17.1] [source] [64-bit] ... [jit:ns%s]" (erl_bif_info.c,
/// erts_system_version; OTP 25 to 29).
struct VersionText {
    std::string otp_release;
    std::string erts_version;
    unsigned word_bits = 0;
    bool jit = false;
    Address address = 0;  ///< of the text
};

/// Nothing: the text is another one. `address` is left 0.
std::optional<VersionText> parse_version_text(std::string_view text);

/// The runtime's own, in its data. kUnsupported: there is none, or several that differ.
Result<VersionText> find_version_text(const ImageSearch& search);

}  // namespace beamdump::beam
