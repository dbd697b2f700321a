#include "top/top_view.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/owner_id.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kStackFrames = 200;
constexpr int kStackTries = 100;
constexpr std::chrono::milliseconds kBetweenStackTries{2};

struct NamedSort {
    std::string_view name;
    TopSort sort;
};
constexpr std::array kSorts = {
    NamedSort{"reductions", TopSort::kReductions}, NamedSort{"memory", TopSort::kMemory},
    NamedSort{"growth", TopSort::kGrowth}, NamedSort{"queue", TopSort::kQueue},
    NamedSort{"queue-growth", TopSort::kQueueGrowth}};

std::optional<double> key_of(const TopRates& rates, TopSort sort) {
    const auto number = [](const std::optional<std::uint64_t>& count) {
        return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
    };
    switch (sort) {
        case TopSort::kMemory:
            return number(rates.counts.heap_bytes);
        case TopSort::kGrowth:
            return rates.heap_growth;
        case TopSort::kQueue:
            return number(rates.counts.messages);
        case TopSort::kQueueGrowth:
            return rates.queue_growth;
        case TopSort::kReductions:
            break;
    }
    return rates.reductions;
}

bool matches(const ProcessIdentity& process, std::string_view filter) {
    const auto has = [&](const std::optional<std::string>& text) {
        return text && text->contains(filter);
    };
    return filter.empty() || pid_text(process.owner_id).contains(filter) ||
           has(process.registered) || has(process.initial_call) || has(process.current_function);
}

std::optional<double> change(std::optional<std::uint64_t> before,
                             std::optional<std::uint64_t> after, double seconds) {
    return before && after
               ? std::optional((static_cast<double>(*after) - static_cast<double>(*before)) /
                               seconds)
               : std::nullopt;
}

}  // namespace

Result<TopSort> parse_top_sort(std::string_view name) {
    const auto* known = std::ranges::find(kSorts, name, &NamedSort::name);
    return known == kSorts.end()
               ? fail(ErrorCode::kUsage, fmt::format("--sort {}: it is reductions, memory, growth, "
                                                     "queue or queue-growth",
                                                     name))
               : Result<TopSort>(known->sort);
}

std::string_view top_sort_name(TopSort sort) {
    return std::ranges::find(kSorts, sort, &NamedSort::sort)->name;
}

std::vector<TopRates> rates_between(const ProcessesRead& before, const ProcessesRead& after) {
    const auto seconds = static_cast<double>(after.at_ns - before.at_ns) / 1e9;
    std::vector<TopRates> rates;
    rates.reserve(after.processes.size());
    auto then = before.processes.begin();
    for (const auto& now : after.processes) {
        auto& one = rates.emplace_back(TopRates{.counts = now});
        while (then != before.processes.end() && then->slot.slot < now.slot.slot) {
            ++then;
        }
        if (seconds <= 0 || then == before.processes.end() || then->slot.slot != now.slot.slot ||
            then->owner_id != now.owner_id || then->reductions > now.reductions) {
            continue;
        }
        one.reductions = change(then->reductions, now.reductions, seconds);
        one.heap_growth = change(then->heap_bytes, now.heap_bytes, seconds);
        one.queue_growth = change(then->messages, now.messages, seconds);
    }
    return rates;
}

std::vector<std::size_t> sorted_by(const std::vector<TopRates>& rates, TopSort sort,
                                   std::size_t most) {
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < rates.size(); ++at) {
        if (key_of(rates[at], sort)) {
            order.push_back(at);
        }
    }
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
    std::ranges::partial_sort(order, middle, [&](std::size_t left, std::size_t right) {
        const auto first = key_of(rates[left], sort);
        const auto second = key_of(rates[right], sort);
        return first != second ? first > second
                               : rates[left].counts.owner_id < rates[right].counts.owner_id;
    });
    order.resize(std::min(most, order.size()));
    return order;
}

