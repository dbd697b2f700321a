#pragma once

#include <libvm/beam/ets/ets_group.h>
#include <libvm/beam/ets/ets_table.h>

#include <functional>
#include <optional>

namespace beamdump::beam {

/// The structures that rows are in (erl_db_hash.h, erl_db_tree_util.h, erl_db_catree.h).
struct EtsRowFields {
    explicit EtsRowFields(LayoutNames& names);
    Field off_heap, size, tuple;  ///< DbRow
    Field hash_next, hash_row, hash_mark;
    std::uint64_t pseudo_deleted, hash_mask;  ///< in hash_mark
    Field tree_left, tree_right, tree_row;
    Field active, size_mask, segments, locks, tree_root, ca_root;
    std::optional<Field> locks_count;  ///< from OTP 25 on; else there are fixed_locks
    std::uint64_t fixed_locks = 0;
    std::uint32_t hash_bytes, lock_bytes;
    Field slot_lock;  ///< the word of a row's lock in one of lock_bytes
    Field is_base, base_lock, base_valid, base_root, route_valid, route_left, route_right;
};

/// One row that was read.
struct EtsRow {
    Address tuple = 0;                 ///< where its words begin: the tuple's header
    std::span<const std::byte> words;  ///< all of them
    Address off_heap = 0;              ///< the first of its off-heap things
};

/// Finds and reads the rows of a table. What cannot be read untorn is counted.
class EtsWalk {
  public:
    static Result<EtsWalk> open(Vm& vm);

    struct Request {
        Address table = 0;
        std::uint64_t status = 0;
        bool compressed = false;
        EtsGroupReader::How how;
        std::uint64_t most_rows = 0;  ///< more than that is no table
    };
    /// Is given the rows of one group. False: what they refer to changed meanwhile (asked only
    /// while the node runs); they are read again or left out.
    using Visit = std::function<Result<bool>(std::span<const EtsRow>,
                                             const std::function<Result<bool>()>& same)>;
    /// Asked between groups; false ends the walk.
    using GoOn = std::function<Result<bool>()>;

    struct Counts {
        std::uint64_t rows = 0;     ///< visited
        std::uint64_t locked = 0;   ///< left out: a writer held their lock
        std::uint64_t changed = 0;  ///< left out: they kept changing
        std::uint64_t broken = 0;   ///< left out: unreadable, or what leads to them is implausible
        std::uint64_t deleted = 0;  ///< met, and kept in a hash table as long as it is fixed
        bool resized = false;       ///< the table was laid out anew meanwhile: rows are missing
        bool stopped = false;       ///< GoOn said so
    };
    Result<Counts> walk(const Request& request, const Visit& visit, const GoOn& go_on);

  private:
    friend class EtsHashWalk;
    friend class EtsTreeWalk;
    EtsWalk(Vm& vm, LayoutNames& names, EtsGroupReader reader)
        : vm_(&vm), table_(names), fields_(names), reader_(std::move(reader)) {}

    /// Bytes of a structure whose DbRow is the field `row`; nothing if no row is there, or one that
    /// is too large to be read twice.
    std::optional<std::uint32_t> row_bytes(Address address, const Field& row);
    /// Reads a group and hands its rows on.
    Result<EtsGroupReader::Outcome> take(const EtsGroup& group, const Field& row,
                                         std::uint64_t& visited);
    [[nodiscard]] std::optional<EtsRow> row_of(std::span<const std::byte> bytes, Address address,
                                               const Field& row) const;
    void leave_out(EtsGroupReader::Outcome outcome, std::uint64_t rows);
    Result<bool> may_go_on();
    void wait_a_moment();
    [[nodiscard]] int tries() const { return request_.how.moving ? kTries : 1; }

    static constexpr int kTries = 6;

    Vm* vm_;
    EtsTableFields table_;
    EtsRowFields fields_;
    EtsGroupReader reader_;
    Request request_;
    const Visit* visit_ = nullptr;
    const GoOn* go_on_ = nullptr;
    Counts counts_;
    std::uint64_t moments_ = 0;  // waited
};

}  // namespace beamdump::beam
