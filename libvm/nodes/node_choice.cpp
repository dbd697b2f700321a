#include <libdump/base/decimal.h>
#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libvm/nodes/node_choice.h>
#include <libvm/nodes/running_nodes.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fnmatch.h>

namespace beamdump::nodes {
namespace {

constexpr std::size_t kMaxListed = 20;
constexpr std::uint64_t kMaxPid = 4'194'304;  // PID_MAX_LIMIT, Linux' include/linux/threads.h

bool fits(const std::string& name, std::string_view wanted) {
    const auto host = name.find('@');
    return name == wanted ||
           (!wanted.contains('@') && name.substr(0, host) == wanted && name != kNoName);
}

std::string described(const RunningNode& node) {
    if (!node.name) {
        return fmt::format("{} (its name cannot be read: {})", node.pid, node.name.error().message);
    }
    return fmt::format("{} ({})", node.pid, *node.name == kNoName ? "without a name" : *node.name);
}

std::string list(const std::vector<RunningNode>& nodes) {
    std::vector<std::string> texts;
    for (const auto& node : nodes) {
        if (texts.size() == kMaxListed) {
            texts.push_back(fmt::format("{} more", nodes.size() - kMaxListed));
            break;
        }
        texts.push_back(described(node));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::unexpected<Error> none_fits(std::string_view wanted, const std::vector<RunningNode>& nodes) {
    Nearest nearest(wanted);
    for (const auto& node : nodes) {
        if (node.name) {
            nearest.add(*node.name);
            nearest.add(node.name->substr(0, node.name->find('@')));
        }
    }
    const auto suggestion = nearest.best().empty()
                                ? std::string("; running")
                                : fmt::format("; did you mean {}? Running", nearest.best());
    return fail(ErrorCode::kUsage,
                fmt::format("no node is named {}{} here: {}", wanted, suggestion, list(nodes)));
}

}  // namespace

Result<pid_t> choose_node(std::string_view wanted, const std::vector<pid_t>& vms,
                          const NameOf& name_of) {
    if (vms.empty()) {
        return fail(ErrorCode::kNotABeam, "no Erlang VM (beam.smp) runs on this machine");
    }
    if (wanted.empty() && vms.size() == 1) {
        return vms.front();
    }
    std::vector<RunningNode> nodes;
    for (const auto pid : vms) {
        nodes.push_back({pid, name_of(pid)});
    }
    if (wanted.empty()) {
        return fail(ErrorCode::kUsage, fmt::format("{} nodes run here; give the pid or the name of "
                                                   "one: {}",
                                                   nodes.size(), list(nodes)));
    }
    std::vector<RunningNode> fitting;
    std::ranges::copy_if(nodes, std::back_inserter(fitting), [&](const RunningNode& node) {
        return node.name && fits(*node.name, wanted);
    });
    if (fitting.size() > 1) {
        return fail(ErrorCode::kUsage,
                    fmt::format("{} nodes are named {}; give the pid or the full name of one: {}",
                                fitting.size(), wanted, list(fitting)));
    }
    return fitting.empty() ? Result<pid_t>(none_fits(wanted, nodes)) : fitting.front().pid;
}

Result<pid_t> find_node(std::string_view wanted, const beam::LocateOptions& how) {
    ASSIGN_OR_RETURN(const auto vms, running_vms());
    return choose_node(wanted, vms, [&](pid_t pid) { return node_name(pid, how); });
}

bool is_pattern(std::string_view text) {
    return text.find_first_of("*?") != std::string_view::npos;
}

bool means_node(const std::string& wanted, const std::string& name, pid_t pid) {
    if (const auto number = pid_of(wanted)) {
        return *number == pid;
    }
    const auto matches = [&wanted](const std::string& text) {
        return ::fnmatch(wanted.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
    };
    const bool without_host = wanted.find('@') == std::string::npos;
    return without_host ? name != kNoName && matches(name.substr(0, name.find('@')))
                        : matches(name);
}

std::optional<pid_t> pid_of(std::string_view text) {
    const auto number = decimal_number(text);
    return number && *number >= 1 && *number <= kMaxPid ? std::optional(static_cast<pid_t>(*number))
                                                        : std::nullopt;
}

std::string node_text_error(const std::string& text) {
    static constexpr std::string_view kDigits = "0123456789";
    const bool number =
        text.starts_with('-') || text.find_first_not_of(kDigits) == std::string::npos;
    return number && !pid_of(text) ? fmt::format("\"{}\" is not a process id", text)
                                   : std::string();
}

}  // namespace beamdump::nodes
