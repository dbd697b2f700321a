#include <libdump/base/bytes.h>
#include <libvm/arch/x86_64/host/signal_frame.h>

#include <fmt/format.h>

#include <cpuid.h>
#include <cstring>

namespace beamdump::target {
namespace {

// Linux' arch/x86/include/uapi/asm/ucontext.h
constexpr std::uint64_t kHasXsave = 1;
constexpr std::uint64_t kHasStackSelector = 2;
constexpr std::uint64_t kStrictStackSelector = 4;

constexpr std::uint64_t kInterruptsEnabled = 0x202;  // eflags of a thread that has just begun

constexpr std::size_t kXsaveAlignment = 64;
// Linux' arch/x86/include/uapi/asm/sigcontext.h: _fpx_sw_bytes in the legacy area's last 48 bytes.
constexpr std::size_t kSoftwareBytesAt = 464;
constexpr std::size_t kXsaveHeaderAt = 512;
constexpr std::size_t kLegacyAndHeaderBytes = 576;
constexpr std::uint32_t kMagic1 = 0x46505853;
constexpr std::uint32_t kMagic2 = 0x46505845;
// Bits of XCR0 that a process has only after asking for them (Linux' XFEATURE_MASK_USER_DYNAMIC).
constexpr std::uint64_t kOnRequest = std::uint64_t{1} << 18U;
constexpr unsigned kXsaveLeaf = 13;

/// _fpx_sw_bytes
struct SoftwareBytes {
    std::uint32_t magic1;
    std::uint32_t extended_size;
    std::uint64_t features;
    std::uint32_t xsave_size;
    std::array<std::uint32_t, 7> padding;
};
static_assert(sizeof(SoftwareBytes) == 48);

/// What is on the stack of a thread that is about to return from a signal handler: struct
/// rt_sigframe up to its ucontext's end (Linux' arch/x86/include/asm/sigframe.h, and ucontext.h and
/// sigcontext.h of uapi/asm).
struct Frame {
    std::uint64_t return_address;
    std::uint64_t flags;
    std::uint64_t link;
    std::uint64_t alternate_stack;
    std::uint32_t alternate_stack_mode;
    std::uint32_t padding;
    std::uint64_t alternate_stack_bytes;
    std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    std::uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
    std::uint16_t cs, gs, fs, ss;
    std::uint64_t error, trap, old_mask, fault_address;
    std::uint64_t xsave;
    std::array<std::uint64_t, 8> reserved;
    std::uint64_t signal_mask;
};
static_assert(sizeof(Frame) == kFrameBytes);

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
}

// ERESTARTSYS and the like: what a system call that was interrupted left in rax (Linux'
// include/linux/errno.h).
constexpr std::int64_t kRestartSys = -512;
constexpr std::int64_t kRestartNoInterrupt = -513;
constexpr std::int64_t kRestartNoHandler = -514;
constexpr std::int64_t kRestartBlock = -516;

}  // namespace

XsaveShape xsave_shape(std::uint64_t features) {
    XsaveShape shape{features & ~kOnRequest, kLegacyAndHeaderBytes};
    for (unsigned bit = 2; bit < 63; ++bit) {
        unsigned size = 0;
        unsigned offset = 0;
        unsigned ignored = 0;
        if ((shape.features >> bit & 1U) != 0 &&
            __get_cpuid_count(kXsaveLeaf, bit, &size, &offset, &ignored, &ignored) != 0) {
            shape.bytes = std::max(shape.bytes, std::size_t{offset} + size);
        }
    }
    return shape;
}

std::uint64_t xsave_features(std::span<const std::byte> regset) {
    return load<std::uint64_t>(regset, kSoftwareBytesAt).value_or(0);
}

Result<std::vector<std::byte>> xsave_for_frame(std::span<const std::byte> regset,
                                               const XsaveShape& shape) {
    if (regset.size() < shape.bytes || shape.bytes < kLegacyAndHeaderBytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the kernel gives {} bytes of a thread's extended registers where "
                                "this processor's are {}",
                                regset.size(), shape.bytes));
    }
    const auto in_use = load_known<std::uint64_t>(regset, kXsaveHeaderAt);
    const auto compacted = load_known<std::uint64_t>(regset, kXsaveHeaderAt + 8);
    if (compacted != 0) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format("the kernel gives a thread's extended registers in a layout that is "
                        "not the standard one ({:#x})",
                        compacted));
    }
    if ((in_use & ~shape.features) != 0) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format("the thread uses extended registers ({:#x}) that a signal frame may "
                        "not restore",
                        in_use & ~shape.features));
    }
    std::vector<std::byte> frame(regset.begin(),
                                 regset.begin() + static_cast<std::ptrdiff_t>(shape.bytes));
    const auto bytes = static_cast<std::uint32_t>(shape.bytes);
    store(
        frame, kSoftwareBytesAt,
        SoftwareBytes{kMagic1, bytes + std::uint32_t{sizeof(kMagic2)}, shape.features, bytes, {}});
    append(frame, bytes_of(kMagic2));
    return frame;
}

