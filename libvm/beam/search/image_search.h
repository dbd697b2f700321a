#pragma once

#include <libvm/beam/layout/layout.h>
#include <libvm/beam/vm/vm.h>
#include <libvm/target/target.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::beam {

using memory::Address;

/// The runtime's own data segments, copied once, to find tables without symbols, e.g. file-static
/// ones. Every hash table of the runtime has a pointer to its name (hash.h, all releases).
class ImageSearch {
  public:
    /// Copies the image's read-only and writable segments (about 2 MiB). Only present pages of the
    /// writable ones are read; an absent page was never written and holds no table. The read-only
    /// ones are the executable's file: the kernel may have dropped their pages, reading is cheap.
    static Result<ImageSearch> read(target::Target& target);

    /// Addresses of words, in the writable segments, that point to the string `text`.
    [[nodiscard]] std::vector<Address> pointers_to_string(std::string_view text) const;

    /// All strings in the data that begin with `prefix`, with their addresses; each at most `most`
    /// bytes.
    [[nodiscard]] std::vector<std::pair<Address, std::string>> texts(std::string_view prefix,
                                                                     std::size_t most) const;

    /// Whether a text of the data begins at that address: it is held, and a zero is before it.
    [[nodiscard]] bool begins_text(Address address) const;

    /// Calls `candidate` for every word-aligned address in the writable segments with `bytes` bytes
    /// after it; returns the addresses for which it is true.
    [[nodiscard]] std::vector<Address> matching(
        std::size_t bytes,
        const std::function<bool(Address, std::span<const std::byte>)>& candidate) const;

    /// Bytes of the writable segments at an address, if they are held.
    [[nodiscard]] std::optional<std::span<const std::byte>> at(Address address,
                                                               std::size_t bytes) const;

  private:
    struct Segment {
        Address start = 0;
        std::vector<std::byte> bytes;
    };
    [[nodiscard]] std::vector<Address> strings(std::string_view text) const;

    std::vector<Segment> read_only_;
    std::vector<Segment> writable_;
};

/// Addresses as text; "nowhere" for none.
std::string listed(const std::vector<memory::Address>& addresses);

/// The only candidate of a search. kImplausible, with all candidates, if there is none or more than
/// one. `expected` completes "expected ...": "one hash table named "x"".
Result<memory::Address> only_one(std::string_view what, std::string_view expected,
                                 const std::vector<memory::Address>& candidates);

/// Whether an address is in memory that can be executed.
bool is_code(Vm& vm, memory::Address address);

}  // namespace beamdump::beam
