#include <libvm/beam/search/candidates.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

constexpr std::size_t kMaxListed = 16;

}  // namespace

std::string listed(const std::vector<memory::Address>& addresses) {
    if (addresses.empty()) {
        return "nowhere";
    }
    std::string text;
    for (std::size_t index = 0; index < addresses.size() && index < kMaxListed; ++index) {
        text += fmt::format("{}{:#x}", index == 0 ? "" : ", ", addresses[index]);
    }
    if (addresses.size() > kMaxListed) {
        text += fmt::format(" and {} more", addresses.size() - kMaxListed);
    }
    return text;
}

Result<memory::Address> only_one(std::string_view what, std::string_view expected,
                                 const std::vector<memory::Address>& candidates) {
    if (candidates.size() != 1) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{}: expected {}, found {}", what, expected,
                                candidates.empty() ? "none" : "it at " + listed(candidates)));
    }
    return candidates.front();
}

bool is_code(Vm& vm, memory::Address address) {
    const auto* mapping = vm.target().mappings().find(address);
    return mapping != nullptr && mapping->executable;
}

}  // namespace beamdump::beam
