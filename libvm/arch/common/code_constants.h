#pragma once

#include <cstdint>
#include <functional>

namespace beamdump::arch {

/// What code does with a constant that it names.
enum class ConstantUse : std::uint8_t {
    kUnknown,
    kCodeIndex,  ///< it is where the active code index is, which code keeps in a register
};

using VisitConstant = std::function<void(std::uint64_t, ConstantUse)>;

}  // namespace beamdump::arch
