#pragma once

#include <libvm/beam/search/jit_list.h>
#include <libvm/beam/vm/vm.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::sampler {

using memory::Address;

/// The fragment where code that finds no room begins a collection.
inline constexpr std::string_view kCollectionFragment = "garbage_collect";

/// The code that all modules share: fragments that the JIT emits at the node's start (registered
/// for debuggers as "global" and "erts_beamasm"; jit/beam_jit_main.cpp, OTP 25 to 29).
class SharedCode {
  public:
    SharedCode() = default;
    /// `code_points`: they say what the JIT's list does not (OTP 24).
    SharedCode(const beam::JitSelf& jit, const std::vector<beam::Found>& code_points);
    /// The interpreter's: single instructions that a stack may return to.
    explicit SharedCode(const std::vector<beam::Found>& code_points);

    [[nodiscard]] bool holds(Address pc) const;
    /// The name of the fragment at an address, without its group: "garbage_collect",
    /// "normal_exit/0".
    [[nodiscard]] std::optional<std::string> name_at(Address pc) const;
    /// Where the first fragment begins that name_at() calls so.
    [[nodiscard]] std::optional<Address> begin_of(std::string_view name) const;
    /// All fragments, by begin; their names have their group before them.
    [[nodiscard]] const std::vector<beam::JitRange>& fragments() const { return ranges_; }
    /// Where the first function of every process returns to; 0: unknown.
    [[nodiscard]] Address normal_exit() const { return normal_exit_; }

  private:
    [[nodiscard]] const beam::JitRange* range_at(Address pc) const;

    std::vector<memory::AddressRange> parts_;
    std::vector<beam::JitRange> ranges_;  // by begin
    Address normal_exit_ = 0;
};

}  // namespace beamdump::sampler
