#pragma once

#include <libvm/target/process/threads.h>
#include <libvm/target/stop/thread_stop.h>

#include <chrono>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump::target {

/// Where the threads of a stop should come to stand.
struct Settling {
    /// Whether the state of the process that a thread runs is certain there. Called on the thread
    /// that stopped them.
    std::function<bool(const ThreadRegisters&)> certain;
    /// Where else a thread may stay in the last fifth of `longest`, since no part of that state is
    /// missing; empty: nowhere.
    std::function<bool(const ThreadRegisters&)> enough = {};
    /// Other threads, of those that are not in a system call, that should not stay where they are;
    /// empty: none.
    std::function<std::vector<pid_t>(std::span<const ThreadRegisters>)> restless = {};
    /// For a twin: whether what stands in the end is worth its fork; empty: always. Not asked where
    /// there is no time for another stop.
    std::function<bool(std::span<const ThreadRegisters>)> worth = {};
    /// How long uncertain ones are let run on and stopped again, in all.
    std::chrono::nanoseconds longest;
    /// How long `restless` ones are, counted from the same moment; at least `longest`.
    std::chrono::nanoseconds longest_restless = {};
};

/// Lets the schedulers among the stopped threads run on, each a few microseconds at a time and as
/// long as it is not where `certain` holds (in the end: or `enough`) nor in a system call, then
/// those that are `restless`, and stops them again. Gives the registers of all. Errors as
/// ThreadStop::stop().
Result<std::vector<ThreadRegisters>> settle(ThreadStop& stop, const Settling& settling);

/// Whether a thread of that name runs Erlang code: "1_scheduler" (OTP 25), "erts_sched_1" (from 26
/// on; erl_process.c). Dirty schedulers do not.
bool is_scheduler_name(std::string_view name);

}  // namespace beamdump::target
