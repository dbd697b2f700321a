#include <libdump/crash/export/sections/internal_state.h>

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace beamdump::crash {

namespace {

constexpr std::array<std::string_view, 4> kPriorities = {"MAX", "HIGH", "NORMAL", "LOW"};
constexpr unsigned kPriorityBits = 2;
/// The flags follow three priority fields.
constexpr unsigned kFirstFlag = 3 * kPriorityBits;
constexpr unsigned kBits = 32;

constexpr std::array<std::string_view, 25> kFlags = {"IN_PRQ_MAX",
                                                     "IN_PRQ_HIGH",
                                                     "IN_PRQ_NORMAL",
                                                     "IN_PRQ_LOW",
                                                     "FREE",
                                                     "EXITING",
                                                     "MSG_SIG_IN_Q",
                                                     "ACTIVE",
                                                     "IN_RUNQ",
                                                     "RUNNING",
                                                     "SUSPENDED",
                                                     "GC",
                                                     "SYS_TASKS",
                                                     "NMSG_SIG_IN_Q",
                                                     "ACTIVE_SYS",
                                                     "RUNNING_SYS",
                                                     "PROXY",
                                                     "DELAYED_SYS",
                                                     "OFF_HEAP_MSGQ",
                                                     "SIG_Q",
                                                     "DIRTY_CPU_PROC",
                                                     "DIRTY_IO_PROC",
                                                     "DIRTY_ACTIVE_SYS",
                                                     "DIRTY_RUNNING",
                                                     "DIRTY_RUNNING_SYS"};
constexpr unsigned kSixthFlag = 6;
constexpr unsigned kThirteenthFlag = 13;

std::string flag_name(unsigned flag, bool otp25) {
    if (flag >= kFlags.size()) {
        return fmt::format("UNKNOWN({})", std::uint32_t{1} << (kFirstFlag + flag));
    }
    if (otp25 && flag == kSixthFlag) {
        return "MAYBE_SELF_SIGS";
    }
    if (otp25 && flag == kThirteenthFlag) {
        return "SIG_IN_Q";
    }
    return std::string(kFlags[flag]);
}

}  // namespace

std::string internal_state_text(std::uint32_t bits, format::TermScheme scheme) {
    const auto priority = [bits](unsigned which) {
        return kPriorities[(bits >> (which * kPriorityBits)) & 3U];
    };
    std::string text = fmt::format("ACT_PRIO_{} | USR_PRIO_{} | PRQ_PRIO_{}", priority(0),
                                   priority(1), priority(2));
    for (unsigned flag = 0; kFirstFlag + flag < kBits; ++flag) {
        if ((bits >> (kFirstFlag + flag) & 1U) != 0) {
            text += " | ";
            text += flag_name(flag, scheme == format::TermScheme::kOtp25);
        }
    }
    return text;
}

}  // namespace beamdump::crash
