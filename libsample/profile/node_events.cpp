#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libsample/profile/node_events.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <sys/epoll.h>

namespace beamdump::sampler {
namespace {

constexpr std::uint32_t kOtherStackBytes = 8192;
constexpr std::size_t kLeastRingPages = 16;
/// Threads with samples that one wait() tells of.
constexpr std::size_t kMostAtOnce = 64;
/// As many samples, or more, have the same period: setting one interrupts the thread.
constexpr std::uint32_t kSamplesOfPeriod = 8;
/// Names of all threads are read so often, if there are as many as before.
constexpr std::chrono::seconds kBetweenNames{1};

}  // namespace

Result<NodeEvents> NodeEvents::open(pid_t pid, const NodeEventTerms& terms) {
    NodeEvents events(pid, terms);
    ASSIGN_OR_RETURN(const auto threads, threads_of_node(pid));
    for (const auto& thread : threads) {
        if (!scheduler_number(thread.name) || !events.wants(thread)) {
            continue;
        }
        ASSIGN_OR_RETURN(auto event, events.open_event(thread));
        events.threads_.emplace(thread.id, Sampled{thread.name, std::move(event)});
    }
    RETURN_IF_ERROR(events.refresh());
    return events;
}

bool NodeEvents::wants(const NodeThread& thread) const {
    return (!terms_.schedulers_only || scheduler_number(thread.name)) &&
           (!terms_.written || terms_.written(thread.id));
}

Result<ThreadEvent> NodeEvents::open_event(const NodeThread& thread) const {
    const bool schedules = scheduler_number(thread.name).has_value();
    EventTerms terms{.period = terms_.period,
                     .breakpoint = terms_.written ? terms_.written(thread.id) : terms_.breakpoint,
                     .written = static_cast<bool>(terms_.written),
                     .off = terms_.off,
                     .wakes = terms_.wakes,
                     .stack_bytes = schedules ? terms_.scheduler_stack_bytes : kOtherStackBytes};
    Result<ThreadEvent> event = fail(ErrorCode::kLimit, "not tried");
    for (auto pages = schedules ? terms_.ring_pages : kLeastRingPages; pages >= kLeastRingPages;
         pages /= 2) {
        terms.ring_pages = pages;
        event = ThreadEvent::open(thread.id, terms);
        if (event || (event.error().code != ErrorCode::kLimit &&
                      event.error().code != ErrorCode::kPermission)) {
            break;
        }
    }
    return event;
}

/// Whether there may be other threads, or other names, than at the last time that this was so.
Result<bool> NodeEvents::threads_changed() {
    ASSIGN_OR_RETURN(const auto count, thread_count(pid_));
    const auto now = std::chrono::steady_clock::now();
    if (count == thread_count_ && now - threads_listed_ < kBetweenNames) {
        return false;
    }
    thread_count_ = count;
    threads_listed_ = now;
    return true;
}

Result<void> NodeEvents::refresh() {
    ASSIGN_OR_RETURN(const bool changed, threads_changed());
    if (!changed) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto threads, threads_of_node(pid_));
    for (const auto& thread : threads) {
        if (const auto known = threads_.find(thread.id); known != threads_.end()) {
            // A new thread has its maker's name at first.
            known->second.name = thread.name;
            continue;
        }
        if (refused_.contains(thread.id) || !wants(thread)) {
            continue;
        }
        auto event = open_event(thread);
        if (event) {
            if (waited_.valid()) {
                RETURN_IF_ERROR(wait_for(thread.id, *event));
            }
            threads_.emplace(thread.id, Sampled{thread.name, std::move(*event)});
        } else if (event.error().code != ErrorCode::kTargetDied) {
            ++not_sampled_[event.error().message];
            refused_.insert(thread.id);
        }
    }
    return {};
}

Result<int> NodeEvents::descriptor() {
    if (!waited_.valid()) {
        waited_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
        for (const auto& [id, thread] : threads_) {
            RETURN_IF_ERROR(wait_for(id, thread.event));
        }
    }
    return waited_.get();
}

