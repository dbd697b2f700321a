#pragma once

#include <libdump/model/dump.h>
#include <libdump/model/forwarding.h>
#include <libdump/model/process_run.h>
#include <libdump/model/recent_cache.h>
#include <libdump/model/region_map.h>
#include <libdump/term/term_context.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace beamdump {

/// The words that one process's terms lead to: its regions, its packed regions, the fragments of
/// the message at hand, the literals; and the node's tables. Memory is bounded by its caches and,
/// if the addresses of packs overlap, 24 bytes a packed region. Words of a process that was
/// captured in the middle of a collection are as Forwarding shows them.
///
/// The dump, the run and any message given must outlive the context. Failures to read the file
/// (not: words that the dump lacks) go to the dump's Faults too.
///
/// A derived class may read words from elsewhere: Dump::supply_contexts().
class ProcessContext : public TermContext {
  public:
    ProcessContext(Dump& dump, const ProcessRun& run);

    /// Makes the fragments of `message` readable instead of the last message's. Null: none.
    void set_message(const records::Message* message);

    /// Looks into packed regions before the literals: for persistent terms, which lie among these
    /// and were read at another moment.
    void set_packed_before_literals() { packed_before_literals_ = true; }

    /// Where terms are read lazily: reads the rest of the heap, so that all its damage is counted.
    virtual Result<void> read_rest() { return {}; }

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override;
    std::uint64_t words_begin(std::uint64_t address) override;
    [[nodiscard]] std::uint64_t region_bytes_bound() const override;
    void missed(std::uint64_t address) override;
    AtomText atom(std::uint32_t index) override;
    std::optional<FunctionName> export_at(std::uint64_t address) override;
    std::optional<FunInfo> fun_entry_at(std::uint64_t address) override;
    std::optional<NodeInfo> node_at(std::uint64_t address) override;
    std::optional<std::uint64_t> catch_address(std::uint32_t index) override;
    std::optional<CodeLocation> code_at(std::uint64_t address) override;
    Result<BinaryInfo> binary_at(std::uint64_t address) override;
    std::optional<std::array<std::uint32_t, 3>> magic_reference(std::uint64_t address) override;
    std::optional<std::uint64_t> resource_type(std::uint64_t address) override;
    Result<std::size_t> binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                     std::span<std::byte> into) override;

  protected:
    /// Whether the dump has a record of the binary at that address.
    bool has_binary(std::uint64_t address) { return binary(address).has_value(); }
    [[nodiscard]] Dump& dump() { return dump_; }
    /// Words of the process's own regions; nullopt if none has the address.
    std::optional<Result<std::size_t>> region_words(std::uint64_t address,
                                                    std::span<std::uint64_t> into);

  private:
    struct Collecting;
    struct Plain {};
    ProcessContext(Dump& dump, const ProcessRun& run, Plain unused);
    Result<std::size_t> plain_words(std::uint64_t address, std::span<std::uint64_t> into);
    struct Fragments {
        records::PackedRegions record;
        std::vector<int> by_address;
    };
    struct PackedPlace {
        std::uint64_t begin = 0, end = 0;  // addresses
        std::size_t pack = 0;              // index in the run's directory
    };
    Result<std::size_t> packed_words(std::uint64_t address, std::span<std::uint64_t> into);
    Result<const Pack*> pack_with(std::uint64_t address);
    /// In a pack that is held until the next is read.
    Result<const records::PackedRegion*> packed_region(std::uint64_t address);
    const std::vector<PackedPlace>& packed_places();
    [[nodiscard]] std::unexpected<Error> not_packed(std::uint64_t address) const;
    Result<std::shared_ptr<const Fragments>> fragments(const Pack& pack);
    /// Words from `address`, which no packed region has, to the next one that is packed.
    Result<std::size_t> words_before_packed(std::uint64_t address, std::size_t most);
    Result<BinaryRecord> binary(std::uint64_t address);

    Dump& dump_;
    const ProcessRun& run_;
    RegionMap regions_;
    RecentCache<std::uint64_t, Fragments> packs_;
    RecentCache<std::uint64_t, BinaryRecord> binaries_;
    std::optional<std::vector<PackedPlace>> places_;  // by address
    std::vector<std::pair<std::size_t, Error>> lost_packs_;
    const records::Message* message_ = nullptr;
    bool packed_before_literals_ = false;
    std::shared_ptr<Collecting> collecting_;  // null: no collection was in progress
};

}  // namespace beamdump
