#pragma once

#include "query/processes/process_groups.h"

#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// The group of each process, where it is not in the index: from dictionaries, or group leaders.
class GroupNames {
  public:
    static Result<GroupNames> read(Dump& dump, const GroupsOptions& options);
    /// Whether no process has a name.
    [[nodiscard]] bool empty() const { return by_owner_.empty(); }

    /// Null: none, or none that is known.
    [[nodiscard]] const std::string* of(std::uint64_t owner_id) const;
    [[nodiscard]] const ProcessesRead& counts() const { return counts_; }

  private:
    void add(std::uint64_t owner_id, const std::string& name);

    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<const std::string*> names_;  ///< keys of numbers_, by number
    std::unordered_map<std::uint64_t, std::uint32_t> by_owner_;
    ProcessesRead counts_;
};

/// Terms of a process's dictionary by keys that are atoms.
struct AncestorWords {
    std::optional<std::uint64_t> ancestors;  ///< '$ancestors'
    std::optional<std::uint64_t> label;      ///< '$process_label'
};

/// Reads a process's dictionary for these keys. Atoms by index; nothing: the node has no such atom.
class AncestorReader {
  public:
    static Result<AncestorReader> make(Dump& dump);

    Result<AncestorWords> read(OpenedProcess& process) const;
    /// The elements of '$ancestors', nearest first, at most kMaxAncestors: pids or names.
    static std::vector<std::uint64_t> elements(OpenedProcess& process, std::uint64_t list);

    static constexpr std::size_t kMaxAncestors = 1000;

  private:
    std::optional<std::uint32_t> ancestors_;
    std::optional<std::uint32_t> label_;
};

}  // namespace beamdump::query
