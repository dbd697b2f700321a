#pragma once

#include <libdump/base/error.h>

#include <optional>
#include <utility>

namespace beamdump {

/// Remembers the first failure to read the dump itself (a bad checksum, a read error), for lookups
/// whose own answer is only "here it is" or "not in this dump". Code that presents answers looks
/// here at the end: an answer made from a damaged file must not pass for one.
class Faults {
  public:
    /// Keeps the first error. kAbsent and kUnmapped are answers, not faults, and are ignored.
    void note(const Error& error) {
        if (error.code != ErrorCode::kAbsent && error.code != ErrorCode::kUnmapped && !first_) {
            first_ = error;
        }
    }

    [[nodiscard]] const std::optional<Error>& first() const { return first_; }

  private:
    std::optional<Error> first_;
};

}  // namespace beamdump
