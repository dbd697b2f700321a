#pragma once

#include <libdump/term/external_atoms.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::testing {

/// A node's atom table and name.
class FakeExternalNames final : public ExternalNames {
  public:
    std::vector<std::string> atoms;
    std::string this_node = "nonode@nohost";

    AtomText atom(std::uint32_t index) override {
        return index < atoms.size() ? std::optional(atoms[index]) : std::nullopt;
    }
    std::optional<std::uint32_t> atom_index(std::string_view name) override {
        const auto found = std::ranges::find(atoms, name);
        return found == atoms.end()
                   ? std::nullopt
                   : std::optional(static_cast<std::uint32_t>(std::distance(atoms.begin(), found)));
    }
    bool is_this_node(std::string_view name) override { return name == this_node; }
};

/// Bytes of a term, of which the first `here` are in the dump.
class StringSource final : public ExternalSource {
  public:
    explicit StringSource(const std::string& bytes, std::size_t here = ~std::size_t{0})
        : bytes_(bytes), here_(std::min(here, bytes.size())) {}

    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
    std::size_t read(std::uint64_t from, std::span<std::uint8_t> into) override {
        if (from >= here_) {
            return 0;
        }
        const auto count = std::min<std::size_t>(into.size(), here_ - from);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(from), count, into.begin());
        return count;
    }

  private:
    const std::string& bytes_;
    std::size_t here_;
};

}  // namespace beamdump::testing
