#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/native/innermost_frames.h>
#include <libvm/beam/native/instruction.h>

#include <algorithm>
#include <array>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kStackWord = sizeof(std::uint64_t);
constexpr std::uint64_t kMostFunctionBytes = std::uint64_t{1} << 16U;
constexpr std::size_t kMostKnownFunctions = 256;
/// From a call to a fragment far away there are so many jumps at most
/// (jit/x86/beam_asm_module.cpp, resolve_fragment(), OTP 27 to 29: one).
constexpr int kMostJumps = 2;
constexpr std::size_t kJumpBytes = 16;

bool is_header(std::uint64_t word) {
    return (word & kPrimaryMask) == kPrimaryHeader;
}

}  // namespace

Result<InnermostFrames> InnermostFrames::open(Vm& vm, std::span<const JitRange> shared) {
    LayoutNames names(vm.layout());
    InnermostFrames frames(vm, {shared.begin(), shared.end()}, MfaFields(names),
                           names.field(runtime::ErtsCodeInfo::mfa));
    RETURN_IF_ERROR(names.outcome());
    return frames;
}

Result<void> InnermostFrames::read_modules() {
    known_.clear();
    ASSIGN_OR_RETURN(modules_, CodeLookup::read(*vm_));
    return {};
}

const JitRange* InnermostFrames::shared_at(Address place) const {
    const auto found = std::ranges::find_if(
        shared_, [&](const JitRange& range) { return range.begin <= place && place < range.end; });
    return found == shared_.end() ? nullptr : &*found;
}

bool InnermostFrames::in_code(Address address) const {
    return (modules_ && modules_->in_code(address)) || shared_at(address) != nullptr;
}

std::optional<FramePlace> InnermostFrames::frame_at(Address begin, Address end, Address place) {
    if (known_.size() >= kMostKnownFunctions) {
        known_.clear();
    }
    const auto [known, is_new] = known_.try_emplace(begin);
    if (is_new && begin < end && end - begin <= kMostFunctionBytes) {
        std::vector<std::byte> code(end - begin);
        if (vm_->target().memory().read(begin, code)) {
            known->second = FrameCode::read(code, begin);
        }
    }
    return known->second ? known->second->at(place) : std::nullopt;
}

std::optional<FramePlace> InnermostFrames::function_frame(Address place) {
    const auto function = modules_ ? modules_->function_at(place) : std::nullopt;
    // The code is behind the ErtsCodeInfo, which ends with the ErtsCodeMFA.
    return function
               ? frame_at(function->start + info_mfa_.offset + mfa_.bytes, function->end, place)
               : std::nullopt;
}

/// Whether a call is one of the code that begins there, directly or by way of jumps.
bool InnermostFrames::leads_to(const FrameCall& call, Address begin) const {
    auto& memory = vm_->target().memory();
    auto target = call.target;
    if (target && call.in_word) {
        const auto word = memory.word(*target);
        target = word ? std::optional(*word) : std::nullopt;
    }
    for (int jumps = 0; target && *target != begin && jumps < kMostJumps; ++jumps) {
        std::array<std::byte, kJumpBytes> code{};
        const auto jump = memory.read(*target, code) ? first_instruction(code) : std::nullopt;
        const auto next = jump ? *target + jump->bytes : 0;
        target.reset();
        if (jump && jump->is(0xe9)) {
            target = next + static_cast<Address>(jump->immediate);
        } else if (jump && jump->is(0xff) && (jump->reg & 7U) == 4 && jump->operand->relative) {
            const auto word =
                memory.word(next + static_cast<Address>(std::int64_t{jump->operand->displacement}));
            target = word ? std::optional(*word) : std::nullopt;
        }
    }
    return target == begin;
}

std::optional<InnermostFrame> InnermostFrames::find(Address place, Address top, bool native) {
    if (top % kStackWord != 0) {
        return std::nullopt;
    }
    auto& memory = vm_->target().memory();
    std::optional<FramePlace> frame;
    if (const auto* shared = shared_at(place)) {
        const auto own = frame_at(shared->begin, shared->end, place);
        if (!own || own->on_native_stack != native) {
            return std::nullopt;
        }
        top += kStackWord * (own->pushed + own->words);
        const auto returns_to = memory.word(top);
        frame = returns_to ? function_frame(*returns_to) : std::nullopt;
        // A fragment that is jumped to has no return address of its own there.
        if (!frame || frame->on_native_stack || !frame->call ||
            !leads_to(*frame->call, shared->begin)) {
            return std::nullopt;
        }
        place = *returns_to;
        top += kStackWord;
    } else {
        frame = function_frame(place);
        if (!frame || frame->on_native_stack != native) {
            return std::nullopt;
        }
    }
    const auto begin = top + kStackWord * frame->pushed;
    const auto end = begin + kStackWord * frame->words;
    std::vector<std::uint64_t> words(frame->words + 1);
    if (!memory.read(begin, std::as_writable_bytes(std::span(words))) || !in_code(words.back())) {
        return std::nullopt;
    }
    words.pop_back();
    if (frame->complete && std::ranges::any_of(words, is_header)) {
        return std::nullopt;
    }
    return InnermostFrame{place, frame->complete ? begin : end, !frame->complete};
}

}  // namespace beamdump::beam
