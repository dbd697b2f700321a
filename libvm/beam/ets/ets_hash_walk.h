#pragma once

#include <libvm/beam/ets/ets_walk.h>

namespace beamdump::beam {

/// Rows of a set, bag or duplicate_bag (erl_db_hash.c, OTP 25 to 29).
class EtsHashWalk {
  public:
    explicit EtsHashWalk(EtsWalk& walk) : walk_(walk) {}
    Result<void> walk();

  private:
    struct Shape {
        std::uint64_t active = 0, mask = 0, segments = 0, locks = 0, locks_count = 0;
        bool operator==(const Shape&) const = default;
    };
    struct Slot {
        std::uint64_t number = 0;
        Address bucket = 0;
        std::size_t rows = 0;
    };
    Result<std::optional<Shape>> shape();
    Result<bool> segment(std::uint64_t first, std::uint64_t count);
    Result<void> read_ahead(std::span<const std::uint64_t> buckets);
    /// Adds the rows of a slot; false: what is there is no chain of rows.
    bool chain(const Slot& slot, Address first, EtsGroup& group);
    [[nodiscard]] std::optional<Address> lock_of(std::uint64_t slot, std::uint64_t mark) const;
    Result<void> flush();
    Result<void> alone(const Slot& slot);
    Result<EtsGroupReader::Outcome> in_parts(const EtsGroup& all, std::uint64_t& visited);
    void begin(EtsGroup& group) const;

    EtsWalk& walk_;
    Shape shape_;
    EtsGroup group_;
    std::vector<Slot> slots_;
};

}  // namespace beamdump::beam
