#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace beamdump {

/// A processor architecture, of this program or of a node. The numbers are those of
/// records.Architecture.
enum class Architecture : std::uint8_t {
    kX86_64 = 0,
    kAarch64 = 1,
};

/// "x86-64", "aarch64"
std::string_view name_of(Architecture architecture);

/// By that name. Nothing: it is no name of an architecture.
std::optional<Architecture> architecture_named(std::string_view name);

/// That of an ELF file of this machine (e_machine). Nothing: none that is known.
std::optional<Architecture> architecture_of_elf(std::uint16_t machine);

/// Of this program.
#if defined(__x86_64__)
inline constexpr auto kOwnArchitecture = Architecture::kX86_64;
#elif defined(__aarch64__)
inline constexpr auto kOwnArchitecture = Architecture::kAarch64;
#else
#error "beamdump runs on x86-64 and aarch64"
#endif

}  // namespace beamdump
