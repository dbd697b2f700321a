#pragma once

#include <libdump/format/process_row.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/process.h>

#include <functional>

namespace beamdump::beam {

/// The type of a link or monitor (erl_monitor_link.h, ErtsMonLnkNode): a field up to OTP 28, bits
/// of its flags from 29 on.
class RelationType {
  public:
    static RelationType resolve(LayoutNames& names) {
        RelationType type;
        type.field_ = names.field_if_any(runtime::ErtsMonLnkNode::type);
        if (!type.field_) {
            type.flags_ = names.field(runtime::ErtsMonLnkNode::flags);
            type.mask_ = names.constant(runtime::constant::relation_type_mask);
            type.shift_ = names.constant(runtime::constant::relation_type_shift);
        }
        return type;
    }
    [[nodiscard]] std::uint64_t of(const StructView& node) const {
        return field_ ? node.get(*field_) : (node.get(flags_) & mask_) >> shift_;
    }

  private:
    std::optional<Field> field_;
    Field flags_;
    std::uint64_t mask_ = 0;
    std::uint64_t shift_ = 0;
};

/// Walks a process's links and monitors (erl_monitor_link.h): red-black trees and a circular list.
class RelationWalker {
  public:
    static Result<RelationWalker> open(Vm& vm);

    /// Bytes that process_info(memory) counts for what was walked.
    struct Walked {
        std::uint64_t links = 0;
        std::uint64_t monitors = 0;
        std::uint64_t bytes = 0;
        RelationCounts counts = {};
    };

    /// Calls back with pages of at most `most` links and monitors. A torn list ends with
    /// kImplausible after `limit` nodes.
    Result<Walked> walk(const ProcessView& process, std::size_t most, std::uint64_t limit,
                        const std::function<Result<void>(records::Relations&)>& page);

    /// The address and number of a remote pid's words.
    [[nodiscard]] static Address remote_thing(std::uint64_t word);
    [[nodiscard]] std::uint64_t remote_words() const { return thing_bytes_ / 8; }

  private:
    class Pager;
    RelationWalker(Vm& vm, PidWords pids, AtomWords atoms, LayoutNames& names)
        : vm_(&vm), pids_(pids), atoms_(atoms), node_(names), monitor_(names), magic_(names) {}

    Result<void> tree(Address root, std::uint64_t limit,
                      const std::function<Result<void>(Address, StructView)>& visit);
    Result<void> list(Address first, std::uint64_t limit,
                      const std::function<Result<void>(Address, StructView)>& visit);
    Result<void> link(Address address, StructView node, records::Link& into);
    Result<void> monitor(Address address, StructView node, records::Monitor& into);
    Result<void> reference(Address data, records::Monitor& into);
    Result<void> resource(Address data, records::Monitor& into);
    /// Reads the numbers of a reference that are at the address into the monitor.
    Result<void> numbers(Address address, std::size_t count, records::Monitor& into);
    Result<void> suspension(Address data, records::Monitor& into);
    /// Number, serial and node of a remote pid's term word.
    struct Remote {
        std::uint64_t owner_id = 0;
        Address node = 0;
    };
    /// Bytes that process_info(memory) counts for one half of a monitor.
    Result<std::uint64_t> monitor_bytes(Address address, StructView node);
    /// Words of a reference or remote pid, 0 for an immediate.
    Result<std::uint64_t> term_words(std::uint64_t word);
    Result<std::optional<Remote>> remote(std::uint64_t word);
    [[nodiscard]] bool is_remote_link(std::uint64_t type) const;
    [[nodiscard]] records::MonitorKind monitor_kind(std::uint64_t type) const;
    [[nodiscard]] records::LinkKind link_kind(std::uint64_t type) const;

    Vm* vm_;
    PidWords pids_;
    AtomWords atoms_;
    RelationNodeFields node_;
    MonitorFields monitor_;
    BinaryFields magic_;
    RelationType type_;
    Field dist_, dist_name_, elink_unlinking_;
    Field thing_header_, thing_node_, thing_data_, ref_numbers_;
    std::uint32_t thing_bytes_ = 0, ref_bytes_ = 0, elink_bytes_ = 0, suspend_bytes_ = 0;
    std::uint64_t link_process_ = 0, link_port_ = 0, link_remote_ = 0;
    std::optional<std::uint64_t> link_remote_port_;  // from OTP 29 on
    std::vector<std::pair<std::uint64_t, records::MonitorKind>> monitor_kinds_;
    std::uint64_t spawn_pending_ = 0;
    std::uint64_t external_pid_tag_ = 0, external_ref_tag_ = 0, arity_shift_ = 0;
};

}  // namespace beamdump::beam
