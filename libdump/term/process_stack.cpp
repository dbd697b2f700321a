#include <libdump/term/process_stack.h>

#include <algorithm>
#include <limits>
#include <span>

namespace beamdump {

StackWalk::StackWalk(TermContext& context, const TagScheme& scheme, const ProcessStack& stack)
    : context_(&context),
      scheme_(scheme),
      at_(stack.top),
      bottom_(stack.bottom),
      broken_(!is_aligned(stack.top) || !is_aligned(stack.bottom) || stack.bottom < stack.top) {}

bool StackWalk::fill() {
    const std::size_t wanted = std::min<std::uint64_t>(block_.size(), (bottom_ - at_) / kWordBytes);
    const auto got = context_->words(at_, std::span(block_).first(wanted));
    block_at_ = 0;
    block_size_ = got ? *got : 0;
    return block_size_ != 0;
}

std::optional<StackEntry> StackWalk::next() {
    if (!broken_ && at_ == bottom_) {
        return std::nullopt;
    }
    if (broken_ || (block_at_ == block_size_ && !fill())) {
        const StackEntry missing{.kind = StackEntry::Kind::kMissing, .address = at_};
        broken_ = false;
        at_ = bottom_;
        return missing;
    }
    StackEntry entry{.address = at_, .word = block_[block_at_++]};
    at_ += kWordBytes;
    const WordKind kind = word_kind(scheme_, entry.word);
    if (kind == WordKind::kHeader) {
        entry.kind = StackEntry::Kind::kReturnAddress;
        register_index_ = 0;
        return entry;
    }
    entry.register_index = register_index_++;
    entry.kind = StackEntry::Kind::kRegister;
    if (kind == WordKind::kCatch) {
        entry.kind = StackEntry::Kind::kCatch;
        const std::uint64_t index = table_index(entry.word);
        if (index <= std::numeric_limits<std::uint32_t>::max()) {
            entry.code_address = context_->catch_address(static_cast<std::uint32_t>(index));
        }
    }
    return entry;
}

}  // namespace beamdump
