#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/native/innermost_frames.h>

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

/// What the fragments leave in the x registers that all modules share, as far as it is certain
/// (jit/x86/instr_*.cpp, OTP 25 to 29): arithmetic and comparisons make terms without a collection,
/// and look-ups none.
CallEffect effect_of_fragment(std::string_view name) {
    static constexpr std::string_view kPrefix = "global::";
    static constexpr std::array<std::string_view, 9> kFinal = {
        "raise_exception",       "raise_exception_shared", "raise_exception_null_exp",
        "raise_shared",          "handle_element_error",   "handle_hd_error",
        "handle_map_get_badkey", "handle_map_get_badmap",  "handle_map_size_error"};
    static constexpr std::array<std::string_view, 10> kKeeping = {
        "arith_compare_shared",
        "arith_eq_shared",
        "increment_body_shared",
        "is_eq_exact_list_shared",
        "is_eq_exact_shallow_boxed_shared",
        "is_in_range_shared",
        "is_ge_lt_shared",
        "i_get_map_element_shared",
        "i_get_map_element_hash_shared",
        "bif_element_shared"};
    static constexpr std::array<std::string_view, 13> kArithmetic = {
        "plus",   "minus", "times",  "mul",    "mul_add", "unary_minus", "int_div_rem",
        "i_band", "i_bor", "i_bxor", "i_bnot", "i_bsl",   "i_bsr"};
    if (!name.starts_with(kPrefix)) {
        return CallEffect::kUnknown;
    }
    name.remove_prefix(kPrefix.size());
    const auto is_one = [&](const auto& names) {
        return std::ranges::find(names, name) != names.end();
    };
    if (name == "garbage_collect") {
        return CallEffect::kCollects;
    }
    if (name == "call_light_bif_shared") {
        return CallEffect::kResult;
    }
    if (is_one(kFinal)) {
        return CallEffect::kNoReturn;
    }
    for (const std::string_view end : {"_body_shared", "_guard_shared"}) {
        const auto operation = name.ends_with(end) ? name.substr(0, name.size() - end.size()) : "";
        if (std::ranges::find(kArithmetic, operation) != kArithmetic.end()) {
            return CallEffect::kKeepsAll;
        }
    }
    return is_one(kKeeping) ? CallEffect::kKeepsAll : CallEffect::kUnknown;
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

std::optional<FramePlace> InnermostFrames::frame_at(Address begin, Address end, Address place,
                                                    const FrameEntry& entry) {
    if (known_.size() >= kMostKnownFunctions) {
        known_.clear();
    }
    const auto [known, is_new] = known_.try_emplace(begin);
    if (is_new && begin < end && end - begin <= kMostFunctionBytes) {
        std::vector<std::byte> code(end - begin);
        if (vm_->target().memory().read(begin, code)) {
            known->second = FrameCode::read(code, begin, entry);
        }
    }
    return known->second ? known->second->at(place) : std::nullopt;
}

std::optional<FramePlace> InnermostFrames::function_frame(Address place) {
    const auto function = modules_ ? modules_->function_at(place) : std::nullopt;
    if (!function) {
        return std::nullopt;
    }
    // The code is behind the ErtsCodeInfo, which ends with the ErtsCodeMFA.
    return frame_at(code_of(*function), function->end, place,
                    {function->arity, [this](const FrameCall& call) { return effect_of(call); }});
}

/// Where a call or jump leads, if that is known.
std::optional<Address> InnermostFrames::destination(const FrameCall& call) const {
    if (!call.target || !call.in_word) {
        return call.target;
    }
    const auto word = vm_->target().memory().word(*call.target);
    return word ? std::optional(*word) : std::nullopt;
}

/// Where the jump leads that is there, if there is one.
std::optional<Address> InnermostFrames::jump_at(Address place) const {
    auto& memory = vm_->target().memory();
    std::array<std::byte, kJumpBytes> code{};
    const auto jump = memory.read(place, code) ? first_jump(code, place) : std::nullopt;
    return jump ? destination(*jump) : std::nullopt;
}

/// Whether a call is one of the code that begins there, directly or by way of jumps.
bool InnermostFrames::leads_to(const FrameCall& call, Address begin) const {
    auto target = destination(call);
    for (int jumps = 0; target && *target != begin && jumps < kMostJumps; ++jumps) {
        target = jump_at(*target);
    }
    return target == begin;
}

/// What a call leaves in the x registers, by what it calls: a function, or a shared fragment, by
/// its name.
CallEffect InnermostFrames::effect_of(const FrameCall& call) {
    auto target = destination(call);
    for (int jumps = 0; target && jumps <= kMostJumps; ++jumps) {
        if (const auto* shared = shared_at(*target)) {
            return shared->begin == *target ? effect_of_fragment(shared->name)
                                            : CallEffect::kUnknown;
        }
        const auto function = modules_ ? modules_->function_at(*target) : std::nullopt;
        if (function && code_of(*function) == *target) {
            return CallEffect::kResult;
        }
        target = jump_at(*target);
    }
    return CallEffect::kUnknown;
}

std::optional<InnermostFrame> InnermostFrames::find(Address place, Address top, bool native) {
    if (top % kStackWord != 0) {
        return std::nullopt;
    }
    auto& memory = vm_->target().memory();
    std::optional<FramePlace> frame;
    bool between = false;
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
        // In a fragment they are as behind it only where it leaves them alone.
        between = effect_of_fragment(shared->name) != CallEffect::kKeepsAll;
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
    return InnermostFrame{place, frame->complete ? begin : end, !frame->complete,
                          between ? 0 : frame->x_registers, !between && frame->all_x_registers};
}

}  // namespace beamdump::beam
