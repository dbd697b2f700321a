#include <libdump/format/owner_id.h>

#include <fmt/format.h>

namespace beamdump {

std::string pid_text(std::uint64_t owner_id) {
    return pid_text("0", owner_id);
}

std::string pid_text(std::string_view channel, std::uint64_t owner_id) {
    return fmt::format("<{}.{}.{}>", channel, owner_id & 0xFFFFFFFFU, owner_id >> 32U);
}

std::string pids_text(std::span<const std::uint64_t> owner_ids) {
    std::string text;
    for (const auto owner_id : owner_ids) {
        text += (text.empty() ? "" : " ") + pid_text(owner_id);
    }
    return text;
}

std::string port_text(std::uint64_t number) {
    return fmt::format("#Port<0.{}>", number);
}

}  // namespace beamdump
