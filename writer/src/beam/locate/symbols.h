#pragma once

#include "target/target.h"

#include <optional>
#include <string_view>

namespace beamdump::beam {

/// What the names of the runtime's globals lead to: its executable's own symbol tables, and those
/// of its debug file. Stripped executables of OTP 25 to 28 have the global names in .dynsym, those
/// of 29 none of them.
class Symbols {
  public:
    /// `ignore`: nothing has a name.
    static Symbols of(const target::Target& target, bool ignore);

    /// Its table is "symtab", "dynsym" or "debug file".
    [[nodiscard]] std::optional<target::Symbol> find(std::string_view name) const;

  private:
    const target::ElfImage* image_ = nullptr;
    std::optional<target::ElfImage> debug_;
};

}  // namespace beamdump::beam
