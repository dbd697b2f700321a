#pragma once

#include <libdump/base/error.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

struct SampleStack;

/// Which native code a profile is of: a name, a pattern of names with * and ?, or one of the sets
/// gc, copy, alloc, ets and nif.
class NativeFilter {
  public:
    /// kUsage: empty, or no name can be like that.
    static Result<NativeFilter> parse(std::string_view text);

    /// Whether a sample was in such code or in what that called.
    [[nodiscard]] bool matches(const SampleStack& sample) const;
    /// Whether a function has such a name.
    [[nodiscard]] bool matches(const std::string& name) const;
    /// As it was given.
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::string text_;
    std::vector<std::string> patterns_;
};

/// Names that the emulator's function for the BIF "m:f/a" may have (make_tables, OTP 25 to 29):
/// erlang:list_to_atom/1 is list_to_atom_1, ets:lookup/2 is ets_lookup_2. None for other texts.
std::vector<std::string> native_names_of_bif(std::string_view text);

}  // namespace beamdump
