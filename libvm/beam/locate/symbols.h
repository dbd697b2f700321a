#pragma once

#include <libvm/target/target.h>

#include <optional>
#include <string_view>

namespace beamdump::beam {

/// Symbols of the runtime's globals, from the executable and from its debug file. Stripped
/// executables of OTP 25 to 28 have the global names in .dynsym, those of 29 have none.
class Symbols {
  public:
    /// `ignore`: as if there were no symbols.
    static Symbols of(const target::Target& target, bool ignore);

    /// Its table is "symtab", "dynsym" or "debug file".
    [[nodiscard]] std::optional<target::Symbol> find(std::string_view name) const;

  private:
    const target::ElfImage* image_ = nullptr;
    std::optional<target::ElfImage> debug_;
};

}  // namespace beamdump::beam
