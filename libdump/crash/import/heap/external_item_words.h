#pragma once

#include <libdump/crash/import/words/element_parser.h>
#include <libdump/term/external_item.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace beamdump::crash {

/// The words of single items of a term in external format; collects their names.
class ExternalItemWords {
  public:
    ExternalItemWords(std::span<const std::uint8_t> bytes, const TextFormat& format, Names& names)
        : bytes_(bytes), format_(format), names_(names) {}

    /// In UTF-8.
    [[nodiscard]] std::string name_of(const ExternalAtom& atom) const;
    [[nodiscard]] std::uint32_t atom(const ExternalAtom& atom) const;
    /// Of an identifier: whether it is the node's own.
    [[nodiscard]] bool is_local(const ExternalItem& item) const;
    [[nodiscard]] std::uint64_t node(const ExternalItem& item) const;
    [[nodiscard]] std::vector<std::uint64_t> reference(const ExternalItem& item) const;
    [[nodiscard]] std::vector<std::uint64_t> identifier(const ExternalItem& item) const;

    /// `environment`: terms that a local fun holds.
    [[nodiscard]] std::vector<std::uint64_t> fun(const ExternalItem& item,
                                                 std::uint64_t environment) const;

  private:
    std::span<const std::uint8_t> bytes_;
    const TextFormat& format_;
    Names& names_;
};

}  // namespace beamdump::crash
