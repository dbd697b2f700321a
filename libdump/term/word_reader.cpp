#include <libdump/term/word_reader.h>

#include <algorithm>
#include <span>

namespace beamdump {

WordReader::WordReader(TermContext& context)
    : context_(&context), blocks_(std::make_unique_for_overwrite<Block[]>(kBlocks)) {}

WordStatus WordReader::read_miss(std::uint64_t address, std::uint64_t& word) {
    if (address % sizeof(word) != 0) {
        return WordStatus::kUnmapped;
    }
    Block& block = blocks_[slot_of(address)];
    const std::uint64_t block_begin = address - address % kBlockBytes;
    const std::uint64_t block_end =
        block_begin + kBlockBytes;  // 0 at the very end of the addresses
    const std::uint64_t first = std::max(block_begin, context_->words_begin(address));

    // Words before the requested one are likely to be needed too, so the whole block is tried
    // first; that fails if a region begins or is absent inside the block.
    block.begin = 0;
    block.end = 0;
    if (filled_.size() < kBlocks) {
        filled_.push_back(slot_of(address));
    }
    auto got =
        context_->words(first, std::span(block.words).first((block_end - first) / sizeof(word)));
    if (got && *got != 0 && first + *got * sizeof(word) > address) {
        block.begin = first;
        block.end = first + *got * sizeof(word);
        word = block.words[(address - first) / sizeof(word)];
        return WordStatus::kHere;
    }
    const std::size_t rest = (block_end - address) / sizeof(word);
    got = context_->words(address, std::span(block.words).first(rest));
    if (got && *got != 0) {
        block.begin = address;
        block.end = address + *got * sizeof(word);
        word = block.words[0];
        return WordStatus::kHere;
    }
    context_->missed(address);
    return !got && got.error().code == ErrorCode::kUnmapped ? WordStatus::kUnmapped
                                                            : WordStatus::kAbsent;
}

void WordReader::forget() {
    const auto drop = [](Block& block) {
        block.begin = 0;
        block.end = 0;
    };
    if (filled_.size() < kBlocks) {
        std::ranges::for_each(filled_, [&](std::size_t slot) { drop(blocks_[slot]); });
    } else {
        std::ranges::for_each(std::span(blocks_.get(), kBlocks), drop);
    }
    filled_.clear();
}

}  // namespace beamdump
