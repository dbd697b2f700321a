#include <libdump/format/process_flags.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace beamdump {

namespace {

constexpr ErtsVersion kFirst;
constexpr ErtsVersion kLast = {{99}};
/// The last of OTP 25, 26, 27 and 28.
constexpr ErtsVersion kEnd25 = {{13, 99}}, kEnd26 = {{14, 99}}, kEnd27 = {{15, 99}},
                      kEnd28 = {{16, 99}};
/// The last versions of OTP 25 and 26 before OTP-18737 (25.3.2.5 and 26.0.2).
constexpr ErtsVersion kBefore18737In25 = {{13, 2, 2, 2}}, kBefore18737In26 = {{14, 0, 99}};

/// A bit's name in some versions, between two releases or two patches.
struct FlagName {
    unsigned bit;
    std::string_view name;
    ErtsVersion after = kFirst;  ///< not this one
    ErtsVersion last = kLast;
};

constexpr auto kState = std::to_array<FlagName>({
    {6, "IN_PRQ_MAX"},
    {7, "IN_PRQ_HIGH"},
    {8, "IN_PRQ_NORMAL"},
    {9, "IN_PRQ_LOW"},
    {10, "FREE"},
    {11, "EXITING"},
    {12, "MAYBE_SELF_SIGS", kFirst, kBefore18737In25},
    {12, "MSG_SIG_IN_Q", kBefore18737In25, kEnd25},
    {12, "MAYBE_SELF_SIGS", kEnd25, kBefore18737In26},
    {12, "MSG_SIG_IN_Q", kBefore18737In26},
    {13, "ACTIVE"},
    {14, "IN_RUNQ"},
    {15, "RUNNING"},
    {16, "SUSPENDED"},
    {17, "GC"},
    {18, "SYS_TASKS"},
    {19, "SIG_IN_Q", kFirst, kBefore18737In25},
    {19, "NMSG_SIG_IN_Q", kBefore18737In25, kEnd25},
    {19, "SIG_IN_Q", kEnd25, kBefore18737In26},
    {19, "NMSG_SIG_IN_Q", kBefore18737In26},
    {20, "ACTIVE_SYS"},
    {21, "RUNNING_SYS"},
    {22, "PROXY"},
    {23, "DELAYED_SYS"},
    {24, "OFF_HEAP_MSGQ"},
    {25, "SIG_Q"},
    {26, "DIRTY_CPU_PROC"},
    {27, "DIRTY_IO_PROC"},
    {28, "DIRTY_ACTIVE_SYS"},
    {29, "DIRTY_RUNNING"},
    {30, "DIRTY_RUNNING_SYS"},
});

constexpr auto kProcess = std::to_array<FlagName>({
    {0, "HIBERNATE_SCHED"},     {1, "INSLPQUEUE"},        {2, "TIMO"},
    {3, "HEAP_GROW"},           {4, "NEED_FULLSWEEP"},    {5, "USING_DB"},
    {6, "DISTRIBUTION"},        {7, "USING_DDLL"},        {8, "HAVE_BLCKD_MSCHED"},
    {9, "ETS_SUPER_USER"},      {10, "FORCE_GC"},         {11, "DISABLE_GC"},
    {12, "ABANDONED_HEAP_USE"}, {13, "DELAY_GC"},         {14, "SCHDLR_ONLN_WAITQ"},
    {15, "HAVE_BLCKD_NMSCHED"}, {16, "DELAYED_DEL_PROC"}, {17, "DIRTY_CLA"},
    {18, "DIRTY_GC_HIBERNATE"}, {19, "DIRTY_MAJOR_GC"},   {20, "DIRTY_MINOR_GC"},
    {21, "HIBERNATED"},         {22, "TRAP_EXIT"},        {23, "FRAGMENTED_SEND"},
    {24, "DBG_FORCED_TRAP"},    {25, "DIRTY_CHECK_CLA"},  {26, "ASYNC_DIST"},
});

constexpr auto kSignalQueue = std::to_array<FlagName>({
    {0, "OFF_HEAP_MSGQ"},
    {1, "ON_HEAP_MSGQ"},
    {2, "OFF_HEAP_MSGQ_CHNG"},
    {4, "HANDLING_SIGS"},
    {5, "WAIT_HANDLE_SIGS"},
    {6, "DELAYED_PSIGQS_LEN", kFirst, kEnd26},
    {7, "FLUSHING_SIGS"},
    {8, "FLUSHED_SIGS"},
    {9, "NON_FETCH_CNT1", kBefore18737In25, kEnd25},
    {9, "NON_FETCH_CNT1", kBefore18737In26},
    {10, "NON_FETCH_CNT2", kBefore18737In25, kEnd25},
    {10, "NON_FETCH_CNT2", kBefore18737In26},
    {11, "NON_FETCH_CNT4", kBefore18737In25, kEnd25},
    {11, "NON_FETCH_CNT4", kBefore18737In26},
    {12, "MON_MSGQ_LEN", kEnd26, kEnd27},
    {13, "MON_MSGQ_LEN_LONG", kEnd26, kEnd27},
    {12, "MON_MSGQ_LEN_HIGH", kEnd28},
    {13, "MON_MSGQ_LEN_LOW", kEnd28},
    {16, "PRIO_MQ_SAVE", kEnd28},
    {17, "PRIO_MQ", kEnd28},
    {18, "PRIO_MQ_END_MARK", kEnd28},
});

// ERTS_TRACE_TS_TYPE_BITS (erl_trace.h) of them are before those of erl_process.h.
constexpr auto kTraceFlags = std::to_array<FlagName>({
    {0, "timestamp"},
    {1, "strict_monotonic_timestamp"},
    {2, "monotonic_timestamp"},
    {3, "sensitive"},
    {4, "send"},
    {5, "receive"},
    {6, "set_on_spawn"},
    {7, "set_on_first_spawn"},
    {8, "set_on_link"},
    {9, "set_on_first_link"},
    {10, "call"},
    {11, "procs"},
    {12, "first_child"},
    {13, "running"},
    {14, "garbage_collection"},
    {15, "arity"},
    {16, "return_to"},
    {17, "silent"},
    {18, "exception_trace", kFirst, kEnd26},
    {20, "running_ports"},
    {21, "running_procs"},
    {22, "ports"},
    {23, "scheduler_id"},
    {24, "exiting"},
});

constexpr auto kAuxWork = std::to_array<FlagName>({
    {0, "DELAYED_AW_WAKEUP"},
    {1, "DD"},
    {2, "DD_THR_PRGR"},
    {3, "FIX_ALLOC_DEALLOC"},
    {4, "FIX_ALLOC_LOWER_LIM"},
    {5, "THR_PRGR_LATER_OP"},
    {6, "CNCLD_TMRS"},
    {7, "CNCLD_TMRS_THR_PRGR"},
    {8, "ASYNC_READY"},
    {9, "ASYNC_READY_CLEAN"},
    {10, "MISC_THR_PRGR"},
    {11, "MISC"},
    {12, "SET_TMO"},
    {13, "MSEG_CACHE_CHECK"},
    {14, "YIELD"},
    {15, "REAP_PORTS"},
    {16, "DEBUG_WAIT_COMPLETED"},
});

// Without those that tell whether a counter counts (3, 6 and 9).
constexpr auto kBreakpoint = std::to_array<FlagName>({
    {0, "local"},
    {1, "meta"},
    {2, "call_count"},
    {4, "debugger"},
    {5, "call_time"},
    {7, "global"},
    {8, "call_memory"},
});

std::span<const FlagName> names_of(FlagWord word) {
    switch (word) {
        case FlagWord::kState:
            return kState;
        case FlagWord::kProcess:
            return kProcess;
        case FlagWord::kTrace:
            return kTraceFlags;
        case FlagWord::kAuxWork:
            return kAuxWork;
        case FlagWord::kBreakpoint:
            return kBreakpoint;
        default:
            return kSignalQueue;
    }
}

constexpr std::array<std::string_view, 4> kPriorities = {"MAX", "HIGH", "NORMAL", "LOW"};
constexpr std::array<std::string_view, 3> kPriorityNames = {"ACT_PRIO_", "USR_PRIO_", "PRQ_PRIO_"};

std::optional<std::uint32_t> bit_of_name(std::span<const FlagName> names, std::string_view name) {
    const auto flag = std::ranges::find(names, name, &FlagName::name);
    return flag == names.end() ? std::nullopt : std::optional(std::uint32_t{1} << flag->bit);
}

/// The bits of a text of names; `bits_of`: those that one name stands for.
template <typename Bits>
std::optional<std::uint32_t> bits_of_text(std::string_view text, const Bits& bits_of) {
    std::uint32_t bits = 0;
    while (!text.empty()) {
        const auto end = text.find(kBetweenFlags);
        const std::optional<std::uint32_t> named = bits_of(text.substr(0, end));
        if (!named) {
            return std::nullopt;
        }
        bits |= *named;
        text.remove_prefix(end == std::string_view::npos ? text.size()
                                                         : end + kBetweenFlags.size());
    }
    return bits;
}

/// The bits of a process's state that one name stands for.
std::optional<std::uint32_t> bits_of_state(std::string_view name) {
    for (unsigned which = 0; which < kPriorityNames.size(); ++which) {
        if (!name.starts_with(kPriorityNames[which])) {
            continue;
        }
        const auto* const level =
            std::ranges::find(kPriorities, name.substr(kPriorityNames[which].size()));
        return level == kPriorities.end()
                   ? std::nullopt
                   : std::optional(static_cast<std::uint32_t>(level - kPriorities.begin())
                                   << (which * kStatePriorityBits));
    }
    return bit_of_name(kState, name);
}

}  // namespace

