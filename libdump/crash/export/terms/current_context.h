#pragma once

#include <libdump/term/term_context.h>

namespace beamdump::crash {

/// Forwards every call to the current context, so that readers need not be made for each process.
/// Whoever changes the context must clear the readers' caches.
class CurrentContext final : public TermContext {
  public:
    /// Non-owning. Null while it is not used.
    void set(TermContext* context) { context_ = context; }

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override {
        return context_->words(address, into);
    }
    std::uint64_t words_begin(std::uint64_t address) override {
        return context_->words_begin(address);
    }
    void missed(std::uint64_t address) override { context_->missed(address); }
    [[nodiscard]] std::uint64_t region_bytes_bound() const override {
        return context_->region_bytes_bound();
    }
    AtomText atom(std::uint32_t index) override { return context_->atom(index); }
    std::optional<FunctionName> export_at(std::uint64_t address) override {
        return context_->export_at(address);
    }
    std::optional<FunInfo> fun_entry_at(std::uint64_t address) override {
        return context_->fun_entry_at(address);
    }
    std::optional<NodeInfo> node_at(std::uint64_t address) override {
        return context_->node_at(address);
    }
    std::optional<std::uint64_t> catch_address(std::uint32_t index) override {
        return context_->catch_address(index);
    }
    std::optional<CodeLocation> code_at(std::uint64_t address) override {
        return context_->code_at(address);
    }
    Result<BinaryInfo> binary_at(std::uint64_t address) override {
        return context_->binary_at(address);
    }
    std::optional<std::array<std::uint32_t, 3>> magic_reference(std::uint64_t address) override {
        return context_->magic_reference(address);
    }
    Result<std::size_t> binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                     std::span<std::byte> into) override {
        return context_->binary_bytes(binary_address, from, into);
    }

  private:
    TermContext* context_ = nullptr;
};

}  // namespace beamdump::crash
