#include "check/dump_estimate.h"

#include <libdump/base/return_if_error.h>
#include <libdump/coding/word_coding.h>

#include <zstd.h>

#include <algorithm>

namespace beamdump::check {
namespace {

constexpr std::uint64_t kBlockBytes = 64U << 10U;
constexpr std::uint64_t kBlocks = 256;
/// The size of a block of the sample; distant blocks have little in common to compress.
constexpr std::uint64_t kBlocksTogether = 16;

/// The resident parts of memory that is neither file-backed nor shared.
Result<std::vector<memory::AddressRange>> anonymous_parts(target::Target& target) {
    std::vector<memory::AddressRange> parts;
    for (const auto& mapping : target.mappings().all()) {
        const bool named = !mapping.path.empty() && mapping.path != "[heap]";
        if (!mapping.readable || !mapping.writable || mapping.shared || named) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto present, target.pages().present(mapping.range));
        parts.insert(parts.end(), present.begin(), present.end());
    }
    return parts;
}

/// Up to kBlocks blocks, evenly spaced over all parts.
std::vector<memory::AddressRange> sample(std::span<const memory::AddressRange> parts,
                                         std::uint64_t total) {
    const std::uint64_t step = std::max(total / kBlocks, kBlockBytes);
    std::vector<memory::AddressRange> blocks;
    std::uint64_t before = 0;
    std::uint64_t next = 0;
    for (const auto& part : parts) {
        for (; next < before + part.bytes(); next += step) {
            const auto begin = part.begin + (next - before);
            blocks.push_back({begin, std::min(begin + kBlockBytes, part.end)});
        }
        before += part.bytes();
    }
    return blocks;
}

/// As the words of a run of regions are coded in a dump.
void code(std::span<std::byte> words, memory::AddressRange block, std::span<std::byte> scratch) {
    const coding::RegionRange range{.begin = block.begin, .bytes = block.bytes()};
    coding::swap_distances(words, range, block.begin);
    if (coding::planes_pay(coding::words_like_text(words), words.size() / coding::kWordBytes)) {
        coding::to_planes(words, scratch);
    }
}

std::uint64_t compressed(std::span<const std::byte> bytes, int level) {
    std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
    const auto size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
    return ZSTD_isError(size) != 0 ? bytes.size() : size;
}

}  // namespace

Result<DumpEstimate> estimate_dump(target::Target& target, int level) {
    ASSIGN_OR_RETURN(const auto parts, anonymous_parts(target));
    DumpEstimate estimate;
    for (const auto& part : parts) {
        estimate.resident_bytes += part.bytes();
    }
    std::vector<std::byte> together;
    std::vector<std::byte> scratch(kBlockBytes);
    const auto flush = [&] {
        estimate.sampled_bytes += together.size();
        estimate.compressed_bytes += compressed(together, level);
        together.clear();
    };
    for (const auto& block : sample(parts, estimate.resident_bytes)) {
        const auto begin = together.size();
        together.resize(begin + block.bytes());
        // A block that was unmapped meanwhile does not matter for an estimate.
        const auto read =
            target.memory().read_some(block.begin, std::span(together).subspan(begin));
        const auto words = read.value_or(0) / coding::kWordBytes * coding::kWordBytes;
        together.resize(begin + words);
        code(std::span(together).subspan(begin), block, scratch);
        if (together.size() >= kBlocksTogether * kBlockBytes) {
            flush();
        }
    }
    flush();
    if (estimate.sampled_bytes != 0) {
        estimate.dump_bytes =
            static_cast<std::uint64_t>(static_cast<double>(estimate.resident_bytes) *
                                       static_cast<double>(estimate.compressed_bytes) /
                                       static_cast<double>(estimate.sampled_bytes));
    }
    return estimate;
}

}  // namespace beamdump::check
