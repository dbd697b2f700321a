#pragma once

#include <libvm/beam/ets/ets_group.h>
#include <libvm/beam/ets/ets_walk.h>
#include <libvm/beam/vm/steady_read.h>

#include <functional>
#include <optional>

namespace beamdump::beam {

/// Reads the node's persistent terms (erl_bif_persistent.c); one of more than HeldSizes::row_bytes
/// as far as its first words only. Each is a tuple {Key, Value} at the
/// beginning of a literal area of its own, which holds all that is in it and never changes; a slot
/// of the hash table leads there until the term is replaced or erased, and only then the area may
/// be freed.
///
/// While the node runs, a term counts when its words were read twice, alike, and the slot led to it
/// right before and right after, and the hash table was the same one, and the area had the same
/// end, all in the order of one system call.
class PersistentTermReader {
  public:
    static Result<PersistentTermReader> open(Vm& vm);

    struct Term {
        EtsRow row;               ///< its words, or the first of them; none if none are wanted
        std::uint64_t words = 0;  ///< of all
    };
    struct Counts {
        std::uint64_t terms = 0;
        std::optional<std::uint64_t> counted;  ///< by the node, after the reading
        std::uint64_t table_bytes = 0;
        std::uint64_t changed = 0;     ///< slots whose terms kept changing
        std::uint64_t unreadable = 0;  ///< slots that hold nothing that is known
        bool replaced = false;         ///< the hash table was: what is left was not read
        bool stopped = false;          ///< by `go_on`
    };
    struct Request {
        Moving moving;
        bool validate = true;  ///< false: believe the first read (tests only)
        bool words = true;     ///< false: only how many
        std::function<Result<bool>()> go_on;
    };
    /// Takes a term; `same` tells whether it still is as it was read. False: it was not taken.
    using Visit =
        std::function<Result<bool>(const Term&, const std::function<Result<bool>()>& same)>;
    Result<Counts> read(const Request& request, const Visit& visit);

  private:
    PersistentTermReader(Vm& vm, Address table_at, LayoutNames& names);
    enum class Outcome : std::uint8_t { kTaken, kEmpty, kChanged, kUnreadable };

    Result<void> open_table();
    Result<void> slots(const Request& request, const Visit& visit, Counts& counts);
    Result<Outcome> slot(Address at, std::uint64_t word, const Request& request,
                         const Visit& visit);
    Result<Outcome> term(Address at, std::uint64_t word, const Request& request,
                         const Visit& visit);
    Result<bool> is_replaced();

    Vm* vm_;
    Address table_at_;  // of the word that points to the table
    Field allocated_, count_, mask_, first_;
    Field area_off_heap_, area_end_, area_start_;
    std::uint32_t area_bytes_ = 0;
    std::uint64_t nil_ = 0;
    std::uint64_t pair_header_ = 0;
    Address table_ = 0;
    std::uint64_t size_ = 0;  // slots
};

}  // namespace beamdump::beam
