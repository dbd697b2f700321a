#include <libdump/base/bytes.h>
#include <libdump/base/file_start.h>
#include <libdump/read/file/file_kind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace beamdump {

namespace {

using namespace std::string_view_literals;

struct Known {
    std::string_view start;
    std::string_view description;
};

constexpr std::array kKnown = {
    Known{"=erl_crash_dump"sv, "is an Erlang crash dump (text), which this program cannot read"sv},
    Known{"ENC0"sv, "is an encrypted Erlang crash dump, which this program cannot read"sv},
    Known{"\x1f\x8b"sv, "is compressed with gzip; unpack it first (gzip -d)"sv},
    Known{"\x28\xb5\x2f\xfd"sv, "is compressed with zstd as a whole; unpack it first (zstd -d)"sv},
    Known{"\xfd"
          "7zXZ\0"sv,
          "is compressed with xz; unpack it first (xz -d)"sv},
    Known{"BZh"sv, "is compressed with bzip2; unpack it first (bzip2 -d)"sv},
    Known{"PK\x03\x04"sv, "is a zip archive; unpack it first"sv},
    Known{"FOR1"sv, "is an Erlang object file (.beam)"sv},
};

constexpr std::size_t kElfTypeOffset = 16;  // e_type of Elf64_Ehdr
constexpr std::uint16_t kElfCore = 4;       // ET_CORE

bool is_text(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) {
        const auto value = std::to_integer<unsigned>(byte);
        return value >= 0x20U || value == '\n' || value == '\r' || value == '\t';
    });
}

}  // namespace

std::string describe_other_file(std::span<const std::byte> first_bytes) {
    const std::string_view start(reinterpret_cast<const char*>(first_bytes.data()),
                                 first_bytes.size());
    if (start.empty()) {
        return "is empty";
    }
    if (start.starts_with("\x7f"
                          "ELF"sv)) {
        return load<std::uint16_t>(first_bytes, kElfTypeOffset) == kElfCore
                   ? "is an ELF core file, which this program cannot read"
                   : "is an ELF executable or library";
    }
    const auto* known =
        std::ranges::find_if(kKnown, [&](const Known& k) { return start.starts_with(k.start); });
    if (known != kKnown.end()) {
        return std::string(known->description);
    }
    if (const auto packed = packed_in(start); !packed.empty()) {
        return std::string(packed);
    }
    return is_text(first_bytes) ? "is a text file" : "does not begin as a dump does";
}

}  // namespace beamdump
