#include <libdump/base/return_if_error.h>
#include <libvm/target/twin/gadgets.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace beamdump::target {
namespace {

using memory::Address;
using memory::AddressRange;

constexpr std::size_t kLongest = std::max(kSigreturn.size(), kSyscallReturn.size());
constexpr std::size_t kBlockBytes = std::size_t{64} << 10U;

Address position(std::span<const std::byte> code, Address address,
                 std::span<const std::byte> pattern) {
    for (auto rest = code;;) {
        const auto at = std::ranges::search(rest, pattern);
        if (at.empty()) {
            return 0;
        }
        const auto place = address + static_cast<Address>(at.data() - code.data());
        if (place % kInstructionAlignment == 0) {
            return place;
        }
        rest = rest.subspan(static_cast<std::size_t>(at.data() - rest.data()) + 1);
    }
}

bool complete(const Gadgets& gadgets) {
    return gadgets.syscall_return != 0 && gadgets.sigreturn != 0;
}

/// Private code from a file; of memory that was made without one, only the kernel's.
bool searched(const Mapping& mapping) {
    const bool lasting = mapping.inode != 0 || mapping.path == "[vdso]";
    return lasting && mapping.executable && mapping.readable && !mapping.writable &&
           !mapping.shared && mapping.range.bytes() < (std::uint64_t{1} << 30U);
}

bool is_c_library(const Mapping& mapping) {
    return mapping.path.find("/libc") != std::string::npos ||
           mapping.path.find("/ld-musl") != std::string::npos;
}

void search(memory::MemorySource& memory, const AddressRange& range, Gadgets& found) {
    std::vector<std::byte> block(kBlockBytes);
    Address at = range.begin;
    while (at < range.end && !complete(found)) {
        const auto wanted = std::min<std::uint64_t>(block.size(), range.end - at);
        const auto got = memory.read_some(at, std::span(block).first(wanted));
        if (!got) {
            return;  // a hole in one file's code; others are searched too
        }
        find_gadgets_in(std::span(block).first(*got), at, found);
        // The next block overlaps, so that nothing is missed at the border.
        at += *got > kLongest ? *got - (kLongest - 1) : *got;
        if (at + kLongest > range.end) {
            return;
        }
    }
}

}  // namespace

void find_gadgets_in(std::span<const std::byte> code, Address address, Gadgets& found) {
    if (found.syscall_return == 0) {
        found.syscall_return = position(code, address, kSyscallReturn);
    }
    if (found.sigreturn == 0) {
        found.sigreturn = position(code, address, kSigreturn);
    }
    if (found.sigreturn == 0) {
        found.sigreturn = position(code, address, kShortSigreturn);
    }
}

Result<Gadgets> find_gadgets(memory::MemorySource& memory, memory::PresentPages& pages,
                             const Mappings& mappings) {
    std::vector<const Mapping*> code;
    for (const auto& mapping : mappings.all()) {
        if (searched(mapping)) {
            code.push_back(&mapping);
        }
    }
    std::ranges::stable_partition(code,
                                  [](const Mapping* mapping) { return is_c_library(*mapping); });
    Gadgets found;
    for (const Mapping* mapping : code) {
        ASSIGN_OR_RETURN(const auto present, pages.present(mapping->range));
        for (const auto& range : present) {
            search(memory, range, found);
        }
    }
    for (const Mapping* mapping : code) {
        search(memory, mapping->range, found);
    }
    if (!complete(found)) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format(
                "none of the {} code mappings of the process contains {}: a twin cannot be made",
                code.size(),
                found.sigreturn == 0 ? "a return from signal handlers"
                                     : "a system call followed by a return"));
    }
    return found;
}

Result<void> verify_gadgets(memory::MemorySource& memory, const Gadgets& gadgets) {
    Gadgets found;
    for (const auto at : {gadgets.syscall_return, gadgets.sigreturn}) {
        std::array<std::byte, kLongest> code{};
        ASSIGN_OR_RETURN(const auto got, memory.read_some(at, code));
        find_gadgets_in(std::span(code).first(got), at, found);
    }
    if (found != gadgets) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the code at {:#x} and {:#x} of the process has changed",
                                gadgets.syscall_return, gadgets.sigreturn));
    }
    return {};
}

}  // namespace beamdump::target
