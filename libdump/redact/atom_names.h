#pragma once

#include <libdump/base/error.h>
#include <libdump/redact/kept_terms.h>
#include <libdump/redact/policy.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::redact {

/// Decides which atoms remain, and gives the others pseudonyms.
class AtomNames {
  public:
    /// kIo if the system has no random bytes.
    static Result<AtomNames> create(Policy policy, std::shared_ptr<const KeptTerms> kept);

    /// Names of modules and functions remain.
    void is_code(std::uint32_t index);
    /// Names of modules remain by their text, of a crash dump.
    void is_code(std::string_view text) { code_texts_.emplace(text); }
    [[nodiscard]] bool has_code(std::string_view text) const { return code_texts_.contains(text); }

    /// Replaces an atom's text, unless it remains. The pseudonym has as many bytes, in characters
    /// of as many bytes each, begins with "x_" if it has four characters or more, and depends on
    /// the text and the salt alone.
    void redact(std::uint32_t index, std::span<std::byte> text) const;

  private:
    static constexpr std::size_t kKeyBytes = 32;
    AtomNames(Policy policy, std::shared_ptr<const KeptTerms> kept,
              const std::array<std::uint8_t, kKeyBytes>& key)
        : policy_(std::move(policy)), kept_(std::move(kept)), key_(key) {}
    [[nodiscard]] bool remains(std::uint32_t index, std::string_view text) const;

    Policy policy_;
    std::shared_ptr<const KeptTerms> kept_;  // null: none
    std::array<std::uint8_t, kKeyBytes> key_;
    std::vector<bool> code_;  // by index
    std::set<std::string, std::less<>> code_texts_;
};

/// Whether the text is one that OTP, Elixir or these programs use themselves: no secret.
bool is_public_atom(std::string_view text);

}  // namespace beamdump::redact
