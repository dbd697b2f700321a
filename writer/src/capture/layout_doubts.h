#pragma once

#include <libvm/beam/layout/layout.h>

#include <optional>
#include <string>
#include <vector>

namespace beamdump::capture {

/// What is not known for certain of a layout that was not made for the node's release; nothing,
/// where it was.
struct LayoutDoubts {
    std::vector<std::string> unverified_fields;  ///< "Process.reds": no check can see them
    std::vector<std::string> inferred_from;      ///< "otp-27"
    std::vector<std::string> left_out;           ///< parts of which nothing is read

    /// The same in words, if there is anything to say.
    [[nodiscard]] std::optional<std::string> sentence(const std::string& release,
                                                      const beam::Layout& layout) const;
};

}  // namespace beamdump::capture