void go_to(HostRegisters& registers, memory::Address place, memory::Address stack) {
    registers.rip = place;
    registers.rsp = stack;
    registers.orig_rax = ~std::uint64_t{0};
}

Result<HostRegisters> restarted(const HostRegisters& stopped) {
    HostRegisters registers = stopped;
    registers.orig_rax = ~std::uint64_t{0};
    if (static_cast<std::int64_t>(stopped.orig_rax) < 0) {
        return registers;
    }
    switch (static_cast<std::int64_t>(stopped.rax)) {
        case kRestartSys:
        case kRestartNoInterrupt:
        case kRestartNoHandler:
            registers.rax = stopped.orig_rax;
            registers.rip = stopped.rip - kSyscallBytes;
            return registers;
        case kRestartBlock:
            return fail(
                ErrorCode::kUnsupported,
                fmt::format(
                    "the thread sleeps with a time-out (system call {}), which cannot be restarted",
                    stopped.orig_rax));
        default:
            return registers;
    }
}

FrameChain::FrameChain(memory::Address at, const Gadgets& gadgets, const HostRegisters& selectors)
    : at_(at), gadgets_(gadgets), code_selector_(selectors.cs), stack_selector_(selectors.ss) {}

void FrameChain::call(const SystemCall& call) {
    Frame frame{};
    frame.return_address = gadgets_.sigreturn;
    frame.flags = kHasStackSelector | kStrictStackSelector;
    frame.alternate_stack_mode = kKeepAlternateStack;
    frame.rax = call.number;
    frame.rdi = call.arguments[0];
    frame.rsi = call.arguments[1];
    frame.rdx = call.arguments[2];
    frame.r10 = call.arguments[3];
    frame.r8 = call.arguments[4];
    frame.r9 = call.arguments[5];
    frame.rip = gadgets_.syscall_return;
    frame.rsp = at_ + bytes_.size() + kFrameBytes;
    frame.eflags = kInterruptsEnabled;
    frame.cs = static_cast<std::uint16_t>(code_selector_);
    frame.ss = static_cast<std::uint16_t>(stack_selector_);
    frame.signal_mask = kAllSignals;
    append(bytes_, bytes_of(frame));
}

void FrameChain::resume(const ThreadState& state) {
    const auto& registers = state.registers;
    const auto after_frame = bytes_.size() + kFrameBytes;
    const auto xsave_at = (after_frame + kXsaveAlignment - 1) / kXsaveAlignment * kXsaveAlignment;
    Frame frame{};
    frame.return_address = gadgets_.sigreturn;
    frame.flags = kHasXsave | kHasStackSelector | kStrictStackSelector;
    frame.alternate_stack_mode = kKeepAlternateStack;
    frame.r8 = registers.r8;
    frame.r9 = registers.r9;
    frame.r10 = registers.r10;
    frame.r11 = registers.r11;
    frame.r12 = registers.r12;
    frame.r13 = registers.r13;
    frame.r14 = registers.r14;
    frame.r15 = registers.r15;
    frame.rdi = registers.rdi;
    frame.rsi = registers.rsi;
    frame.rbp = registers.rbp;
    frame.rbx = registers.rbx;
    frame.rdx = registers.rdx;
    frame.rax = registers.rax;
    frame.rcx = registers.rcx;
    frame.rsp = registers.rsp;
    frame.rip = registers.rip;
    frame.eflags = registers.eflags;
    frame.cs = static_cast<std::uint16_t>(registers.cs);
    frame.ss = static_cast<std::uint16_t>(registers.ss);
    frame.xsave = at_ + xsave_at;
    frame.signal_mask = state.signal_mask;
    append(bytes_, bytes_of(frame));
    bytes_.resize(xsave_at);
    append(bytes_, state.extended);
}

}  // namespace beamdump::target
