#pragma once

#include <libdump/base/error.h>

#include <optional>
#include <utility>

namespace beamdump {

/// Keeps the first failure to read the dump itself (a bad checksum, a read error), for lookups that
/// return only a value or "not in this dump". Code that presents answers must check it at the end:
/// an answer from a damaged file is not an answer.
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
