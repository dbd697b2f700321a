#include <libvm/arch/aarch64/system_calls.h>
#include <libvm/arch/system_calls.h>
#include <libvm/arch/x86_64/system_calls.h>

namespace beamdump::arch {

bool waits_outside(Architecture architecture, std::int64_t system_call) {
    return architecture == Architecture::kX86_64 ? x86_64::waits_outside(system_call)
                                                 : aarch64::waits_outside(system_call);
}

bool is_restarted(Architecture architecture, std::int64_t system_call) {
    return architecture == Architecture::kX86_64 ? x86_64::is_restarted(system_call)
                                                 : aarch64::is_restarted(system_call);
}

}  // namespace beamdump::arch
