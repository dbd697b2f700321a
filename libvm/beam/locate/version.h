#pragma once

#include <libvm/beam/locate/symbols.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Whether a text is a version like "27.3.4.1" or "28.0-rc1", or a distributor's like "26.2.5-3".
bool is_otp_version(std::string_view text);

/// "27.3.4.1" or "28.0-rc1": the only text in the runtime's data that has the form of a version of
/// that release (erl_bif_info.c, otp_version; OTP 25.2.3 to 29.1.2). Empty: none, or several.
std::string find_otp_version(const ImageSearch& search, std::string_view release);

/// The runtime's version, and how it was found.
struct RuntimeVersion {
    std::string otp_release;
    std::string otp_version;  ///< see find_otp_version()
    std::string erts_version;
    bool jit = false;
    std::vector<Found> found;
};

/// Reads the etp_* constants (erl_etp.c) or, without symbols, the text of the version. Needs no
/// layout. kUnsupported: not 64 bits.
Result<RuntimeVersion> find_version(target::Target& target, const Symbols& symbols,
                                    const ImageSearch& search);

}  // namespace beamdump::beam
