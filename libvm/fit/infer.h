#pragma once

#include <libvm/beam/locate/locate.h>
#include <libvm/beam/vm/vm.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace beamdump::fit {

/// Finds a VM by a layout, from the start each time.
using Locate = std::function<Result<std::unique_ptr<beam::Vm>>(const beam::Layout&)>;

/// Infers a layout for a release from those of its nearest neighbours among `known`. For each part
/// that the two lay out differently, keeps the one that passes all checks on the node; if neither
/// passes, moves members of a structure until exactly one arrangement does (docs/layouts.md).
/// kUnsupported: no neighbour has a layout, or several candidates pass; the error names the
/// ambiguous structures. kIo: `cancelled` was set.
Result<beam::InferredLayout> infer_layout(const std::string& release,
                                          const std::vector<beam::Layout>& known,
                                          const Locate& locate, const std::atomic<bool>& cancelled);

}  // namespace beamdump::fit
