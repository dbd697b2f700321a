#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/model/atom_table.h>
#include <libdump/model/faults.h>
#include <libdump/model/recent_cache.h>
#include <libdump/model/region_map.h>
#include <libdump/read/dump_reader.h>
#include <libdump/term/term_context.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump {

/// Looks up module instance, function and source line of code addresses. The modules' ranges are
/// loaded at the first query, a module's functions and lines at the first query inside it.
class CodeIndex {
  public:
    /// Non-owning: all must outlive the index. `literals` gives the modules' file name strings.
    /// `word_bytes`: of the node.
    CodeIndex(DumpReader& reader, Faults& faults, AtomTable& atoms, RegionMap& literals,
              format::TermScheme scheme, std::uint64_t word_bytes);

    /// nullopt if no module in the dump has the address.
    std::optional<CodeLocation> at(std::uint64_t address);

    /// A loaded module instance.
    struct Instance {
        std::uint32_t name_atom = 0;
        records::ModuleInstance instance = records::MODULE_INSTANCE_UNKNOWN;
        std::uint64_t code_start = 0;
        std::uint64_t code_end = 0;
        std::uint64_t offset = 0;  ///< of its Module record
    };
    /// All instances by code address.
    Result<const std::vector<Instance>*> instances();

  private:
    struct Columns {
        records::Module module;
        std::vector<std::uint64_t> function_start;
        std::vector<std::uint32_t> function_name;
        std::vector<std::uint32_t> function_arity;
        std::vector<std::uint64_t> line_address;
        std::vector<std::uint32_t> line_location;
    };
    Result<void> load_instances();
    Result<std::optional<CodeLocation>> look_up(std::uint64_t address);
    Result<std::shared_ptr<const Columns>> columns(const Instance& instance);
    Result<Columns> read_columns(const Instance& instance);
    void add_line(const Columns& columns, std::uint64_t address, CodeLocation& location);
    std::optional<std::string> file_name(const records::Module& module, std::uint32_t file);

    DumpReader& reader_;
    Faults& faults_;
    AtomTable& atoms_;
    RegionMap& literals_;
    format::TermScheme scheme_;
    std::uint64_t word_bytes_;
    bool loaded_ = false;
    std::vector<Instance> instances_;
    RecentCache<std::uint64_t, Columns> columns_;
    RecentCache<std::uint64_t, CodeLocation> locations_;
};

}  // namespace beamdump
