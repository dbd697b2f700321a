#pragma once

#include <libdump/crash/import/heap/lazy_heap.h>
#include <libdump/crash/import/heap/lazy_terms.h>

#include <unordered_map>

namespace beamdump::crash {

/// The terms of one process, from its heap's lines and the node's sections.
class LazyContext final : public LazyTerms {
  public:
    /// `dump` is not owned; `heap` refers to `node`, and is null if the process has none.
    LazyContext(const CrashDump& dump, std::unique_ptr<NodeTerms> node,
                std::unique_ptr<LazyHeap> heap)
        : dump_(dump), node_(std::move(node)), heap_(std::move(heap)) {}

    [[nodiscard]] TextCounts met() const override { return heap_ ? heap_->met() : TextCounts(); }
    Result<void> read_rest() override;
    void missed(std::uint64_t address) override;

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override;
    [[nodiscard]] std::uint64_t region_bytes_bound() const override;
    AtomText atom(std::uint32_t index) override;
    std::optional<FunctionName> export_at(std::uint64_t address) override;
    std::optional<FunInfo> fun_entry_at(std::uint64_t address) override;
    std::optional<NodeInfo> node_at(std::uint64_t address) override;
    std::optional<std::uint64_t> catch_address(std::uint32_t index) override;
    std::optional<CodeLocation> code_at(std::uint64_t address) override;
    Result<BinaryInfo> binary_at(std::uint64_t address) override;
    std::optional<std::array<std::uint32_t, 3>> magic_reference(std::uint64_t address) override;
    Result<std::size_t> binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                     std::span<std::byte> into) override;

  private:
    /// A Binary's facts from its section, and the place of its bytes in the text.
    struct FoundBinary {
        BinaryInfo info;
        Span characters;
    };
    Result<FoundBinary> find_binary(std::uint64_t address);

    const CrashDump& dump_;
    std::unique_ptr<NodeTerms> node_;
    std::unique_ptr<LazyHeap> heap_;
    // Those asked for of late: how many bytes one has is known once all of its text was read.
    std::unordered_map<std::uint64_t, FoundBinary> binaries_;
};

}  // namespace beamdump::crash
