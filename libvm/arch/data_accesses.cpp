#include <libvm/arch/data_accesses.h>
#include <libvm/arch/x86_64/data_accesses.h>

namespace beamdump::arch {

std::vector<DataAccess> data_accesses(Architecture architecture, std::span<const std::byte> code,
                                      std::uint64_t begin) {
    switch (architecture) {
        case Architecture::kX86_64:
            return x86_64::data_accesses(code, begin);
        case Architecture::kAarch64:
            break;
    }
    return {};
}

}  // namespace beamdump::arch