Result<TopReader> TopReader::open(ObservedNode& node, const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto counts, CountsReader::open(node.vm()));
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, kStackFrames));
    TopReader reader(node, std::move(counts), std::move(stacks));
    ASSIGN_OR_RETURN(reader.last_load_, read_load(node.vm()));
    ASSIGN_OR_RETURN(reader.last_, reader.counts_.read(cancelled));
    return reader;
}

Result<TopReport> TopReader::refresh(const TopOptions& options,
                                     const std::atomic<bool>& cancelled) {
    const auto began = target::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    ASSIGN_OR_RETURN(auto load, read_load(node_->vm()));
    ASSIGN_OR_RETURN(auto now, counts_.read(cancelled));
    facts_ = {.node = node_->name(),
              .otp_release = node_->vm().facts().otp_release,
              .pid = node_->vm().target().pid(),
              .read_us = target::clock_ns(CLOCK_REALTIME) / 1000,
              .seconds = static_cast<double>(now.at_ns - last_.at_ns) / 1e9,
              .processes = now.processes.size(),
              .unreadable = now.unreadable,
              .left_out = now.left_out,
              .utilisation = utilisation(last_load_, load),
              .load = load};
    rates_ = rates_between(last_, now);
    last_ = std::move(now);
    last_load_ = std::move(load);
    ASSIGN_OR_RETURN(auto report, again(options, cancelled));
    report.cost_ns = target::clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
    facts_.cost_ns = report.cost_ns;
    return report;
}

Result<TopReport> TopReader::again(const TopOptions& options, const std::atomic<bool>& cancelled) {
    auto report = facts_;
    report.sort = options.sort;
    RETURN_IF_ERROR(rows(options, cancelled, report));
    return report;
}

Result<void> TopReader::rows(const TopOptions& options, const std::atomic<bool>& cancelled,
                             TopReport& report) {
    // Some may have ended since they were counted.
    constexpr std::size_t kSpare = 64;
    const auto most = options.filter.empty() ? options.limit + kSpare : kMostSearched;
    std::uint64_t searched = 0;
    for (const auto at : sorted_by(rates_, options.sort, most)) {
        if (report.rows.size() == options.limit) {
            break;
        }
        if (cancelled) {
            return fail(ErrorCode::kIo, "cancelled");
        }
        ++searched;
        const auto& rates = rates_[at];
        ASSIGN_OR_RETURN(auto process, stacks_.identify(rates.counts.slot));
        if (process && process->owner_id == rates.counts.owner_id &&
            matches(*process, options.filter)) {
            report.rows.push_back({rates, std::move(*process)});
        }
    }
    if (!options.filter.empty()) {
        report.searched = searched;
    }
    return {};
}

Result<std::vector<std::string>> TopReader::stack(const beam::IdSlot& slot, std::uint64_t owner_id,
                                                  const std::atomic<bool>& cancelled) {
    node_->vm().forget();
    StackTry found;
    for (int tries = 0; tries < kStackTries && !cancelled; ++tries) {
        ASSIGN_OR_RETURN(found, stacks_.at_rest(slot, false));
        if (found.stack || found.miss == StackMiss::kExiting) {
            break;
        }
        std::this_thread::sleep_for(kBetweenStackTries);
    }
    const std::vector<std::string> ended{"it has ended"};
    if (found.stack) {
        return found.stack->process.owner_id == owner_id ? std::move(found.stack->frames) : ended;
    }
    if (found.miss == StackMiss::kExiting) {
        return ended;
    }
    ASSIGN_OR_RETURN(auto paused, stacks_.last_pause(slot));
    if (!paused.stack) {
        return std::vector<std::string>{"its stack kept changing"};
    }
    if (paused.stack->process.owner_id != owner_id) {
        return ended;
    }
    auto lines = std::move(paused.stack->frames);
    lines.insert(lines.begin(), "it runs; where it last paused, not certain:");
    return lines;
}

}  // namespace beamdump::sampler
