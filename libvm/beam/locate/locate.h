#pragma once

#include <libvm/beam/vm/vm.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::beam {

/// How to locate a VM.
/// The sources of a layout that was inferred on a running node.
struct LayoutOrigin {
    std::vector<std::string> from;      ///< the layouts of other releases: "otp-27"
    std::vector<std::string> left_out;  ///< parts that no check could tell: nothing is read of them
};

struct InferredLayout {
    Layout layout;
    LayoutOrigin origin;
};

struct LocateOptions {
    std::optional<Layout> layout;  ///< use this one, whatever the release
    std::vector<Layout> layouts;   ///< to choose from instead of the built-in ones
    /// For releases without a layout: what was inferred on other nodes of them. Not locate_vm():
    /// fit::locate_checked() tries them.
    std::vector<InferredLayout> inferred;
    bool no_symbols = false;             ///< ignore the executable's symbols
    std::filesystem::path debug_folder;  ///< see Target::debug_folder()
    memory::HeldSizes sizes;             ///< of the VM
};

/// The layouts to choose from.
Result<std::vector<Layout>> known_layouts(const LocateOptions& options, Architecture architecture);

/// Finds the VM in a target: the layout of its release, and its tables. Stops nothing. kNoLayout:
/// no layout for the release. kImplausible: a table was not found or has several candidates, which
/// the error lists. The result is not verified: see check_steadily().
Result<std::unique_ptr<Vm>> locate_vm(std::unique_ptr<target::Target> target,
                                      const LocateOptions& options);

/// The OTP release of a target. Needs nothing else of it.
Result<std::string> find_release(target::Target& target, const LocateOptions& options);

}  // namespace beamdump::beam
