#include <libvm/beam/locate/version_text.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::string_view kBegin = "Erlang/OTP ";
constexpr std::string_view kVersionPrefix = " [erts-";
constexpr std::size_t kLongest = 512;
constexpr std::string_view kDigits = "0123456789";

}  // namespace

std::optional<VersionText> parse_version_text(std::string_view text) {
    if (!text.starts_with(kBegin)) {
        return std::nullopt;
    }
    text.remove_prefix(kBegin.size());
    const auto digits = std::min(text.find_first_not_of(kDigits), text.size());
    const auto version = text.find(kVersionPrefix);
    if (digits == 0 || version == std::string_view::npos) {
        return std::nullopt;
    }
    VersionText result;
    result.otp_release = text.substr(0, digits);
    auto rest = text.substr(version + kVersionPrefix.size());
    const auto end = rest.find(']');
    if (end == 0 || end == std::string_view::npos) {
        return std::nullopt;
    }
    result.erts_version = rest.substr(0, end);
    rest.remove_prefix(end);
    result.word_bits = rest.contains(" [64-bit]") ? 64 : rest.contains(" [32-bit]") ? 32 : 0;
    result.jit = rest.contains(" [jit");
    return result.word_bits == 0 ? std::nullopt : std::optional(std::move(result));
}

Result<VersionText> find_version_text(const ImageSearch& search) {
    std::vector<VersionText> found;
    for (const auto& [address, text] : search.texts(kBegin, kLongest)) {
        if (auto version = parse_version_text(text)) {
            version->address = address;
            found.push_back(std::move(*version));
        }
    }
    if (found.empty()) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the runtime's version: expected a text like \"{}29%s{}17.0] ... "
                                "[64-bit] ...\" in its data, found none",
                                kBegin, kVersionPrefix));
    }
    const auto differs = [&](const VersionText& one) {
        return one.otp_release != found.front().otp_release ||
               one.erts_version != found.front().erts_version || one.jit != found.front().jit;
    };
    if (const auto other = std::ranges::find_if(found, differs); other != found.end()) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the runtime's version: expected one text, found OTP {}, ERTS {} "
                                "at {:#x} and OTP {}, ERTS {} at {:#x}",
                                found.front().otp_release, found.front().erts_version,
                                found.front().address, other->otp_release, other->erts_version,
                                other->address));
    }
    return found.front();
}

}  // namespace beamdump::beam
