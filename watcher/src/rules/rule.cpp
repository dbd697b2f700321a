#include "rules/rule.h"

#include <libdump/base/byte_amount.h>
#include <libdump/base/decimal.h>
#include <program/command_line.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::watch {
namespace {

using std::chrono::milliseconds;

constexpr double kRearm = 0.95;
// Readings come about a second apart; a window of more of them is thinned out.
constexpr std::size_t kMostSamples = 4096;

/// ", 91.2% of the limit of cgroup /docker/1f (512.0 MiB)".
std::string share_text(Quantity quantity, const Measured& measured) {
    if (!measured.whole || *measured.whole <= 0) {
        return {};
    }
    return fmt::format(", {:.1f}% of {} ({})", 100 * measured.value / *measured.whole,
                       measured.whole_name.empty() ? facts_of(quantity).whole
                                                   : std::string_view(measured.whole_name),
                       measure_text(quantity, *measured.whole));
}

}  // namespace

std::optional<Threshold> threshold_of(Quantity quantity, std::string_view text) {
    const auto& facts = facts_of(quantity);
    if (text.ends_with('%')) {
        const auto percent = decimal_number(text.substr(0, text.size() - 1));
        const bool share = facts.unit != Unit::kPercent;
        if (!percent || *percent > 100 || (share && facts.whole.empty())) {
            return std::nullopt;
        }
        return Threshold{static_cast<double>(*percent), share};
    }
    if (facts.unit == Unit::kSeconds) {
        const auto time = program::duration_of(std::string(text));
        return time ? std::optional(Threshold{static_cast<double>(time->count()) / 1000, false})
                    : std::nullopt;
    }
    const auto number = facts.unit == Unit::kBytes ? byte_amount(text) : decimal_number(text);
    if (!number || (facts.unit == Unit::kPercent && *number > 100)) {
        return std::nullopt;
    }
    return Threshold{static_cast<double>(*number), false};
}

std::optional<double> RuleState::limit(const Threshold& threshold, const Measured& measured) const {
    if (!threshold.share) {
        return threshold.number;
    }
    return measured.whole ? std::optional(threshold.number / 100 * *measured.whole) : std::nullopt;
}

std::optional<double> RuleState::watched(milliseconds now, const Measured& measured) {
    if (!rule_.per) {
        return measured.value;
    }
    samples_.push_back({now, measured.value});
    // The oldest one is at least `per` old, or the first of all.
    while (samples_.size() > 2 && samples_[1].at <= now - *rule_.per) {
        samples_.pop_front();
    }
    if (samples_.size() > kMostSamples) {
        for (std::size_t kept = 1; kept < samples_.size(); ++kept) {
            samples_.erase(samples_.begin() + static_cast<std::ptrdiff_t>(kept));
        }
    }
    return measured.value - samples_.front().value;
}

std::optional<std::string> RuleState::feed(milliseconds now, const Measurements& read) {
    const auto found = read.find(rule_.of);
    if (rule_.on != Rule::On::kReading || found == read.end()) {
        since_.reset();
        return std::nullopt;
    }
    const auto& measured = found->second;
    const auto value = watched(now, measured);
    const auto above = limit(rule_.above, measured);
    if (!value || !above) {
        since_.reset();
        return std::nullopt;
    }
    const auto rearm = rule_.rearm ? limit(*rule_.rearm, measured) : std::optional(*above * kRearm);
    if (rearm && (*value < *rearm || (*rearm <= 0 && *value <= 0))) {
        armed_ = true;
    }
    if (*value <= *above) {
        since_.reset();
        return std::nullopt;
    }
    if (!since_) {
        since_ = now;
    }
    if (!armed_ || now - *since_ < rule_.hold) {
        return std::nullopt;
    }
    armed_ = false;
    const auto& facts = facts_of(rule_.of);
    auto text =
        rule_.per ? fmt::format("{} grew by {} in {}, to {}", facts.subject,
                                measure_text(rule_.of, *value),
                                program::duration_text(std::min(
                                    *rule_.per, (now - samples_.front().at) / 1000 * 1000)),
                                measure_text(rule_.of, measured.value))
                  : fmt::format("{} was {}", facts.subject, measure_text(rule_.of, measured.value));
    if (!measured.owner.empty()) {
        text += fmt::format(" in {}", measured.owner);
    }
    text += share_text(rule_.of, measured);
    if (rule_.hold.count() > 0) {
        text += fmt::format(", above {} for {}",
                            rule_.above.share ? fmt::format("{:.0f}%", rule_.above.number)
                                              : measure_text(rule_.of, rule_.above.number),
                            program::duration_text(rule_.hold));
    }
    return text;
}

std::string RuleState::seen(const Measurements& read) const {
    if (rule_.on != Rule::On::kReading) {
        return rule_.on == Rule::On::kStart ? "acts when a node starts" : "acts when a node ends";
    }
    const auto found = read.find(rule_.of);
    std::string value = "not known";
    if (found != read.end()) {
        value = measure_text(rule_.of, found->second.value) +
                (found->second.owner.empty() ? "" : fmt::format(" in {}", found->second.owner)) +
                share_text(rule_.of, found->second);
    }
    return fmt::format("{} is {}", facts_of(rule_.of).subject, value);
}

}  // namespace beamdump::watch
