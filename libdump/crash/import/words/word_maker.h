#pragma once

#include <libdump/term/term_scheme.h>

#include <cstdint>

namespace beamdump::crash {

/// Builds the words that a scheme reads: the other direction of term_scheme.h.
class WordMaker {
  public:
    explicit WordMaker(const TagScheme& scheme) : scheme_(scheme) {}

    [[nodiscard]] const TagScheme& scheme() const { return scheme_; }
    [[nodiscard]] std::uint64_t nil() const { return scheme_.nil; }

    [[nodiscard]] std::uint64_t atom(std::uint32_t index) const;
    [[nodiscard]] std::uint64_t catch_word(std::uint32_t index) const;
    /// A small integer: 60 bits.
    [[nodiscard]] std::uint64_t small(std::int64_t value) const;
    static bool is_small(std::int64_t value);
    [[nodiscard]] std::uint64_t pid(std::uint64_t number, std::uint64_t serial) const;
    [[nodiscard]] std::uint64_t port(std::uint64_t number) const;

    /// A pointer to a list's cell or a boxed object at that address.
    [[nodiscard]] std::uint64_t pointer(std::uint64_t address, bool is_cell) const;

    /// The header of any boxed object but funs and large maps. `arity`: as header_arity() gives it.
    [[nodiscard]] std::uint64_t header(BoxedKind kind, std::uint64_t arity) const;
    /// The header of a large map's node with this many items, at most 16.
    [[nodiscard]] std::uint64_t map_header(BoxedKind kind, std::uint64_t items) const;
    /// The header of a fun, with its counts where the scheme has them there.
    [[nodiscard]] std::uint64_t fun_header(std::uint64_t arity, std::uint64_t environment,
                                           bool external) const;

  private:
    TagScheme scheme_;
};

}  // namespace beamdump::crash
