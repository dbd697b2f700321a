#include <libdump/base/architecture.h>
#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libsample/events/perf_access.h>
#include <libsample/events/thread_event.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace beamdump::sampler {
namespace {

perf_event_attr attributes(const EventTerms& terms, bool without_kernel) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    if (terms.breakpoint) {
        attr.type = PERF_TYPE_BREAKPOINT;
        attr.bp_type = terms.written ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
        attr.bp_addr = *terms.breakpoint;
        attr.bp_len = sizeof(long);
    } else {
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_CPU_CLOCK;
    }
    attr.disabled = terms.off ? 1 : 0;
    attr.sample_period = terms.period;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
                       PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = kSampledRegisters;
    attr.sample_stack_user = terms.stack_bytes;
    attr.exclude_kernel = without_kernel ? 1 : 0;
    attr.exclude_hv = 1;
    if (terms.wakes) {
        attr.wakeup_events = 1;
    } else {
        attr.watermark = 1;
        attr.wakeup_watermark = static_cast<std::uint32_t>(terms.ring_pages * page_bytes());
    }
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    return attr;
}

int open_event(pid_t thread, const perf_event_attr& attr) {
    return static_cast<int>(
        ::syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

Error cannot_open(pid_t thread, bool breakpoint, int error) {
    switch (error) {
        case EACCES:
        case EPERM:
        case ENOSYS:
            return perf_refused(perf_access(), error);
        case ESRCH:
            return {ErrorCode::kTargetDied, fmt::format("thread {} has ended", thread)};
        case ENOENT:
        case EOPNOTSUPP:
            return {ErrorCode::kUnsupported,
                    breakpoint ? "this kernel, or the virtual machine that it runs in, has no "
                                 "breakpoints of the processor"
                               : "this kernel has no perf events"};
        case ENOSPC:
            return {ErrorCode::kLimit,
                    fmt::format("thread {} has no breakpoint left: something else has set some",
                                thread)};
        case EMFILE:
        case ENOMEM:
            return {ErrorCode::kLimit, fmt::format("cannot open a perf event of thread {}: {}",
                                                   thread, system_error_text(error))};
        default:
            return {ErrorCode::kIo, fmt::format("cannot open a perf event of thread {}: {}", thread,
                                                system_error_text(error))};
    }
}

}  // namespace

void ThreadEvent::Unmap::operator()(std::byte* ring) const {
    ::munmap(ring, bytes);
}

Result<ThreadEvent> ThreadEvent::open(pid_t thread, const EventTerms& terms) {
    if constexpr (!arch::host::kSamples) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format("this program cannot sample threads on {} yet", name_of(kOwnArchitecture)));
    }
    ThreadEvent event;
    event.thread_ = thread;
    event.event_ = Descriptor(open_event(thread, attributes(terms, terms.breakpoint.has_value())));
    if (!event.event_.valid() && !terms.breakpoint && (errno == EACCES || errno == EPERM)) {
        event.kernel_seen_ = false;
        event.event_ = Descriptor(open_event(thread, attributes(terms, true)));
    }
    if (!event.event_.valid()) {
        return std::unexpected(cannot_open(thread, terms.breakpoint.has_value(), errno));
    }
    RETURN_IF_ERROR(event.map(terms.ring_pages));
    return event;
}

Result<void> ThreadEvent::map(std::size_t pages) {
    const auto bytes = (pages + 1) * page_bytes();
    void* ring = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_.get(), 0);
    if (ring == MAP_FAILED) {
        const int error = errno;
        return fail(error == EPERM ? ErrorCode::kPermission : ErrorCode::kLimit,
                    fmt::format("cannot map the ring buffer of a perf event, {} KiB: {} "
                                "(kernel.perf_event_mlock_kb bounds all of a user's)",
                                bytes >> 10U, system_error_text(error)));
    }
    ring_ = {static_cast<std::byte*>(ring), Unmap{bytes}};
    data_bytes_ = pages * page_bytes();
    return {};
}

