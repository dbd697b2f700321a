#pragma once

#include <cstdint>
#include <filesystem>

namespace beamdump::crash {

/// Which facts of crash dumps are kept for later questions, and where.
struct CacheChoice {
    static constexpr std::uint64_t kDefaultLeast = std::uint64_t{64} << 20U;

    /// Empty: none are kept.
    std::filesystem::path directory;
    /// Smaller texts are searched in less time than an entry is worth.
    std::uint64_t least_bytes = kDefaultLeast;
};

/// The user's: `beamdump` in XDG_CACHE_HOME, if that is an absolute path, else in ~/.cache; none
/// without HOME.
std::filesystem::path user_cache_directory();

}  // namespace beamdump::crash
