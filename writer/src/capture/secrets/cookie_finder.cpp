#include "capture/secrets/cookie_finder.h"

#include "capture/secrets/cookie_search.h"

#include <fmt/format.h>

namespace beamdump::capture {

Result<void> CookieFinder::find(beam::Vm& vm, beam::CodeLookup& code, const beam::Moving& moving) {
    auto found = beam::read_steadily(moving, vm, [&] {
        vm.forget();
        return find_cookies(vm, code, cookies_);
    });
    if (!found && found.error().code == ErrorCode::kTargetDied) {
        return found;
    }
    found_ |= found.has_value();
    unread_ = found_ ? std::nullopt : std::optional(found.error());
    return {};
}

std::vector<std::string> CookieFinder::warnings() const {
    std::vector<std::string> warnings;
    if (unread_) {
        warnings.push_back(fmt::format(
            "the cookies of the process auth were not found, and may be in the dump: {}",
            unread_->message));
    }
    if (cookies_.any_weak()) {
        warnings.emplace_back(
            "a cookie of the node is shorter than 4 characters or a word that every node has, and "
            "may be in the dump: treat the dump as a secret");
    }
    return warnings;
}

}  // namespace beamdump::capture
