#pragma once

#include <libvm/beam/layout/structs.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace beamdump::beam {

/// The facts of a Binary structure (erl_binary.h), with the first part of its bytes.
struct BinaryView {
    Address address = 0;
    Address data = 0;  ///< of its first byte
    std::uint64_t size = 0;
    records::Binary facts;       ///< with the prefix, unless content_apart
    bool content_apart = false;  ///< asked-for content exceeds `inline_bytes`: read it from `data`
    std::uint64_t wanted = 0;    ///< bytes of content that were asked for
};

/// Reads many Binary structures with few system calls.
class BinaryReader {
  public:
    /// `keep`: bytes of content to keep; nullopt: all. The caller reads contents of more than
    /// `inline_bytes`.
    static Result<BinaryReader> open(Vm& vm, std::optional<std::uint64_t> keep,
                                     std::uint64_t inline_bytes);

    /// From here on magic binaries whose data begin with one of these addresses are resources of
    /// that type (ErtsResource, global.h; OTP 25 to 29).
    void know_resource_types(std::set<Address> types) { resource_types_ = std::move(types); }

    /// In the order of `addresses`; unreadable structures are skipped and counted.
    Result<std::vector<BinaryView>> read(std::span<const Address> addresses);

    [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }

  private:
    BinaryReader(Vm& vm, const BinaryFields& fields) : vm_(&vm), fields_(fields) {}
    Vm* vm_;
    BinaryFields fields_;
    std::optional<std::uint64_t> keep_;
    std::uint64_t inline_bytes_ = 0;
    std::uint64_t unreadable_ = 0;
    std::set<Address> resource_types_;
};

/// Finds the reference-counted and magic binaries that literals refer to. There is no common list:
/// each module's and each persistent term's literals have their own. So the literals' words are
/// scanned for ProcBins, BinRefs and magic references, and candidates are checked: the Binary must
/// be in mapped memory and have the bytes that the ProcBin claims. `part`: a range of present
/// literal pages.
Result<void> sweep_literal_binaries(Vm& vm, memory::AddressRange part,
                                    const std::function<Result<void>(Address binary)>& visit);

}  // namespace beamdump::beam
