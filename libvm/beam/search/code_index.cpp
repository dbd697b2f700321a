#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/code_index.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxCodeBytes = 1U << 20U;
constexpr Address kShort = Address{1} << 32U;  // addresses below take 32 bits in an instruction

template <typename T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
}

/// The index and its neighbour, which is the next one: while nothing was loaded yet, both are 0.
bool is_pair(std::uint32_t active, std::uint32_t staging) {
    return active < kCodeIndexes && staging == (active + 1) % kCodeIndexes;
}

bool is_index(const ImageSearch& search, Address address) {
    const auto own = search.at(address, sizeof(std::uint32_t));
    if (!own || address % sizeof(std::uint32_t) != 0) {
        return false;
    }
    const auto active = value_at<std::uint32_t>(*own, 0);
    const auto neighbour = [&](Address at) {
        const auto bytes = search.at(at, sizeof(std::uint32_t));
        return bytes && is_pair(active, value_at<std::uint32_t>(*bytes, 0));
    };
    return neighbour(address - sizeof(std::uint32_t)) || neighbour(address + sizeof(std::uint32_t));
}

}  // namespace

Result<Address> find_active_code_index(Vm& vm, const ImageSearch& search, const JitSelf& jit) {
    std::set<Address> found;
    for (const auto& module : jit.modules) {
        std::vector<std::byte> code(std::min(module.bytes, kMaxCodeBytes));
        if (auto done = vm.memory().read(module.begin, code); !done) {
            return wrap("reading the JIT's shared code", done.error());
        }
        for (std::size_t at = 0; at + sizeof(Address) <= code.size(); ++at) {
            const auto wide = value_at<Address>(code, at);
            const Address narrow = value_at<std::uint32_t>(code, at);
            if (is_index(search, wide)) {
                found.insert(wide);
            }
            if (vm.target().image().begin() < kShort && is_index(search, narrow)) {
                found.insert(narrow);
            }
        }
    }
    return only_one("the_active_code_index",
                    "one address in the code that modules share which holds 0 to 2, next to the "
                    "code index after it",
                    {found.begin(), found.end()});
}

}  // namespace beamdump::beam
