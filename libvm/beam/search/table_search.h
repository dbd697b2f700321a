#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/search/jit_list.h>
#include <libvm/beam/vm/vm.h>

#include <initializer_list>
#include <string_view>

namespace beamdump::beam {

/// A hash table of the runtime by the name that it points to (hash.h). kImplausible: none or
/// several.
Result<Address> find_hash(const Vm& vm, const ImageSearch& search, std::string_view what,
                          std::string_view name);

/// An index table by its hash table's name (index.h).
Result<Address> find_index_table(const Vm& vm, const ImageSearch& search, std::string_view what,
                                 std::string_view name);

/// The first of three index tables in a row, one for each code index, by one of the names that
/// releases give them.
Result<Address> find_staged_tables(const Vm& vm, const ImageSearch& search, std::string_view what,
                                   std::initializer_list<std::string_view> names);

/// erts_proc and erts_port.
struct IdTables {
    Address processes = 0;
    Address ports = 0;
};

/// Finds the tables of processes and of ports (ErtsPTab, erl_ptab.h): a power of two of slots, its
/// mask and a mapped array of them; an element for reserved slots, whose identifier has the tag of
/// the table's kind; members with identifiers of that kind, which for processes match their slots.
Result<IdTables> find_id_tables(Vm& vm, const ImageSearch& search);

/// Finds bccix (beam_catches.c), the catch tables of the three code indexes, by their shape and by
/// the code that their first entries point to.
Result<Address> find_catch_pools(Vm& vm, const ImageSearch& search);

/// Finds the_active_code_index (code_ix.c): the JIT's shared code loads it from a fixed address; it
/// is 0 to 2, and the neighbouring the_staging_code_index is the next index.
Result<Address> find_active_code_index(Vm& vm, const ImageSearch& search, const JitSelf& jit);

/// Finds erts_this_node (erl_node_tables.c): the one word in the runtime's data that points to a
/// member of the node table. The table must be known.
Result<Address> find_this_node(Vm& vm, const ImageSearch& search);

/// erts_literals_start and erts_literals_size (erl_mmap.c): the range that all literals lie in.
struct LiteralRange {
    Address start_at = 0;  ///< of the word that holds the start
    Address bytes_at = 0;
    Address start = 0;
    std::uint64_t bytes = 0;
};

/// Finds two adjacent words in the runtime's data, an address and a size in whole pages, whose
/// range contains the literal areas of all loaded modules, and whose start and end are words of the
/// data too, as erts_literal_mmapper has both. Modules must be known.
Result<LiteralRange> find_literals(Vm& vm, const ImageSearch& search);

/// Addresses and counts of the schedulers' data.
struct SchedulerArray {
    Address address = 0;
    std::uint32_t count = 0;
};

struct SchedulerArrays {
    SchedulerArray normal;
    SchedulerArray dirty_cpu;
    SchedulerArray dirty_io;
};

/// Finds erts_aligned_scheduler_data and its two dirty counterparts (erl_process.c) through the
/// words of the runtime's data that point to them: arrays whose members number themselves, contain
/// their kind, and whose run queues point back to them.
Result<SchedulerArrays> find_scheduler_arrays(Vm& vm, const ImageSearch& search);

/// The kinds of schedulers (erl_process.h, ErtsSchedType).
enum class SchedulerKind : std::uint8_t { kNormal, kDirtyCpu, kDirtyIo };

/// kImplausible if the array does not have as many members, each of which numbers itself.
Result<void> check_scheduler_array(Vm& vm, std::string_view name, const SchedulerArray& array,
                                   SchedulerKind kind);

/// the_hash_table (erl_bif_persistent.c): the word that points to the table of persistent terms, a
/// power of two of slots, its mask, and as many pairs among the literals as it counts; one more or
/// less while one is being put or erased. A second such word is an argument of the last update: it
/// stands behind the function to be called. Literals must be known.
Result<Address> find_persistent_terms(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