std::optional<std::string_view> flag_name(FlagWord word, unsigned bit, ErtsVersion version) {
    for (const FlagName& flag : names_of(word)) {
        const bool everywhere = flag.after == kFirst && flag.last == kLast;
        const bool there = flag.after < version && version <= flag.last;
        if (flag.bit == bit && (everywhere || there)) {
            return flag.name;
        }
    }
    return std::nullopt;
}

std::string flag_names(FlagWord word, std::uint64_t bits, ErtsVersion version) {
    constexpr unsigned kBits = 64;
    std::string text;
    for (unsigned bit = word == FlagWord::kState ? kFirstStateFlag : 0; bit < kBits; ++bit) {
        if ((bits >> bit & 1U) == 0) {
            continue;
        }
        if (!text.empty()) {
            text += kBetweenFlags;
        }
        if (const auto name = flag_name(word, bit, version)) {
            text += *name;
        } else {
            text += fmt::format("BIT_{}", bit);
        }
    }
    return text;
}

std::optional<std::uint32_t> state_bits_of_text(std::string_view text) {
    return bits_of_text(text, bits_of_state);
}

std::optional<std::uint32_t> aux_work_of_text(std::string_view text) {
    return bits_of_text(text, [](std::string_view name) { return bit_of_name(kAuxWork, name); });
}

}  // namespace beamdump
