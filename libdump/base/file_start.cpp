#include <libdump/base/file_start.h>

namespace beamdump {

std::string_view packed_in(std::string_view start) {
    // The magic of POSIX's header, which GNU tar writes too.
    constexpr std::string_view kTarMagic = "ustar";
    constexpr std::size_t kTarMagicOffset = 257;
    if (start.size() > kTarMagicOffset && start.substr(kTarMagicOffset).starts_with(kTarMagic)) {
        return "is a tar archive; take the dump out of it first (tar -xf)";
    }
    if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) {
        return "is a text in UTF-16; convert it first (iconv -f UTF-16 -t UTF-8)";
    }
    return {};
}

}  // namespace beamdump
