#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/vm/vm.h>

#include <functional>
#include <span>
#include <vector>

namespace beamdump::beam {

inline constexpr std::uint64_t kEtsWord = 8;
/// A group of more is read as it is, but grows no further.
inline constexpr std::size_t kEtsGroupBytes = 64U << 10U;

/// A word that leads to a row, or says how the table is laid out, and what it was.
struct EtsLink {
    Address address = 0;
    std::uint32_t bytes = 8;  ///< 1 to 8
    std::uint64_t expected = 0;
};

/// One row's structure: its links to others, and the row (DbTerm) at its end.
struct EtsRowPlace {
    Address address = 0;
    std::uint32_t bytes = 0;
    Address lock = 0;  ///< of its bucket or base node; 0: the table's alone
    EtsLink lead;      ///< the word that leads to it: of a bucket, or of another row
    /// The hash of its key, in a table that hashes: its block may be another row's when it is read.
    std::uint64_t hash = 0;
    /// In a chain with the row before it: read together, so that a row which goes from one place of
    /// the chain to another meanwhile is not read twice.
    bool follows = false;
};

/// Some rows and what leads to all of them, as they were when they were found.
struct EtsGroup {
    std::vector<EtsLink> links;
    std::vector<EtsRowPlace> rows;

    [[nodiscard]] bool empty() const { return rows.empty() && links.empty(); }
    void clear() {
        links.clear();
        rows.clear();
    }
};

/// What a node that runs must not have done between the reads of one group where its tables have no
/// locks; see EtsGroupReader. True: it may be read now; true again: it was not written meanwhile.
struct EtsQuiet {
    std::function<Result<bool>()> begin;
    std::function<Result<bool>()> end;
};

/// Reads the rows of a group so that each is one that the table had at one moment.
///
/// While the node runs, a row counts when it was read twice, alike, and the word of each lock that
/// a writer would hold (the table's; the bucket's or base node's) was seen without a writer before
/// and after, all of it in the order of one system call; and when the word that leads to it was the
/// same right before and right after, and what leads to the group before and after that. None
/// suffices alone: a writer that lost its processor in the midst of a row gives two torn reads that
/// are alike; and while this reader waits for a processor a block may be freed, be a row of another
/// key or table, and be in its first place again when the group ends. Where the runtime has one
/// scheduler, its tables have no locks, and `quiet` decides.
///
/// Where nothing moves, a row counts unless a writer holds such a lock.
class EtsGroupReader {
  public:
    /// Non-owning. Error: the layout lacks a field.
    static Result<EtsGroupReader> open(Vm& vm);

    enum class Outcome : std::uint8_t {
        kRead,
        kLocked,   ///< a writer holds a lock
        kChanged,  ///< what was found is no longer there, or was written meanwhile
        kUnreadable,
    };
    /// How it is to be read.
    struct How {
        bool moving = true;
        bool validate = true;             ///< false: believe the first read (tests only)
        Address table_lock = 0;           ///< 0: the runtime has no locks
        const EtsQuiet* quiet = nullptr;  ///< where it has none and the node runs
    };
    Result<Outcome> read(const EtsGroup& group, const How& how);

    /// The bytes of a row after kRead.
    [[nodiscard]] std::span<const std::byte> row(std::size_t index) const {
        return {bytes_.data() + starts_[index], sizes_[index]};
    }

    /// Whether a lock's word says that a writer holds it (ethr_mutex.h: ETHR_RWMTX_W_FLG__).
    [[nodiscard]] static bool is_written(std::uint32_t flags) { return (flags >> 31U) != 0; }

  private:
    explicit EtsGroupReader(Vm& vm) : vm_(&vm) {}
    Result<Outcome> at_rest(const EtsGroup& group, const How& how);
    Result<Outcome> proven(const EtsGroup& group, const How& how);
    void place(const EtsGroup& group);
    void add(Address address, std::span<std::byte> into);
    void add_link(const EtsLink& link, std::size_t index);
    Outcome judge(const EtsGroup& group) const;

    Vm* vm_;
    std::vector<std::byte> bytes_, again_, links_;
    std::vector<std::size_t> starts_, sizes_;
    std::vector<std::uint32_t> locks_;
    std::vector<memory::BatchRead> reads_;
};

}  // namespace beamdump::beam
