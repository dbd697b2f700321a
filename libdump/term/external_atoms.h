#pragma once

#include <libdump/term/external_item.h>
#include <libdump/term/term_context.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// The atoms and the name of the node that received terms in external format.
class ExternalNames {
  public:
    ExternalNames() = default;
    ExternalNames(const ExternalNames&) = delete;
    ExternalNames& operator=(const ExternalNames&) = delete;
    virtual ~ExternalNames() = default;

    virtual AtomText atom(std::uint32_t index) = 0;
    /// The index of an atom with that name, if the node has one.
    virtual std::optional<std::uint32_t> atom_index(std::string_view name) = 0;
    /// Whether `name` is the node's own.
    virtual bool is_this_node(std::string_view name) = 0;
};

/// The atoms of one term: those of the atom cache by what its references mean, the others from the
/// term itself. Keeps the texts of the referenced ones (255 at most).
class ExternalAtoms {
  public:
    /// Both must outlive the atoms.
    ExternalAtoms(ExternalReader& reader, ExternalNames& names)
        : reader_(&reader), names_(&names) {}

    /// Starts a term whose cache reference n is the atom with index `cached[n]`. `cached` must
    /// outlive it.
    void open(std::span<const std::uint32_t> cached);

    /// Its name in UTF-8; nullopt if it is not in the dump or too long for an atom.
    std::optional<std::string> name(const ExternalAtom& atom);
    /// Its index in the node's atom table; nullopt if it has none.
    std::optional<std::uint32_t> index(const ExternalAtom& atom);
    /// As Erlang prints it.
    std::optional<std::string> quoted(const ExternalAtom& atom);
    /// The first number of an identifier, as the VM prints it: 0 for the node itself, else the
    /// index of the other node's name.
    std::optional<std::uint64_t> channel(const ExternalAtom& node);

  private:
    struct Cached {
        std::string name;
        std::string quoted;
    };
    const Cached* cached(std::uint8_t reference);

    ExternalReader* reader_;
    ExternalNames* names_;
    std::span<const std::uint32_t> indexes_;
    std::vector<std::optional<Cached>> texts_;
};

}  // namespace beamdump
