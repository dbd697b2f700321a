#include <libdump/term/frame_cursor.h>

#include <utility>

namespace beamdump {

FrameCursor::FrameCursor(TermContext& context, const TagScheme& scheme, const ProcessStack& stack)
    : context_(&context), walk_(context, scheme, stack) {
    pending_ = begin_frame(stack.instruction, std::nullopt);
}

StackFrame FrameCursor::begin_frame(std::uint64_t code_address,
                                    std::optional<std::uint64_t> stack_address) {
    StackFrame frame;
    frame.index = frames_++;
    frame.code_address = code_address;
    frame.stack_address = stack_address;
    frame.location = context_->code_at(code_address);
    return frame;
}

std::optional<StackFrame> FrameCursor::next() {
    if (!pending_) {
        return std::nullopt;
    }
    StackFrame frame = std::move(*pending_);
    pending_.reset();
    while (const auto entry = walk_.next()) {
        switch (entry->kind) {
            case StackEntry::Kind::kReturnAddress:
                pending_ = begin_frame(entry->word, entry->address);
                return frame;
            case StackEntry::Kind::kMissing:
                frame.cut_short = true;
                return frame;
            case StackEntry::Kind::kCatch:
            case StackEntry::Kind::kRegister:
                frame.registers.push_back({.index = entry->register_index,
                                           .word = entry->word,
                                           .catch_address = entry->code_address,
                                           .is_catch = entry->kind == StackEntry::Kind::kCatch});
                break;
        }
        if (frame.registers.size() == kMaxRegisters) {
            pending_ = frame;
            pending_->registers.clear();
            pending_->continued = true;
            return frame;
        }
    }
    return frame;
}

}  // namespace beamdump
