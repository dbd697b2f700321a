#include <libdump/format/owner_id.h>

#include <fmt/format.h>

namespace beamdump {

std::string pid_text(std::uint64_t owner_id) {
    return pid_text("0", owner_id);
}

std::string pid_text(std::string_view channel, std::uint64_t owner_id) {
    return fmt::format("<{}.{}.{}>", channel, owner_id & 0xFFFFFFFFU, owner_id >> 32U);
}

}  // namespace beamdump
