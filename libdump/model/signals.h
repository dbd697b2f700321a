#pragma once

#include <libdump/format/format.h>

#include <records.pb.h>

#include <cstdint>
#include <string_view>

namespace beamdump {

/// What a signal that is no message is for, by its tag, in the VM's words: exit, monitor_down,
/// process_info, rpc... "unknown" for an operation that no release of OTP 24 to 29 has
/// (erl_proc_sig_queue.h, ERTS_SIG_Q_OP_*).
std::string_view signal_kind(std::uint64_t tag);

/// A system task's kind in the VM's words: check_process_code, major_gc...
std::string_view system_task_kind(records::SystemTaskKind kind);

}  // namespace beamdump
