#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/relatives.h>

#include <charconv>
#include <filesystem>
#include <vector>

namespace beamdump::target {
namespace {

constexpr int kGenerations = 4;
constexpr std::size_t kMaxAsked = 200;

}  // namespace

std::vector<pid_t> process_ids() {
    std::vector<pid_t> pids;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        const auto name = entry->path().filename().native();
        pid_t pid = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) {
            pids.push_back(pid);
        }
    }
    return pids;
}

Parents running_processes() {
    Parents parents;
    for (const auto pid : process_ids()) {
        if (const auto facts = process_facts(pid)) {
            parents.emplace(pid, facts->parent);
        }
    }
    return parents;
}

std::optional<Relative> find_relative(pid_t pid, const Parents& parents,
                                      const std::function<bool(pid_t)>& wanted) {
    std::size_t asked = 0;
    std::vector<pid_t> generation{pid};
    for (int down = 1; down <= kGenerations; ++down) {
        std::vector<pid_t> next;
        for (const auto parent : generation) {
            for (const auto& [child, its_parent] : parents) {
                if (its_parent != parent || asked == kMaxAsked) {
                    continue;
                }
                ++asked;
                if (wanted(child)) {
                    return Relative{child, down == 1 ? "child" : "descendant"};
                }
                next.push_back(child);
            }
        }
        generation = std::move(next);
    }
    auto ancestor = parents.find(pid);
    for (int up = 1; up <= kGenerations && ancestor != parents.end(); ++up) {
        if (wanted(ancestor->second)) {
            return Relative{ancestor->second, up == 1 ? "parent" : "ancestor"};
        }
        ancestor = parents.find(ancestor->second);
    }
    return std::nullopt;
}

}  // namespace beamdump::target
