#include <libdump/base/architecture.h>

#include <algorithm>
#include <array>

namespace beamdump {
namespace {

/// EM_X86_64 and EM_AARCH64 of the ELF specification's e_machine.
constexpr std::uint16_t kElfX86_64 = 62, kElfAarch64 = 183;

struct Known {
    Architecture architecture;
    std::uint16_t elf_machine;
    std::string_view name;
};
constexpr std::array kKnown = {Known{Architecture::kX86_64, kElfX86_64, "x86-64"},
                               Known{Architecture::kAarch64, kElfAarch64, "aarch64"}};

template <typename Value>
std::optional<Architecture> known_by(Value Known::* member, Value value) {
    const auto* const found = std::ranges::find(kKnown, value, member);
    return found == kKnown.end() ? std::nullopt : std::optional(found->architecture);
}

}  // namespace

std::string_view name_of(Architecture architecture) {
    return std::ranges::find(kKnown, architecture, &Known::architecture)->name;
}

std::optional<Architecture> architecture_named(std::string_view name) {
    return known_by(&Known::name, name);
}

std::optional<Architecture> architecture_of_elf(std::uint16_t machine) {
    return known_by(&Known::elf_machine, machine);
}

}  // namespace beamdump
