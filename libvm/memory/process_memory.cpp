#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/memory/process_memory.h>

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace beamdump::memory {
namespace {

// The kernel moves at most about 2 GiB a call and cuts longer ones without saying why.
constexpr std::size_t kMaxBytesPerCall = std::size_t{1} << 30U;
constexpr std::size_t kLeastReadsPerCall = 16;

bool gone(int error) {
    return error == ESRCH;
}
bool forbidden(int error) {
    return error == EPERM || error == EACCES || error == ENOSYS;
}

/// How many of the first `at_most` reads one call can take.
std::size_t reads_in_one_call(std::span<const BatchRead> reads, std::size_t at_most) {
    std::size_t bytes = 0;
    std::size_t count = 0;
    while (count < std::min(reads.size(), at_most)) {
        const auto size = reads[count].into.size();
        if (reads[count].address >= kUserEnd || size > kMaxBytesPerCall - bytes) {
            break;
        }
        bytes += size;
        ++count;
    }
    return count;
}

/// Puts the loads of the next call behind those of earlier ones, on a processor that would reorder
/// them too: proofs compare what was read before with what is read afterwards. x86-64 needs no
/// instruction for it.
void follow_earlier_reads() {
    std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace

Result<std::unique_ptr<ProcessMemory>> ProcessMemory::open(pid_t pid, ReadWay way) {
    std::unique_ptr<ProcessMemory> memory(new ProcessMemory(pid, way));
    // Opened early: the descriptor stays with this process even if its pid is used again.
    memory->mem_ =
        Descriptor(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
    if (!memory->mem_.valid()) {
        memory->mem_error_ = errno;
        if (errno == ENOENT || errno == ESRCH) {
            return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", pid));
        }
    }
    return memory;
}

std::unique_ptr<MemorySource> ProcessMemory::second_source() {
    std::unique_ptr<ProcessMemory> second(new ProcessMemory(pid_, way_));
    second->mem_error_ = mem_error_;
    if (mem_.valid()) {
        // Not opened anew: the pid may be another process's by now.
        second->mem_ = Descriptor(::fcntl(mem_.get(), F_DUPFD_CLOEXEC, 0));
        if (!second->mem_.valid()) {
            return nullptr;
        }
    }
    return second;
}

std::unexpected<Error> ProcessMemory::read_error(Address address, std::size_t bytes,
                                                 int error) const {
    if (gone(error)) {
        return fail(ErrorCode::kTargetDied,
                    fmt::format("process {} exited while it was being read", pid_));
    }
    if (forbidden(error)) {
        return fail(ErrorCode::kPermission,
                    fmt::format("reading the memory of process {} is not permitted ({})", pid_,
                                system_error_text(error)));
    }
    if (error == EFAULT || error == EIO) {
        return fail(ErrorCode::kUnmapped,
                    fmt::format("no readable memory at {:#x} in process {}", address, pid_));
    }
    return fail(ErrorCode::kIo, fmt::format("reading {} bytes at {:#x} of process {} failed: {}",
                                            bytes, address, pid_, system_error_text(error)));
}

bool ProcessMemory::fall_back(int error) {
    if (!forbidden(error) || !mem_.valid()) {
        return false;
    }
    way_ = ReadWay::kProcMem;
    return true;
}

Result<std::size_t> ProcessMemory::read_some(Address address, std::span<std::byte> into) {
    if (into.empty()) {
        return 0;
    }
    if (address >= kUserEnd) {
        return read_error(address, into.size(), EFAULT);
    }
    into = into.first(std::min(into.size(), kMaxBytesPerCall));
    if (way_ == ReadWay::kProcMem) {
        return read_proc_mem(address, into);
    }
    const iovec local{into.data(), into.size()};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the target, as the call wants it.
    const iovec remote{reinterpret_cast<void*>(address), into.size()};
    ++stats_.reads;
    follow_earlier_reads();
    const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (got < 0) {
        const int error = errno;
        return fall_back(error) ? read_proc_mem(address, into)
                                : Result<std::size_t>(read_error(address, into.size(), error));
    }
    if (got == 0) {
        return read_error(address, into.size(), EFAULT);
    }
    stats_.bytes += static_cast<std::size_t>(got);
    return static_cast<std::size_t>(got);
}

Result<std::size_t> ProcessMemory::read_proc_mem(Address address, std::span<std::byte> into) {
    if (!mem_.valid()) {
        return read_error(address, into.size(), mem_error_);
    }
    ssize_t got = 0;
    do {
        ++stats_.reads;
        follow_earlier_reads();
        got = ::pread(mem_.get(), into.data(), into.size(), static_cast<off_t>(address));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return read_error(address, into.size(), errno);
    }
    if (got == 0) {
        // The file has no end; no bytes means that the address space is gone.
        return read_error(address, into.size(), ESRCH);
    }
    stats_.bytes += static_cast<std::size_t>(got);
    return static_cast<std::size_t>(got);
}

/// Fills the first of `reads`, at most `at_most`; gives how many were filled. Fewer than were due:
/// the one after them cannot be read as a whole.
Result<std::size_t> ProcessMemory::read_vectors(std::span<BatchRead> reads, std::size_t at_most) {
    local_.clear();
    remote_.clear();
    for (const auto& one : reads.first(at_most)) {
        local_.push_back({one.into.data(), one.into.size()});
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the target.
        remote_.push_back({reinterpret_cast<void*>(one.address), one.into.size()});
    }
    ++stats_.reads;
    follow_earlier_reads();
    const ssize_t got =
        ::process_vm_readv(pid_, local_.data(), local_.size(), remote_.data(), remote_.size(), 0);
    if (got < 0 && errno != EFAULT) {
        return read_error(reads[0].address, reads[0].into.size(), errno);
    }
    auto left = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    stats_.bytes += left;
    std::size_t filled = 0;
    while (filled < at_most && left >= reads[filled].into.size()) {
        left -= reads[filled].into.size();
        reads[filled].done = true;
        ++filled;
    }
    return filled;
}

Result<void> ProcessMemory::read_batch(std::span<BatchRead> reads) {
    for (auto& one : reads) {
        one.done = false;
    }
    // After a failure few are tried at once: bad addresses come in groups, and each costs a call.
    std::size_t limit = IOV_MAX;
    while (!reads.empty()) {
        if (way_ == ReadWay::kProcMem) {
            return MemorySource::read_batch(reads);
        }
        const auto count = reads_in_one_call(reads, limit);
        if (count == 0) {  // one that no call can take: too large, or not an address
            RETURN_IF_ERROR(MemorySource::read_batch(reads.first(1)));
            reads = reads.subspan(1);
            continue;
        }
        auto filled = read_vectors(reads, count);
        if (!filled) {
            if (filled.error().code == ErrorCode::kPermission && fall_back(EPERM)) {
                continue;
            }
            return std::unexpected(filled.error());
        }
        const bool failed = *filled < count;
        limit = failed ? kLeastReadsPerCall : std::min<std::size_t>(limit * 2, IOV_MAX);
        reads = reads.subspan(*filled + (failed ? 1 : 0));
    }
    return {};
}

}  // namespace beamdump::memory
