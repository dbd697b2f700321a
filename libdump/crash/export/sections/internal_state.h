#pragma once

#include <libdump/format/format.h>

#include <cstdint>
#include <string>

namespace beamdump::crash {

/// A process's state bits as the VM names them in "Internal State" (erl_process_dump.c,
/// erts_dump_extended_process_state(), and erl_process.h, ERTS_PSFLG_*; OTP 25.2.3, 27.3.4 and
/// 29.1.1).
std::string internal_state_text(std::uint32_t bits, format::TermScheme scheme);

}  // namespace beamdump::crash