Result<void> ThreadEvent::control(unsigned long request, unsigned long argument,
                                  std::string_view what) {
    // A thread that ends meanwhile is no error: its event stays, and counts nothing.
    if (::ioctl(event_.get(), request, argument) != 0 && errno != ESRCH) {
        return fail(ErrorCode::kIo, fmt::format("cannot {} a perf event of thread {}: {}", what,
                                                thread_, system_error_text(errno)));
    }
    return {};
}

Result<void> ThreadEvent::switch_on() {
    return control(PERF_EVENT_IOC_ENABLE, 0, "switch on");
}

Result<void> ThreadEvent::switch_on_for(std::uint64_t samples) {
    if (allowed_ >= samples) {
        return switch_on();
    }
    const auto more = samples - std::exchange(allowed_, samples);
    return control(PERF_EVENT_IOC_REFRESH, more, "switch on");
}

Result<void> ThreadEvent::switch_off() {
    return control(PERF_EVENT_IOC_DISABLE, 0, "switch off");
}

Result<void> ThreadEvent::set_period(std::uint64_t period) {
    return control(PERF_EVENT_IOC_PERIOD, reinterpret_cast<std::uintptr_t>(&period),
                   "set the period of");
}

Result<std::uint64_t> ThreadEvent::counted() const {
    std::uint64_t count = 0;
    if (::read(event_.get(), &count, sizeof(count)) != sizeof(count)) {
        return fail(ErrorCode::kIo, fmt::format("cannot read the count of a perf event of thread "
                                                "{}: {}",
                                                thread_, system_error_text(errno)));
    }
    return count;
}

std::span<const std::byte> ThreadEvent::bytes_at(std::uint64_t position, std::size_t count) {
    const auto* data = ring_.get() + page_bytes();
    const auto start = static_cast<std::size_t>(position % data_bytes_);
    if (start + count <= data_bytes_) {
        return {data + start, count};
    }
    joined_.resize(count);
    const auto first = data_bytes_ - start;
    std::memcpy(joined_.data(), data + start, first);
    std::memcpy(joined_.data() + first, data, count - first);
    return joined_;
}

Result<void> ThreadEvent::read(const std::function<void(const Sample&)>& visit) {
    // The kernel's side writes data_head, this side data_tail (perf_event_open(2), "MMAP layout").
    auto& positions = *reinterpret_cast<perf_event_mmap_page*>(ring_.get());
    const std::uint64_t head = std::atomic_ref(positions.data_head).load(std::memory_order_acquire);
    std::uint64_t tail = positions.data_tail;
    Result<void> outcome;
    while (tail < head && outcome) {
        perf_event_header header{};
        std::memcpy(&header, bytes_at(tail, sizeof(header)).data(), sizeof(header));
        if (header.size < sizeof(header) || header.size > head - tail) {
            outcome = fail(
                ErrorCode::kImplausible,
                fmt::format("a perf event's ring buffer has a record of {} bytes", header.size));
            break;
        }
        const auto body = bytes_at(tail, header.size).subspan(sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE) {
            allowed_ -= allowed_ != 0 ? 1 : 0;
            auto sample = parse_sample(body, header.misc);
            if (sample && *sample) {
                (*sample)->after_loss = std::exchange(has_lost_, false);
                visit(**sample);
            } else if (!sample) {
                outcome = std::unexpected(sample.error());
            }
        } else if (header.type == PERF_RECORD_THROTTLE) {
            ++held_back_;
            // The record begins with its time (perf_event_open(2)).
            if (std::uint64_t since = 0; !held_back_since_ && body.size() >= sizeof(since)) {
                std::memcpy(&since, body.data(), sizeof(since));
                held_back_since_ = since;
            }
        } else if (header.type == PERF_RECORD_LOST && body.size() >= 2 * sizeof(std::uint64_t)) {
            std::uint64_t lost = 0;
            std::memcpy(&lost, body.data() + sizeof(std::uint64_t), sizeof(lost));
            allowed_ -= std::min(allowed_, lost);
            lost_ += lost;
            has_lost_ = true;
        }
        tail += header.size;
    }
    std::atomic_ref(positions.data_tail).store(outcome ? tail : head, std::memory_order_release);
    return outcome;
}

}  // namespace beamdump::sampler
