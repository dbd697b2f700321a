#include <libdump/format/erts_version.h>

#include <charconv>

namespace beamdump {

ErtsVersion erts_version(std::string_view text) {
    ErtsVersion version;
    for (auto& part : version.parts) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
        if (error != std::errc()) {
            break;
        }
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.starts_with('.')) {
            break;
        }
        text.remove_prefix(1);
    }
    return version;
}

}  // namespace beamdump