Result<void> NodeEvents::wait(std::chrono::milliseconds longest) {
    ASSIGN_OR_RETURN(const int waited, descriptor());
    std::array<epoll_event, kMostAtOnce> ready{};
    const int count = ::epoll_wait(waited, ready.data(), static_cast<int>(ready.size()),
                                   static_cast<int>(longest.count()));
    if (count < 0 && errno != EINTR) {
        return fail(ErrorCode::kIo,
                    fmt::format("waiting for samples: {}", system_error_text(errno)));
    }
    for (const auto& event : std::span(ready).first(static_cast<std::size_t>(std::max(count, 0)))) {
        const auto thread = threads_.find(event.data.fd);
        if (thread != threads_.end()) {
            thread->second.ended = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
        }
    }
    return {};
}

/// From now on wait() waits for a thread's samples too; until its event is closed.
Result<void> NodeEvents::wait_for(pid_t thread, const ThreadEvent& event) const {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = thread}};
    if (::epoll_ctl(waited_.get(), EPOLL_CTL_ADD, event.descriptor(), &wanted) != 0) {
        return fail(ErrorCode::kIo, fmt::format("cannot wait for samples of thread {}: {}", thread,
                                                system_error_text(errno)));
    }
    return {};
}

Result<void> NodeEvents::read(const std::function<void(const Sample&, const std::string&)>& visit) {
    for (auto& [id, thread] : threads_) {
        RETURN_IF_ERROR(thread.event.read([&](const Sample& sample) {
            ++thread.of_period;
            visit(sample, thread.name);
        }));
        if (terms_.random_period && thread.of_period >= kSamplesOfPeriod) {
            RETURN_IF_ERROR(set_random_period(thread));
        }
    }
    std::erase_if(threads_, [this](const auto& entry) {
        if (entry.second.ended) {
            const auto& event = entry.second.event;
            lost_of_ended_ += event.lost();
            held_back_of_ended_ += event.held_back();
            counted_of_ended_ += event.counted().value_or(0);
        }
        return entry.second.ended;
    });
    return {};
}

Result<void> NodeEvents::set_random_period(Sampled& thread) {
    thread.of_period = 0;
    std::uniform_int_distribution<std::uint64_t> period(terms_.period / 2,
                                                        terms_.period + terms_.period / 2);
    return thread.event.set_period(period(random_));
}

std::uint64_t NodeEvents::lost() const {
    auto lost = lost_of_ended_;
    for (const auto& [id, thread] : threads_) {
        lost += thread.event.lost();
    }
    return lost;
}

Result<void> NodeEvents::switch_on() {
    for (auto& [id, thread] : threads_) {
        RETURN_IF_ERROR(thread.event.switch_on());
    }
    return {};
}

Result<void> NodeEvents::switch_on_for(std::uint64_t samples) {
    for (auto& [id, thread] : threads_) {
        RETURN_IF_ERROR(thread.event.switch_on_for(samples));
    }
    return {};
}

Result<void> NodeEvents::switch_off() {
    for (auto& [id, thread] : threads_) {
        RETURN_IF_ERROR(thread.event.switch_off());
    }
    return {};
}

Result<void> NodeEvents::set_period(std::uint64_t calls) {
    terms_.period = calls;
    for (auto& [id, thread] : threads_) {
        RETURN_IF_ERROR(thread.event.set_period(calls));
    }
    return {};
}

Result<std::uint64_t> NodeEvents::counted() const {
    auto counted = counted_of_ended_;
    for (const auto& [id, thread] : threads_) {
        ASSIGN_OR_RETURN(const auto of_thread, thread.event.counted());
        counted += of_thread;
    }
    return counted;
}

Result<std::map<pid_t, std::uint64_t>> NodeEvents::counted_by_thread() const {
    std::map<pid_t, std::uint64_t> counted;
    for (const auto& [id, thread] : threads_) {
        ASSIGN_OR_RETURN(counted[id], thread.event.counted());
    }
    return counted;
}

std::uint64_t NodeEvents::held_back() const {
    auto held_back = held_back_of_ended_;
    for (const auto& [id, thread] : threads_) {
        held_back += thread.event.held_back();
    }
    return held_back;
}

std::optional<std::uint64_t> NodeEvents::held_back_since() const {
    std::optional<std::uint64_t> first;
    for (const auto& [id, thread] : threads_) {
        if (const auto since = thread.event.held_back_since();
            since && (!first || *since < *first)) {
            first = since;
        }
    }
    return first;
}

bool NodeEvents::kernel_seen() const {
    return std::ranges::all_of(threads_,
                               [](const auto& entry) { return entry.second.event.kernel_seen(); });
}

}  // namespace beamdump::sampler
