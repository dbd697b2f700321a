#pragma once

#include "beam/vm/vm.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace beamdump::fit {

/// Finds a VM by a layout, from the start each time.
using Locate = std::function<Result<std::unique_ptr<beam::Vm>>(const beam::Layout&)>;

/// What a layout was made of that was made on the node itself.
struct Origin {
    std::vector<std::string> from;      ///< the layouts of other releases: "otp-27"
    std::vector<std::string> left_out;  ///< parts that no check could tell: nothing is read of them
};

struct Inferred {
    beam::Layout layout;
    Origin origin;
};

/// Makes a layout for a release from those of its nearest neighbours among `known`: of each part
/// that the two lay out differently, keeps what all checks on the node agree on; where neither
/// fits, moves members of a structure until exactly one arrangement does. docs/layouts.md says
/// more. kUnsupported: no layout of a neighbour, or the checks do not single one out; the error
/// names the structures in doubt. kIo: `cancelled` was set.
Result<Inferred> infer_layout(const std::string& release, const std::vector<beam::Layout>& known,
                              const Locate& locate, const std::atomic<bool>& cancelled);

}  // namespace beamdump::fit
