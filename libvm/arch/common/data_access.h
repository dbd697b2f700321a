#pragma once

#include <cstddef>
#include <cstdint>

namespace beamdump::arch {

/// What one instruction of compiled C code does with a variable whose address the code itself
/// tells, or a call of a function at a known address.
struct DataAccess {
    enum class Kind : std::uint8_t {
        kFirstArgument,    ///< the variable's address becomes a function's first argument
        kLoadWord,         ///< eight bytes
        kStoreWord,        ///< eight bytes, from a register
        kClearInt,         ///< four bytes become 0
        kCompareWithNull,  ///< eight bytes are compared with 0
        kCall,             ///< `address` is the function's
    };

    Kind kind = Kind::kLoadWord;
    std::size_t place = 0;      ///< of the instruction in the code
    std::uint64_t address = 0;  ///< of the variable or function

    [[nodiscard]] bool is(Kind wanted, std::uint64_t at) const {
        return kind == wanted && address == at;
    }
};

}  // namespace beamdump::arch
