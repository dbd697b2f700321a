#include "readings/node_id.h"

#include <libvm/target/process/cgroups.h>
#include <libvm/target/process/kept_files.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace beamdump::watch {
namespace {

/// As container engines shorten their ids.
constexpr std::size_t kShortId = 12;

}  // namespace

std::string NodeId::text() const {
    return container.empty() ? name : fmt::format("{} in container {}", name, container);
}

std::string NodeId::key() const {
    return container.empty()
               ? name
               : fmt::format(
                     "{}_{}", name,
                     std::filesystem::path(container).filename().string().substr(0, kShortId));
}

std::string container_of(pid_t pid) {
    const auto space_of = [](const std::string& process) {
        std::error_code error;
        const auto link = std::filesystem::read_symlink("/proc/" + process + "/ns/pid", error);
        return error ? std::filesystem::path() : link;
    };
    const auto space = space_of(std::to_string(pid));
    if (space.empty() || space == space_of("self")) {
        return {};
    }
    const auto memberships = target::parse_cgroup_memberships(
        target::read_text(fmt::format("/proc/{}/cgroup", pid)).value_or(""));
    const auto of_memory = std::ranges::find_if(memberships, [](const auto& membership) {
        return std::ranges::find(membership.controllers, "memory") != membership.controllers.end();
    });
    const auto found = of_memory != memberships.end()
                           ? of_memory
                           : std::ranges::find_if(memberships, [](const auto& membership) {
                                 return membership.controllers.empty();
                             });
    return found == memberships.end() ? std::string() : found->path;
}

}  // namespace beamdump::watch
