#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// An application that the node has loaded.
struct LoadedApplication {
    std::string name;                    ///< an atom, as Erlang prints it
    std::optional<std::string> version;  ///< its key vsn
};

/// The applications by the atoms of the modules that their resource files name.
struct ModuleApplications {
    std::vector<LoadedApplication> applications;
    std::map<std::uint32_t, std::size_t> by_module;  ///< the first one that names it

    [[nodiscard]] const LoadedApplication* of(std::uint32_t module_atom) const {
        const auto found = by_module.find(module_atom);
        return found == by_module.end() ? nullptr : &applications[found->second];
    }
};

/// From the rows of application_controller's table ac_tab (records appl and appl_data of
/// application_controller.erl and application_master.hrl, OTP 25 to 29). kNotFound where the dump
/// does not have them. Memory: some 100 bytes a module.
Result<ModuleApplications> module_applications(Dump& dump);

}  // namespace beamdump::query
