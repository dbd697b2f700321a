#pragma once

#include "rules/quantity.h"

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::watch {

/// A threshold: a number in the quantity's unit, or a share of the quantity's whole.
struct Threshold {
    double number = 0;  ///< a share in percent
    bool share = false;
};

/// "90%", "2GiB", "100000", "30s". Nothing for other text, one that does not fit the quantity's
/// unit, and a share of what has no whole (Unit::kPercent is a number of percent).
std::optional<Threshold> threshold_of(Quantity quantity, std::string_view text);

/// When a dump is taken, and what is done with it.
struct Rule {
    /// What it waits for: readings of `of`, or that a node starts or ends.
    enum class On : std::uint8_t { kReading, kStart, kEnd };

    std::string name;
    On on = On::kReading;
    Quantity of = Quantity::kMemory;
    Threshold above;  ///< of the value; with `per`, of its growth
    /// With it, the rule looks at how much the value grew in so long.
    std::optional<std::chrono::milliseconds> per{};
    /// How long it has to hold.
    std::chrono::milliseconds hold{0};
    /// Below it the rule may act again; default: 95% of the threshold.
    std::optional<Threshold> rearm{};
    std::vector<std::string> capture{};    ///< options of beamdump-capture
    std::optional<std::string> command{};  ///< for a shell, when the dump is there
    bool dump = true;
};

/// A rule with what it has seen. Times are of one clock that never goes back.
class RuleState {
  public:
    explicit RuleState(Rule rule) : rule_(std::move(rule)) {}

    /// Takes a reading; a sentence without a full stop if the rule acts now: "resident memory is
    /// 91% of the machine's memory (...) for 10 s". A quantity that is absent keeps a rule from
    /// holding. Acts once, until the value was below the threshold for acting again.
    std::optional<std::string> feed(std::chrono::milliseconds now, const Measurements& read);
    /// The rule acted but nothing came of it (a limit): it may act again at the next reading.
    void retry() { armed_ = true; }

    [[nodiscard]] const Rule& rule() const { return rule_; }
    /// What the rule sees in a reading, for a person: "memory is 12.1 MiB, 2.4% of the limit".
    [[nodiscard]] std::string seen(const Measurements& read) const;

  private:
    struct Sample {
        std::chrono::milliseconds at;
        double value;
    };
    [[nodiscard]] std::optional<double> limit(const Threshold& threshold,
                                              const Measured& measured) const;
    std::optional<double> watched(std::chrono::milliseconds now, const Measured& measured);

    Rule rule_;
    std::deque<Sample> samples_;  // of the last `per`
    std::optional<std::chrono::milliseconds> since_;
    bool armed_ = true;
};

}  // namespace beamdump::watch
