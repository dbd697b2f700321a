#include <libvm/arch/aarch64/code_constants.h>
#include <libvm/arch/code_constants.h>

#include <cstring>

namespace beamdump::arch {
namespace {

constexpr std::uint64_t kNarrowEnd = std::uint64_t{1} << 32U;

template <typename T>
void each_at(std::span<const std::byte> code, std::uint64_t least, const VisitConstant& visit) {
    for (std::size_t at = 0; at + sizeof(T) <= code.size(); ++at) {
        T value{};
        std::memcpy(&value, code.data() + at, sizeof(value));
        if (value >= least) {
            visit(value, ConstantUse::kUnknown);
        }
    }
}

}  // namespace

void each_code_constant(Architecture architecture, std::span<const std::byte> code,
                        std::uint64_t least, const VisitConstant& visit) {
    switch (architecture) {
        case Architecture::kX86_64:
            each_at<std::uint64_t>(code, least, visit);
            if (least < kNarrowEnd) {
                each_at<std::uint32_t>(code, least, visit);
            }
            return;
        case Architecture::kAarch64:
            aarch64::each_code_constant(code, least, visit);
            return;
    }
}

}  // namespace beamdump::arch
