#include <libdump/base/return_if_error.h>
#include <libvm/beam/locate/version.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::string_view kBegin = "Erlang/OTP ";
constexpr std::string_view kVersionPrefix = " [erts-";
constexpr std::size_t kLongest = 512;
constexpr std::string_view kDigits = "0123456789";

constexpr std::uint64_t kLongestText = 64;
constexpr unsigned kWordBits = 64;

std::unexpected<Error> wrong_width(std::uint64_t bits) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("a {}-bit VM: only 64-bit ones are supported", bits));
}

Result<std::string> text_at(target::Target& target, std::string_view name,
                            const target::Symbol& symbol) {
    std::string text(std::min(symbol.size, kLongestText), '\0');
    if (auto done = target.memory().read(symbol.address, std::as_writable_bytes(std::span(text)));
        !done) {
        return wrap(fmt::format("reading {}", name), done.error());
    }
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

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

bool is_otp_version(std::string_view text) {
    // A release candidate (29.0-rc1), or a distributor's own build (EMQX's 26.2.5-3).
    if (const auto suffix = text.find('-'); suffix != std::string_view::npos) {
        auto number = text.substr(suffix + 1);
        if (number.starts_with("rc")) {
            number.remove_prefix(2);
        }
        if (number.empty() || number.find_first_not_of(kDigits) != std::string_view::npos) {
            return false;
        }
        text = text.substr(0, suffix);
    }
    while (!text.empty()) {
        const auto digits = std::min(text.find_first_not_of(kDigits), text.size());
        if (digits == 0) {
            return false;
        }
        text.remove_prefix(digits);
        if (text.empty()) {
            return true;
        }
        if (text.front() != '.') {
            return false;
        }
        text.remove_prefix(1);
    }
    return false;
}

std::string find_otp_version(const ImageSearch& search, std::string_view release) {
    std::string found;
    for (const auto& [address, text] : search.texts(fmt::format("{}.", release), kLongestText)) {
        if (!search.begins_text(address) || !is_otp_version(text) || text == found) {
            continue;
        }
        if (!found.empty()) {
            return {};
        }
        found = text;
    }
    return found;
}

Result<RuntimeVersion> find_version(target::Target& target, const Symbols& symbols,
                                    const ImageSearch& search) {
    const auto release = symbols.find("etp_otp_release");
    const auto version = symbols.find("etp_erts_version");
    const auto jit = symbols.find("etp_beamasm");
    const auto bits = symbols.find("etp_arch_bits");
    if (!release || !version || !jit || !bits) {
        ASSIGN_OR_RETURN(auto text, find_version_text(search));
        if (text.word_bits != kWordBits) {
            return wrong_width(text.word_bits);
        }
        return RuntimeVersion{text.otp_release,
                              find_otp_version(search, text.otp_release),
                              text.erts_version,
                              text.jit,
                              {{"erts_system_version", text.address, "text"}}};
    }
    auto release_text = text_at(target, "etp_otp_release", *release);
    auto version_text = text_at(target, "etp_erts_version", *version);
    auto jit_value = target.memory().value<std::int32_t>(jit->address);
    auto bits_value = target.memory().value<std::int32_t>(bits->address);
    for (const auto* failed :
         {release_text ? nullptr : &release_text.error(),
          version_text ? nullptr : &version_text.error(), jit_value ? nullptr : &jit_value.error(),
          bits_value ? nullptr : &bits_value.error()}) {
        if (failed != nullptr) {
            return wrap("reading the runtime's version", *failed);
        }
    }
    if (*bits_value != static_cast<std::int32_t>(kWordBits)) {
        return wrong_width(static_cast<std::uint64_t>(*bits_value));
    }
    RuntimeVersion result{
        *release_text, find_otp_version(search, *release_text), *version_text, *jit_value != 0, {}};
    const auto note = [&](std::string_view name, const target::Symbol& symbol) {
        result.found.push_back({std::string(name), symbol.address, std::string(symbol.table)});
    };
    note("etp_otp_release", *release);
    note("etp_erts_version", *version);
    note("etp_beamasm", *jit);
    note("etp_arch_bits", *bits);
    return result;
}

}  // namespace beamdump::beam
