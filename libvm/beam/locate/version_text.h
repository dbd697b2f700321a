#pragma once

#include <libvm/beam/search/image_search.h>

#include <optional>
#include <string>
#include <string_view>

namespace beamdump::beam {

/// The facts in the format string of erlang:system_info(system_version): "Erlang/OTP 29%s
/// [erts-17.1] [source] [64-bit] ... [jit:ns%s]" (erl_bif_info.c, erts_system_version; OTP 25 to
/// 29).
struct VersionText {
    std::string otp_release;
    std::string erts_version;
    unsigned word_bits = 0;
    bool jit = false;
    Address address = 0;  ///< of the text
};

/// nullopt if it is another text. `address` stays 0.
std::optional<VersionText> parse_version_text(std::string_view text);

/// Finds the runtime's own in its data. kUnsupported if there is none, or several that differ.
Result<VersionText> find_version_text(const ImageSearch& search);

}  // namespace beamdump::beam
