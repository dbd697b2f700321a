#pragma once

/// What belongs to the architecture on which this program runs. The folder of an architecture holds
/// what is known of nodes there, which programs of each can use; below it, host/ holds what a
/// program does on it: reading registers by ptrace(2), the twin's injection, registers of samples.
#if defined(__x86_64__)
#include <libvm/arch/x86_64/host/abilities.h>
#include <libvm/arch/x86_64/host/older_calls.h>
#include <libvm/arch/x86_64/host/sampled_registers.h>
#include <libvm/arch/x86_64/host/signal_frame.h>
#elif defined(__aarch64__)
#include <libvm/arch/aarch64/host/abilities.h>
#include <libvm/arch/aarch64/host/older_calls.h>
#include <libvm/arch/aarch64/host/sampled_registers.h>
#include <libvm/arch/aarch64/host/signal_frame.h>
#else
#error "beamdump runs on x86-64 and aarch64"
#endif
