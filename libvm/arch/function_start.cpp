#include <libvm/arch/aarch64/function_start.h>
#include <libvm/arch/function_start.h>
#include <libvm/arch/x86_64/function_start.h>

namespace beamdump::arch {

FunctionStarts function_starts(Architecture architecture) {
    switch (architecture) {
        case Architecture::kX86_64:
            return x86_64::function_starts();
        case Architecture::kAarch64:
            return aarch64::function_starts();
    }
    return {};
}

}  // namespace beamdump::arch
