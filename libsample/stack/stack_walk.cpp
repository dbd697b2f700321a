#include <libdump/base/return_if_error.h>
#include <libdump/term/term_scheme.h>
#include <libsample/stack/stack_walk.h>
#include <libvm/arch/aarch64/call_code.h>
#include <libvm/arch/call_code.h>
#include <libvm/beam/layout/term_bits.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace beamdump::sampler {
namespace {

/// A frame has at most 1024 y registers; making one is straight code with an instruction for each.
constexpr Address kCodeBefore = 1024;

/// The fragment that a function jumps to at its beginning, which leaves nothing on the stack.
constexpr std::string_view kYield = "i_test_yield_shared";

bool is_header(std::uint64_t word) {
    return (word & beam::kPrimaryMask) == beam::kPrimaryHeader;
}

}  // namespace

StackRules rules_of(const ObservedNode& node) {
    return {[&node](Address pc) { return node.in_code(pc); }, node.shared().normal_exit()};
}

Result<StackFrames> walk_stack(const StackRules& rules, Address instruction,
                               const StackWords& stack, std::size_t most) {
    StackFrames frames{.instruction = instruction};
    const auto bottom = stack.bottom.value_or(0);
    Address at = stack.begin;
    for (const auto word : stack.words) {
        const auto address = at;
        at += kWordBytes;
        if (!is_header(word)) {
            continue;
        }
        if (word == rules.normal_exit && word != 0) {
            return frames;
        }
        if (rules.in_code(word)) {
            if (frames.returns.size() == most) {
                frames.more = true;
                return frames;
            }
            frames.returns.push_back(word);
            continue;
        }
        const bool frame_pointer = word == 0 || (word > address && word < bottom);
        if (!frame_pointer) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the stack word at {:#x} is {:#x}, which is in no loaded code",
                                    address, word));
        }
    }
    // The words end before the stack does, or the node's shared code is not known.
    frames.more = at < bottom || !stack.bottom;
    if (!frames.more && rules.normal_exit != 0) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the stack up to {:#x} does not end as a process's does", bottom));
    }
    return frames;
}

namespace {

/// The code of the function before the place that it is at, as far as its frame may have been made
/// there, and `more` bytes from there on.
Result<std::vector<std::byte>> code_before(ObservedNode& node, Address place, std::size_t more) {
    const auto function = node.code().function_at(place);
    if (!function || function->start == 0 || function->start > place) {
        return std::vector<std::byte>();
    }
    const auto before = std::min<Address>(place - function->start, kCodeBefore);
    std::vector<std::byte> code(before + more);
    RETURN_IF_ERROR(node.vm().memory().read(place - before, code));
    return code;
}

/// What is known of the innermost frame of an interrupted process: the place that decides what it
/// holds, and the words of the stack from there on.
struct Innermost {
    Address place = 0;
    Address top = 0;
    std::span<const std::uint64_t> words;
};

Error called_in_an_unknown_way() {
    return {ErrorCode::kChanged, "in shared code, called in an unknown way"};
}

/// Of a place in shared code: its call has put where it returns to on the stack.
Result<Innermost> behind_pushed_return(ObservedNode& node, const StackWords& stack,
                                       StackFrames& frames) {
    if (stack.words.empty() || !node.code().in_code(stack.words.front())) {
        return std::unexpected(called_in_an_unknown_way());
    }
    (void)add_fragment_return(node, stack.words, frames);
    return Innermost{stack.words.front(), stack.begin + kWordBytes, stack.words.subspan(1)};
}

/// Of a place in shared code of aarch64: its call has put that into x30, unless it was jumped to,
/// where x30 still leads to the caller of the function that jumped, as its frame does.
Result<Innermost> behind_register(ObservedNode& node, Address link, const StackWords& stack,
                                  StackFrames& frames) {
    if (!node.code().in_code(link) || (!frames.returns.empty() && frames.returns.front() == link)) {
        return std::unexpected(called_in_an_unknown_way());
    }
    frames.returns.insert(frames.returns.begin(), link);
    return Innermost{link, stack.begin, stack.words};
}

}  // namespace

bool between_functions(ObservedNode& node, Address place) {
    return node.code().in_code(place) && !node.code().function_at(place);
}

bool add_fragment_return(ObservedNode& node, std::span<const std::uint64_t> words,
                         StackFrames& frames) {
    auto first = words.begin();
    if (first != words.end() && is_header(*first) && !node.in_code(*first)) {
        ++first;  // a frame pointer
    }
    if (first == words.end() || !node.in_code(*first)) {
        return false;
    }
    if (!is_header(*first)) {
        frames.returns.insert(frames.returns.begin(), *first);
    }
    return true;
}

Result<StackFrames> walk_interrupted(ObservedNode& node, Address instruction,
                                     std::optional<Address> link, const StackWords& stack,
                                     std::size_t most) {
    const auto rules = rules_of(node);
    ASSIGN_OR_RETURN(auto frames, walk_stack(rules, instruction, stack, most));
    Innermost innermost{instruction, stack.begin, stack.words};
    if (!node.code().in_code(instruction)) {
        if (node.shared().name_at(instruction) == kYield) {
            return std::unexpected(called_in_an_unknown_way());
        }
        ASSIGN_OR_RETURN(innermost, link ? behind_register(node, *link, stack, frames)
                                         : behind_pushed_return(node, stack, frames));
    }
    if (between_functions(node, innermost.place)) {
        return fail(ErrorCode::kChanged, "between functions of a module");
    }
    ASSIGN_OR_RETURN(auto code,
                     code_before(node, innermost.place, link ? sizeof(std::uint32_t) : 0));
    if (link && innermost.place == instruction && arch::aarch64::return_is_in_register(code)) {
        if (!rules.in_code(*link)) {
            return fail(ErrorCode::kChanged, "its return address is in no loaded code");
        }
        frames.returns.insert(frames.returns.begin(), *link);
        return frames;
    }
    if (link && !code.empty()) {
        code.resize(code.size() - sizeof(std::uint32_t));
    }
    const auto frame = arch::last_frame_bytes(node.vm().layout().architecture(), code);
    if (frame && may_be_half_made(rules, innermost.words, *frame)) {
        return fail(ErrorCode::kChanged,
                    fmt::format("the frame at {:#x} may be half made", innermost.top));
    }
    return frames;
}

// Where the frame was made just now, its return address is behind it, and what looks like one in it
// is left from calls before. Where it was made earlier, the first one is the right one.
bool may_be_half_made(const StackRules& rules, std::span<const std::uint64_t> words,
                      std::uint32_t frame_bytes) {
    const auto is_return = [&](std::uint64_t word) {
        return is_header(word) && rules.in_code(word);
    };
    std::size_t behind = frame_bytes / kWordBytes;
    if (behind < words.size() && !is_return(words[behind]) && is_header(words[behind])) {
        ++behind;  // a frame pointer
    }
    const auto first =
        static_cast<std::size_t>(std::ranges::find_if(words, is_return) - words.begin());
    return frame_bytes % kWordBytes == 0 && first < behind && behind < words.size() &&
           is_return(words[behind]);
}

}  // namespace beamdump::sampler
