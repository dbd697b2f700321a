#pragma once

#include <libvm/beam/layout/layout.h>
#include <libvm/memory/block_cache.h>
#include <libvm/memory/held_sizes.h>
#include <libvm/memory/prefetched.h>
#include <libvm/target/target.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::beam {

using memory::Address;

inline constexpr std::size_t kCodeIndexes = 3;  ///< ERTS_NUM_CODE_IX (code_ix.h, OTP 16 to 29)

/// The address of a structure of the runtime, and how it was found.
struct Found {
    std::string name;
    Address address = 0;
    std::string how;  ///< see docs/capture.md, "How things are found"
};

/// Facts about the VM as a whole, from its etp_* constants or the text of its version, and from a
/// few globals.
struct VmFacts {
    std::string otp_release;
    std::string otp_version;  ///< "27.3.4.1"; empty: not known
    std::string erts_version;
    bool jit = false;
    Address literals_start = 0;
    std::uint64_t literals_bytes = 0;
    std::uint32_t active_code_index = 0;
    Address this_node = 0;
    std::uint64_t non_value = 0;
    std::uint32_t schedulers = 0;
    std::uint32_t dirty_cpu_schedulers = 0;
    std::uint32_t dirty_io_schedulers = 0;
};

/// Addresses of the tables that describe the node's memory; nothing where one was not found.
struct MemoryTables {
    std::optional<Address> allocators;          ///< erts_allctrs_info
    std::optional<Address> thread_allocators;   ///< erts_allctr_thr_spec
    std::optional<Address> segment_allocators;  ///< what aligned_mseg_allctr points to
    std::optional<Address> default_mapper;      ///< erts_dflt_mmapper
    std::optional<Address> literal_mapper;      ///< erts_literal_mmapper
    std::optional<Address> code_ranges;         ///< r[0] of beam_ranges.c
    std::optional<Address> code_bytes;          ///< erts_total_code_size
    std::optional<Address> ets_bytes;           ///< erts_ets_misc_mem_size
    std::vector<std::string> not_found;         ///< a sentence for each that a capture misses
};

/// Addresses of other optional tables; nothing where one was not found.
struct OtherTables {
    std::optional<Address> persistent_terms;  ///< the_hash_table of erl_bif_persistent.c
    std::optional<Address> distribution;      ///< erts_dist_table
    std::vector<std::string> not_found;       ///< a sentence for each that a capture misses
};

/// Addresses of the emulator's own state; nothing where one was not found.
struct EmulatorTables {
    std::optional<Address> thread_progress;     ///< erts_thr_prgr__
    std::optional<Address> staging_code_index;  ///< the_staging_code_index
    std::optional<Address> literal_area;        ///< erts_copy_literal_area__
    std::optional<Address> resource_types;      ///< resource_type_list: its head
    std::optional<Address> code_write_queue;    ///< these two of code_ix.c: up to OTP 26
    std::optional<Address> code_write_seized;
    std::optional<Address> code_modification;        ///< code_mod_permission: OTP 27 and 28
    std::optional<Address> code_staging;             ///< code_stage_permission: OTP 26 to 28
    std::optional<Address> persistent_term_updater;  ///< updater_process
    std::optional<Address> persistent_term_queue;    ///< update_queue
    std::optional<Address> trace_sessions;  ///< erts_trace_session_0, the first: from OTP 27 on
};

/// Addresses of the tables.
struct VmTables {
    Address processes = 0;          ///< erts_proc
    Address atoms = 0;              ///< erts_atom_table
    Address modules = 0;            ///< module_tables[0]; the other code indexes follow
    Address exports = 0;            ///< export_tables[0]
    Address funs = 0;               ///< erts_fun_table
    Address nodes = 0;              ///< erts_node_table
    Address registered = 0;         ///< process_reg
    Address ports = 0;              ///< erts_port
    Address catches = 0;            ///< bccix[0]
    Address active_code_index = 0;  ///< the_active_code_index
    MemoryTables memory;
    OtherTables other;
    EmulatorTables emulator;
    Address schedulers = 0;  ///< the normal schedulers' data; 0: not found
    Address dirty_cpu_schedulers = 0, dirty_io_schedulers = 0;  ///< the same of these
    std::vector<Found> code_points;  ///< beam_normal_exit and the like: code addresses, not tables
};

/// A VM: the target, the layout of its release, and the addresses of its tables, found by
/// locate_vm(). After a stop call refresh().
class Vm {
  public:
    Vm(std::unique_ptr<target::Target> target, Layout layout, const memory::HeldSizes& sizes = {});

    /// Sets the facts known so far; facts and tables are found one by one, each with the help of
    /// others.
    void know(VmFacts facts, VmTables tables, std::vector<Found> found);

    [[nodiscard]] target::Target& target() { return *target_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] const VmFacts& facts() const { return facts_; }
    [[nodiscard]] const VmTables& tables() const { return tables_; }
    [[nodiscard]] const std::vector<Found>& found() const { return found_; }
    /// How much is to be held at a time of what is read.
    [[nodiscard]] const memory::HeldSizes& sizes() const { return sizes_; }

    /// Cached memory, for following pointers; as old as the last refresh() or forget().
    [[nodiscard]] memory::MemorySource& memory() { return memory_; }
    /// Uncached memory, for bulk data; prefetched parts are used.
    [[nodiscard]] memory::MemorySource& bulk() { return bulk_; }
    /// Prefetched memory, used by memory() and bulk().
    [[nodiscard]] memory::Prefetched& prefetched() { return prefetched_; }
    /// Changes with each read through memory() or bulk() that is not of prefetched memory, and with
    /// each of the target.
    [[nodiscard]] std::uint64_t reads_beyond_prefetched() const {
        return memory_.misses() + bulk_.misses() + target_->memory().stats().reads;
    }
    /// Drops cached memory, so that later reads see the current contents.
    void forget();
    /// Drops cached memory, and reads together what was read after the last reread() and before a
    /// forget(). kTargetDied.
    Result<void> reread();

    /// Drops cached memory, and reads mappings and the active code index again.
    Result<void> refresh();

    /// Reads the active code index again.
    Result<void> refresh_code_index();

    /// Replaces the layout; the tables stay.
    void assume(Layout layout) { layout_ = std::move(layout); }

    /// Whether an address can be that of a structure: word-aligned, in readable memory.
    [[nodiscard]] bool plausible(Address address, std::uint64_t bytes) const;

  private:
    std::unique_ptr<target::Target> target_;
    Layout layout_;
    memory::HeldSizes sizes_;
    memory::BlockCache cache_;
    memory::Prefetched prefetched_;
    memory::PrefetchedMemory memory_;
    memory::PrefetchedMemory bulk_;
    VmFacts facts_;
    VmTables tables_;
    std::vector<Found> found_;
};

}  // namespace beamdump::beam
