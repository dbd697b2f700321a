#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/activity/process_list.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>

#include <functional>
#include <map>
#include <string>

namespace beamdump::beam {

/// Reads the node's ports (erl_port.h).
class PortReader {
  public:
    static Result<PortReader> open(Vm& vm);

    /// What was left out.
    struct Left {
        std::uint64_t unreadable = 0;  ///< ports, or that changed each time that they were read
        std::uint64_t suspended = 0;   ///< ports whose list of suspended processes was
        std::string why = {};          ///< the first list was so
        std::uint64_t queues = 0;      ///< ports whose queue was, or had too many entries
        std::string why_queue = {};    ///< the first queue was so
    };
    /// Hands over all ports that are open, in pages of at most `most`. One that closes meanwhile is
    /// passed over. Each is read between two equal reads of its id, name and driver; its counters
    /// are those of one moment; its list of suspended processes is as ProcessListReader reads it.
    /// Binaries of its queue are told if the queue's vectors were the same before and after, and
    /// add up to its bytes; at most kMostQueueEntries of a queue are read.
    /// Memory: one page, and one queue.
    Result<Left> read(std::size_t most, const std::function<Result<void>(records::Ports&)>& page);

    static constexpr std::uint64_t kMostQueueEntries = 65'536;
    static constexpr int kMostQueueAddresses = 4'096;  ///< of a port that are handed over

  private:
    PortReader(Vm& vm, IdTable table, PidWords pids, AtomWords atoms, LayoutNames& names);
    Result<records::Port> port(Address address, Left& left);
    Result<std::string> text(Address address);
    Result<std::string> driver_name(Address driver);
    Result<std::optional<std::uint32_t>> registered_name(Address entry);
    /// Words of the port that say which binaries its queue has.
    struct Queue {
        std::uint64_t bytes = 0;
        Address vectors = 0, vectors_end = 0, binaries = 0;
        bool operator==(const Queue&) const = default;
    };
    [[nodiscard]] Queue queue_of(const StructView& port) const;
    Result<void> read_queue(const Queue& queue, records::Port& port);
    std::optional<std::uint32_t> file_descriptor(Address data, Address port, std::uint64_t id);

    Vm* vm_;
    IdTable table_;
    PidWords pids_;
    AtomWords atoms_;
    TagScheme scheme_;
    ProcessListReader lists_;
    RegisteredFields registered_;
    Field id_, state_, name_, driver_, connected_, registered_as_, in_, out_, queued_, os_pid_,
        task_flags_, driver_name_, suspended_, vectors_, vectors_end_, queue_binaries_,
        binary_size_;
    std::optional<Field> driver_data_;
    std::uint64_t port_tag_ = 0, is_connected_ = 0, is_distribution_ = 0, is_closing_ = 0,
                  is_busy_ = 0;
    std::uint32_t bytes_ = 0;
    std::map<Address, std::string> drivers_;  // by address; there are few
};

}  // namespace beamdump::beam
