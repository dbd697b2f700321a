#pragma once

#include <libvm/beam/processes/shown_parts.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace beamdump::capture {

using memory::Address;

/// Which parts of binaries are to be kept behind their first bytes, and which of them the last
/// record of each binary has. Memory: `most` parts of each sort, of some 16 bytes.
class KeptParts {
  public:
    /// More parts of one binary, or more bytes of them, are not kept.
    static constexpr std::size_t kMostParts = 64;
    static constexpr std::uint64_t kMostBytes = 32U << 10U;
    /// So many times as much is kept of a part as of a binary's beginning. The runtime copies parts
    /// of up to 64 bytes (ERL_ONHEAP_BIN_LIMIT, OTP 25 to 29): those that refer to a binary are
    /// longer.
    static constexpr std::uint64_t kTimes = 4;

    /// Parts of one binary, ascending and apart from one another.
    struct Written {
        std::vector<beam::ShownPart> parts;
        std::uint64_t hash = 0;  ///< of their content
        [[nodiscard]] std::uint64_t bytes() const;
    };

    /// `keep`: bytes of a binary's beginning that are kept; nullopt: all, so that no parts are.
    KeptParts(std::optional<std::uint64_t> keep, std::size_t most) : keep_(keep), most_(most) {}

    /// Asks for a part. False: the first bytes have it, or the last record.
    bool want(Address binary, const beam::ShownPart& part);
    /// Nothing is asked for any more.
    void drop_wanted();

    /// The parts of the next record of a binary of so many bytes: those asked for, and those that
    /// the last record has. Equal to the latter: no other record is needed.
    [[nodiscard]] std::vector<beam::ShownPart> next(Address binary, std::uint64_t size,
                                                    const Written& last) const;

    [[nodiscard]] Written last_of(Address binary) const;
    void set_last(Address binary, Written written);
    /// No record is known any more.
    void clear_written();

  private:
    std::optional<std::uint64_t> keep_;
    std::size_t most_;
    std::unordered_map<Address, std::vector<beam::ShownPart>> wanted_;
    std::size_t wanted_parts_ = 0;
    std::unordered_map<Address, Written> written_;
    std::size_t written_parts_ = 0;
};

}  // namespace beamdump::capture
