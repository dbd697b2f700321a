#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system/own_program.h>
#include <libdump/crash/cache/text_key.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace beamdump::crash {
namespace {

/// Incremented with each change of the format of kept facts.
constexpr std::uint64_t kVersion = 2;

constexpr std::uint64_t kSamples = 16;
constexpr std::uint64_t kSampleBytes = 4096;

/// All numbers of 64 bits, so that no padding is hashed or compared.
struct Parts {
    std::uint64_t version = kVersion;
    std::uint64_t program_bytes = 0;
    std::int64_t program_modified_ns = 0;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    std::uint64_t samples = 0;
};
static_assert(sizeof(Parts) == 72);

/// The beginnings of as many equal parts of the text, and its end.
Result<std::uint64_t> hash_samples(const TextSource& text) {
    std::vector<char> all;
    std::array<char, kSampleBytes> sample{};
    for (std::uint64_t number = 0; number <= kSamples; ++number) {
        const auto end = text.size() - std::min(text.size(), kSampleBytes);
        const auto at = number == kSamples ? end : text.size() / kSamples * number;
        ASSIGN_OR_RETURN(const auto got, text.read(at, sample));
        all.insert(all.end(), sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(got));
    }
    return XXH64(all.data(), all.size(), 0);
}

}  // namespace

Result<TextKey> key_of(const TextSource& text, const TextSource::Identity& identity) {
    Parts parts;
    // Another version of the program may keep other facts.
    if (const auto program = system::own_program()) {
        parts.program_bytes = program->bytes;
        parts.program_modified_ns = program->modified_ns;
    }
    parts.device = identity.device;
    parts.inode = identity.inode;
    parts.bytes = identity.bytes;
    parts.modified_ns = identity.modified_ns;
    parts.changed_ns = identity.changed_ns;
    ASSIGN_OR_RETURN(parts.samples, hash_samples(text));
    const std::array file = {parts.device, parts.inode};
    const auto bytes = bytes_of(parts);
    return TextKey{fmt::format("{:016x}", XXH64(file.data(), sizeof(file), 0)),
                   std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

bool has_settled(const TextSource::Identity& identity) {
    constexpr std::chrono::nanoseconds kGranularity = std::chrono::seconds(2);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::chrono::nanoseconds last(std::max(identity.modified_ns, identity.changed_ns));
    return last + kGranularity < now;
}

}  // namespace beamdump::crash
