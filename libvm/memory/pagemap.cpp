#include <libdump/base/page_size.h>
#include <libdump/base/system_error.h>
#include <libvm/memory/pagemap.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <span>
#include <unistd.h>

namespace beamdump::memory {
namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63U;
constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62U;
constexpr std::uint64_t kGuard = std::uint64_t{1} << 58U;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 44U;
constexpr std::size_t kEntriesPerRead = 4096;

/// Adds the page at `page`, cut to `range`, to the end of `parts`.
void add_page(std::vector<AddressRange>& parts, Address page, AddressRange range) {
    const AddressRange part{std::max(page, range.begin), std::min(page + page_bytes(), range.end)};
    if (!parts.empty() && parts.back().end == part.begin) {
        parts.back().end = part.end;
    } else {
        parts.push_back(part);
    }
}

}  // namespace

Result<std::unique_ptr<Pagemap>> Pagemap::open(pid_t pid) {
    std::unique_ptr<Pagemap> pagemap(new Pagemap(pid));
    const auto path = fmt::format("/proc/{}/pagemap", pid);
    pagemap->file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!pagemap->file_.valid()) {
        const int error = errno;
        if (error == ENOENT || error == ESRCH) {
            return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", pid));
        }
        const bool forbidden = error == EACCES || error == EPERM;
        return fail(forbidden ? ErrorCode::kPermission : ErrorCode::kIo,
                    fmt::format("cannot open {}: {}", path, system_error_text(error)));
    }
    return pagemap;
}

/// The kernel answers "end of file" alike beyond the highest address and without address space.
bool Pagemap::address_space_gone() const {
    std::uint64_t first = 0;
    return ::pread(file_.get(), &first, sizeof first, 0) != sizeof first;
}

template <typename Visit>
Result<void> Pagemap::each(AddressRange range, const Visit& visit) {
    if (range.end <= range.begin) {
        return {};
    }
    if (range.bytes() > kMaxBytes) {
        return fail(ErrorCode::kLimit,
                    fmt::format("asked which pages of {:#x}-{:#x} there are: more than {} bytes",
                                range.begin, range.end, kMaxBytes));
    }
    std::uint64_t page = range.begin / page_bytes();
    const std::uint64_t last = (range.end - 1) / page_bytes();
    std::vector<std::uint64_t> entries(std::min<std::uint64_t>(last - page + 1, kEntriesPerRead));
    while (page <= last) {
        const auto bytes = std::min<std::uint64_t>(last - page + 1, kEntriesPerRead) * 8;
        const ssize_t got =
            ::pread(file_.get(), entries.data(), bytes, static_cast<off_t>(page * 8));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(ErrorCode::kIo,
                        fmt::format("reading pagemap of process {} at {:#x}: {}", pid_,
                                    page * page_bytes(), system_error_text(errno)));
        }
        if (got < 8) {
            if (address_space_gone()) {
                return fail(ErrorCode::kTargetDied,
                            fmt::format("process {} exited while it was being read", pid_));
            }
            break;  // beyond the highest user address
        }
        for (const auto entry : std::span(entries).first(static_cast<std::size_t>(got) / 8)) {
            visit(page++, entry);
        }
    }
    return {};
}

Result<std::vector<AddressRange>> Pagemap::present(AddressRange range) {
    return with(kPresent, range);
}

Result<std::vector<AddressRange>> Pagemap::guards(AddressRange range) {
    return with(kGuard, range);
}

Result<std::vector<AddressRange>> Pagemap::with(std::uint64_t bit, AddressRange range) {
    std::vector<AddressRange> parts;
    auto done = each(range, [&](std::uint64_t page, std::uint64_t entry) {
        if ((entry & bit) != 0) {
            add_page(parts, page * page_bytes(), range);
        }
    });
    return done ? Result<std::vector<AddressRange>>(std::move(parts))
                : std::unexpected(std::move(done.error()));
}

Result<Pagemap::Use> Pagemap::use(AddressRange range) {
    Use use;
    const auto page = page_bytes();
    auto done = each(range, [&use, page](std::uint64_t, std::uint64_t entry) {
        use.present += (entry & kPresent) != 0 ? page : 0;
        use.swapped += (entry & kSwapped) != 0 ? page : 0;
    });
    return done ? Result<Use>(use) : std::unexpected(std::move(done.error()));
}

}  // namespace beamdump::memory
