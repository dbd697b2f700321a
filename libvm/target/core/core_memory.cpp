#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/core/core_memory.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace beamdump::target {
namespace {

using memory::Address;
using memory::AddressRange;

constexpr std::size_t kBytesLookedAtOnce = std::size_t{256} << 10U;

bool all_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

void append(std::vector<AddressRange>& ranges, AddressRange range) {
    if (!ranges.empty() && ranges.back().end == range.begin) {
        ranges.back().end = range.end;
    } else {
        ranges.push_back(range);
    }
}

/// Adds those pages of `bytes`, which are at `address`, that hold anything but zeros.
void append_written(std::vector<AddressRange>& ranges, Address address,
                    std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto to_page_end = kLeastPageBytes - address % kLeastPageBytes;
        const auto page = bytes.first(std::min<std::size_t>(to_page_end, bytes.size()));
        if (!all_zero(page)) {
            append(ranges, {address, address + page.size()});
        }
        address += page.size();
        bytes = bytes.subspan(page.size());
    }
}

}  // namespace

std::size_t CoreMemory::add_file(Descriptor file, std::string name) {
    files_.push_back({std::move(file), std::move(name)});
    return files_.size() - 1;
}

std::size_t CoreMemory::first_ending_after(Address address) const {
    const auto found = std::ranges::upper_bound(parts_, address, {},
                                                [](const Part& part) { return part.range.end; });
    return static_cast<std::size_t>(found - parts_.begin());
}

std::vector<AddressRange> CoreMemory::gaps(AddressRange range) const {
    std::vector<AddressRange> free;
    auto reached = range.begin;
    for (auto index = first_ending_after(range.begin);
         index < parts_.size() && parts_[index].range.begin < range.end; ++index) {
        const auto& part = parts_[index].range;
        if (reached < part.begin) {
            free.push_back({reached, part.begin});
        }
        reached = part.end;
    }
    if (reached < range.end) {
        free.push_back({reached, range.end});
    }
    return free;
}

void CoreMemory::add(AddressRange range, std::size_t file, std::uint64_t offset) {
    for (const auto& gap : gaps(range)) {
        const auto at = static_cast<std::ptrdiff_t>(first_ending_after(gap.begin));
        parts_.insert(parts_.begin() + at, {gap, file, offset + (gap.begin - range.begin)});
    }
}

Result<std::size_t> CoreMemory::read_part(const Part& part, Address address,
                                          std::span<std::byte> into) const {
    const auto& file = files_[part.file];
    const auto wanted = std::min<std::uint64_t>(into.size(), part.range.end - address);
    const auto offset = part.offset + (address - part.range.begin);
    ssize_t got = 0;
    do {
        got = ::pread(file.descriptor.get(), into.data(), wanted, static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot read {} bytes at offset {} of {}: {}", wanted, offset,
                                file.name, system_error_text(errno)));
    }
    return static_cast<std::size_t>(got);
}

Result<std::size_t> CoreMemory::read_some(Address address, std::span<std::byte> into) {
    const auto index = first_ending_after(address);
    if (index < parts_.size() && parts_[index].range.contains(address)) {
        auto got = read_part(parts_[index], address, into);
        if (!got) {
            return got;
        }
        if (*got > 0) {
            ++stats_.reads;
            stats_.bytes += *got;
            return got;
        }
    }
    return fail(ErrorCode::kUnmapped,
                fmt::format("{} bytes at {:#x} are not in the core{}{}", into.size(), address,
                            missing_.empty() ? "" : "; ", missing_));
}

Result<std::vector<AddressRange>> CoreMemory::present(AddressRange range) {
    std::vector<AddressRange> written;
    std::vector<std::byte> buffer(std::min<std::uint64_t>(kBytesLookedAtOnce, range.bytes()));
    for (auto index = first_ending_after(range.begin);
         index < parts_.size() && parts_[index].range.begin < range.end; ++index) {
        const auto& part = parts_[index];
        const auto end = std::min(part.range.end, range.end);
        for (auto at = std::max(part.range.begin, range.begin); at < end;) {
            const auto into =
                std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - at));
            ASSIGN_OR_RETURN(auto got, read_part(part, at, into));
            if (got == 0) {
                break;  // the file is shorter than it was
            }
            append_written(written, at, into.first(got));
            at += got;
        }
    }
    return written;
}

}  // namespace beamdump::target
