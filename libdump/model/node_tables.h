#pragma once

#include <libdump/base/error.h>
#include <libdump/model/faults.h>
#include <libdump/read/dump_reader.h>
#include <libdump/term/term_context.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace beamdump {

/// The node's tables that terms and stacks refer to by address or index: exports, fun entries, node
/// entries, catches, shared code addresses. Each is loaded completely at its first use (a node has
/// tens of thousands of entries, not millions). Read errors go to Faults.
class NodeTables {
  public:
    /// Non-owning: both must outlive the tables.
    NodeTables(DumpReader& reader, Faults& faults);

    std::optional<FunctionName> export_at(std::uint64_t address);
    std::optional<FunInfo> fun_entry_at(std::uint64_t address);
    std::optional<NodeInfo> node_at(std::uint64_t address);
    std::optional<std::uint64_t> catch_address(std::uint32_t index);
    /// What the VM shows for a code address shared by all modules.
    std::optional<std::string> code_point_at(std::uint64_t address);

  private:
    template <typename Value>
    struct Table {
        bool loaded = false;
        std::unordered_map<std::uint64_t, Value> entries;
    };
    template <typename Value, typename Load>
    std::optional<Value> find(Table<Value>& table, std::uint64_t key, const Load& load);

    Result<void> load_exports();
    Result<void> load_fun_entries();
    Result<void> load_node_entries();
    /// A name has one entry a creation, but one channel (external_channel_no(),
    /// erl_node_container_utils.h, OTP 25.2.3).
    void mark_other_creations_of_self();
    Result<void> load_catches();
    Result<void> load_code_points();

    DumpReader& reader_;
    Faults& faults_;
    Table<FunctionName> exports_;
    Table<FunInfo> fun_entries_;
    Table<NodeInfo> node_entries_;
    Table<std::uint64_t> catches_;
    Table<std::string> code_points_;
};

}  // namespace beamdump
