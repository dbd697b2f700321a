#pragma once

#include <libdump/crash/import/heap/lazy_terms.h>
#include <libdump/model/process_context.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace beamdump::crash {

/// The terms of a process of a crash dump: from the converted dump, else read lazily from the text.
class LazyProcessContext final : public ProcessContext {
  public:
    /// Non-owning.
    LazyProcessContext(Dump& dump, const ProcessRun& run, LazyTerms& terms)
        : ProcessContext(dump, run), terms_(terms) {}

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override;
    [[nodiscard]] std::uint64_t region_bytes_bound() const override;
    void missed(std::uint64_t address) override;
    Result<void> read_rest() override { return terms_.read_rest(); }
    AtomText atom(std::uint32_t index) override;
    std::optional<FunctionName> export_at(std::uint64_t address) override;
    std::optional<FunInfo> fun_entry_at(std::uint64_t address) override;
    std::optional<NodeInfo> node_at(std::uint64_t address) override;
    std::optional<std::uint64_t> catch_address(std::uint32_t index) override;
    Result<BinaryInfo> binary_at(std::uint64_t address) override;
    Result<std::size_t> binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                     std::span<std::byte> into) override;

  private:
    LazyTerms& terms_;
};

/// Lets all contexts of the dump read these terms too. Non-owning: they must outlive all queries.
/// Null: the dump has all terms.
void supply_lazily(Dump& dump, LazyTerms* terms);

}  // namespace beamdump::crash
