#pragma once

#include "support/fake_term_context.h"

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::testing {

/// Builds the term that external format (erlang:term_to_binary/1 of OTP 25) describes: all that
/// oracle/terms.erl makes. Throws std::runtime_error on anything else. Large maps have no node
/// structure in that format and are refused.
std::uint64_t build_external(FakeTermContext& context, TermBuilder& builder,
                             std::string_view bytes);

std::string decode_base64(std::string_view text);

}  // namespace beamdump::testing
