#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/model/region.h>
#include <libdump/term/external_term.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace beamdump {

/// The bytes of an undecoded message, read lazily. Read errors go to the dump's Faults. Non-owning:
/// dump and message must outlive it.
class ExternalMessage final : public ExternalSource {
  public:
    /// kCorrupt if its parts contradict each other.
    static Result<std::unique_ptr<ExternalMessage>> open(Dump& dump,
                                                         const records::External& external);

    [[nodiscard]] std::uint64_t size() const override { return size_; }
    std::size_t read(std::uint64_t from, std::span<std::uint8_t> into) override;

    /// The term to print. Refers to this object.
    [[nodiscard]] ExternalTerm term();

  private:
    ExternalMessage(Dump& dump, const records::External& external)
        : dump_(dump), external_(external) {}

    Dump& dump_;
    const records::External& external_;
    std::vector<Region> parts_;
    std::vector<std::uint64_t> begins_;  ///< of each part, in the term
    std::uint64_t size_ = 0;
};

/// A dump's atoms and its node's name, for terms in external format. Caches 4,096 names, since each
/// takes a search of the atom table.
class DumpNames final : public ExternalNames {
  public:
    explicit DumpNames(Dump& dump) : dump_(dump) {}

    AtomText atom(std::uint32_t index) override { return dump_.atoms().text(index); }
    std::optional<std::uint32_t> atom_index(std::string_view name) override;
    bool is_this_node(std::string_view name) override;

  private:
    Dump& dump_;
    std::optional<std::string> this_node_;
    std::unordered_map<std::string, std::optional<std::uint32_t>> indexes_;
};

}  // namespace beamdump
