#pragma once

#include "capture/secrets/secret_texts.h"

#include <libdump/write/dump_writer.h>
#include <libvm/memory/held_sizes.h>
#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>

#include <records.pb.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::capture {

using memory::Address;

/// Copies regions of the target into the dump.
class RegionCopier {
  public:
    /// Non-owning. `pages` may be null: then every page counts as present (nothing is swapped out).
    /// `secrets` are overwritten in all that is copied.
    RegionCopier(DumpWriter& writer, memory::MemorySource& source, memory::PresentPages* pages,
                 format::TermScheme scheme, const SecretTexts& secrets,
                 std::size_t list_blocks = memory::HeldSizes{}.list_blocks)
        : writer_(writer),
          source_(source),
          pages_(pages),
          scheme_(scheme),
          tags_(scheme_of(scheme)),
          secrets_(secrets),
          list_blocks_(list_blocks) {}

    /// Given the words or bytes as they were read, in ascending order; what it changes is written.
    using Observer = std::function<void(Address, std::span<std::byte>)>;

    struct Request {
        format::OwnerKind owner_kind = format::OwnerKind::kUnknown;
        std::uint64_t owner_id = 0;
        format::RegionKind kind = format::RegionKind::kUnknown;
        format::RegionUnit unit = format::RegionUnit::kWords;
        Address address = 0;
        std::uint64_t total = 0;             ///< units
        bool is_part = false;                ///< what is around it may be the rest of a text inside
        const Observer* observer = nullptr;  ///< null: nobody
    };

    /// Writes the region; hands a reference to each part: one where all is present, else one for
    /// each present part and each absent one between. An unreadable tail is marked, not an error.
    Result<void> copy(const Request& request,
                      const std::function<Result<void>(records::RegionRef&)>& placed);

    /// A hash of what copy() would write now, with the secrets in it; never 0.
    Result<std::uint64_t> digest(const Request& request);

    /// The bytes of each part as copy() would write them, as many as are present and can be read.
    /// Texts are looked for in what is around the parts too, inside `whole`.
    Result<std::vector<std::string>> bytes(std::span<const memory::AddressRange> parts,
                                           memory::AddressRange whole);

    [[nodiscard]] DumpWriter& writer() { return writer_; }
    [[nodiscard]] format::TermScheme scheme() const { return scheme_; }
    [[nodiscard]] const SecretTexts& secrets() const { return secrets_; }
    /// Overwrites secrets in words of the memory from `address` on.
    void scrub_words(std::span<std::byte> bytes, Address address,
                     SecretTexts::Beyond* beyond = nullptr) const {
        secrets_.scrub_words(bytes, address, tags_ ? &*tags_ : nullptr, beyond);
    }

    /// Asked after each MiB of a region; an error ends the copy. Null: nobody is asked.
    using Watch = std::function<Result<void>()>;
    void set_watch(const Watch* watch) { watch_ = watch; }

  private:
    /// The pieces of a region, one after another, with what is before and after each.
    class Scrubber;
    /// Cells of lists outside the piece in which the list begins.
    class Around;

    Result<std::size_t> read(Address begin, std::span<std::byte> into);
    Result<void> watch(std::size_t bytes);
    Result<void> copy_part(const Request& request, Address begin, std::uint64_t units,
                           const std::function<Result<void>(records::RegionRef&)>& placed);

    DumpWriter& writer_;
    memory::MemorySource& source_;
    memory::PresentPages* pages_;
    format::TermScheme scheme_;
    Result<TagScheme> tags_;  // none of a scheme that this program does not know
    const SecretTexts& secrets_;
    std::size_t list_blocks_;
    /// Words of the present owner that are still to be overwritten: from what to what.
    std::map<Address, std::pair<std::uint64_t, std::uint64_t>> to_overwrite_;
    std::uint64_t owner_id_ = 0;
    const Watch* watch_ = nullptr;
    std::size_t unwatched_ = 0;  // bytes since it was asked
};

}  // namespace beamdump::capture
