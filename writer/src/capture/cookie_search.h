#pragma once

#include "beam/code_lookup.h"
#include "capture/cookie.h"

#include <string>
#include <vector>

namespace beamdump::capture {

/// The node's command line without the cookies in it, and all cookies that were found: there, and
/// in the state of the process registered as `auth`.
struct FoundCookies {
    Cookies cookies;
    std::vector<std::string> arguments;
};
Result<FoundCookies> find_cookies(beam::Vm& vm, beam::CodeLookup& code);

}  // namespace beamdump::capture
