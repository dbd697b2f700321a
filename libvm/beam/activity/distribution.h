#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/activity/process_list.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>

#include <functional>
#include <string>

namespace beamdump::beam {

/// Reads the node's table of other nodes (DistEntry, erl_node_tables.h; OTP 25 to 29): those it is
/// connected to, and those it was or that terms name.
class DistributionReader {
  public:
    /// kNotFound: the table's place is not known.
    static Result<DistributionReader> open(Vm& vm);

    struct Left {
        std::uint64_t unreadable = 0;  ///< nodes, or that changed each time that they were read
        std::uint64_t suspended = 0;   ///< nodes whose list of suspended processes was
        std::string why;               ///< the first of these was so
    };
    /// Hands over all nodes other than this one, in pages of at most `most`, the first of which may
    /// be empty. Each is read between two equal reads of its name, creation, state and controller;
    /// its list of suspended processes is one whose links lead back and whose first member is the
    /// same before and after; its counters are those of one moment. kImplausible if the table is
    /// inconsistent, e.g. because it changes meanwhile. Memory: one page, and 8 bytes a node.
    Result<Left> read(std::size_t most,
                      const std::function<Result<void>(records::DistributionEntries&)>& page);

  private:
    DistributionReader(Vm& vm, PidWords pids, AtomWords atoms, LayoutNames& names);
    Result<records::DistributionEntry> entry(Address address, Left& left);
    Result<void> controller(std::uint64_t word, records::DistributionEntry& entry) const;

    Vm* vm_;
    PidWords pids_;
    AtomWords atoms_;
    ProcessListReader lists_;
    TagScheme scheme_;
    Field name_, creation_, controller_, connection_, state_, flags_, queue_flags_, queued_, in_,
        out_, suspended_;
    std::uint32_t bytes_ = 0, own_name_ = 0;
    std::uint64_t nil_ = 0, port_tag_ = 0, is_busy_ = 0, is_published_ = 0;
    std::uint64_t idle_ = 0, pending_ = 0, connected_ = 0, exiting_ = 0;
};

}  // namespace beamdump::beam
