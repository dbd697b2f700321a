#include <libdump/base/return_if_error.h>
#include <libvm/beam/checks/vm_check.h>
#include <libvm/fit/infer.h>
#include <libvm/fit/variants.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace beamdump::fit {
namespace {

/// Checks may fail on a running node by chance: a candidate passes if one of this many tries does.
constexpr int kLooks = 2;
/// The maximum number of combinations tried to locate the tables.
constexpr std::size_t kMaxLocated = 256;

std::optional<int> number_of(const std::string& release) {
    int number = 0;
    const auto* end = release.data() + release.size();
    const auto [stopped, error] = std::from_chars(release.data(), end, number);
    return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

std::unexpected<Error> refuse(const std::string& release, std::string_view why) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format(
            "no layout for OTP {}, and none can be inferred: {}; make one from a debug build of "
            "that release with beamdump-layout extract, and give it with --layout FILE",
            release, why));
}

class Search {
  public:
    Search(std::string release, const Locate& locate, const std::vector<beam::Layout>& neighbours,
           const std::atomic<bool>& cancelled)
        : release_(std::move(release)),
          architecture_(neighbours.front().architecture()),
          locate_(locate),
          cancelled_(cancelled) {
        std::vector<std::vector<Content>> contents;
        for (const auto& neighbour : neighbours) {
            contents.push_back(split(neighbour));
            from_.insert(from_.begin(), neighbour.name());
        }
        for (std::size_t part = 0; part < layout_parts().size(); ++part) {
            std::vector<Content> of_part;
            of_part.reserve(contents.size());
            for (const auto& content : contents) {
                of_part.push_back(content[part]);
            }
            candidates_.push_back(of_neighbours(of_part));
            if (layout_parts()[part].decided_by == beam::CheckStage::kTerms) {
                candidates_.back() = with_term_schemes(candidates_.back());
            }
            chosen_.push_back(candidates_.back().front());
        }
    }

    Result<beam::InferredLayout> run();

  private:
    Result<void> find_tables();
    Result<void> settle(beam::CheckStage stage);
    Result<void> decide_part(std::size_t part);
    void reduce_part(std::size_t part, Content what_is_left);
    bool passes(const std::vector<Content>& parts, beam::CheckStage stage);
    /// The combinations of candidates, of all parts that a stage checks, which pass that stage.
    std::vector<std::vector<Content>> passing(const std::vector<std::size_t>& parts,
                                              const std::vector<std::vector<Content>>& candidates,
                                              beam::CheckStage stage);
    Result<void> choose(const std::vector<std::size_t>& parts,
                        const std::vector<std::vector<Content>>& fitting);
    bool fits(const std::vector<Content>& parts);
    [[nodiscard]] Result<beam::Layout> layout_of(const std::vector<Content>& parts) const;
    [[nodiscard]] std::string source() const;

    std::string release_;
    Architecture architecture_;
    const Locate& locate_;
    const std::atomic<bool>& cancelled_;
    std::vector<std::string> from_;
    std::vector<std::vector<Content>> candidates_;  // of each part
    std::vector<Content> chosen_;
    std::unique_ptr<beam::Vm> vm_;
    std::string last_error_;
    std::string unseen_;  // what the node lacks to check a candidate by
    std::vector<std::string> left_out_;
};

std::string Search::source() const {
    std::string text = fmt::format(
        "Inferred on a running node of OTP {} from {}; not made from "
        "that release's sources",
        release_, fmt::join(from_, " and "));
    for (std::size_t part = 0; part < chosen_.size(); ++part) {
        if (candidates_[part].size() > 1) {
            text += fmt::format("; {}: {}", layout_parts()[part].name, chosen_[part].from);
        }
    }
    return text;
}

Result<beam::Layout> Search::layout_of(const std::vector<Content>& parts) const {
    return compose(fmt::format("otp-{}-inferred", release_), release_, architecture_, source(),
                   parts);
}

/// Tries the neighbours' contents of all parts; combinations closest to the first contents come
/// first.
Result<void> Search::find_tables() {
    std::vector<std::size_t> open;
    for (std::size_t part = 0; part < candidates_.size(); ++part) {
        const auto decided_by = layout_parts()[part].decided_by;
        if (candidates_[part].size() > 1 && decided_by != beam::CheckStage::kRelations &&
            decided_by != beam::CheckStage::kTerms) {
            open.push_back(part);
        }
    }
    // A combination is a number with one digit per open part; those with fewest nonzero digits come
    // first.
    std::vector<std::vector<std::size_t>> ways = {std::vector<std::size_t>(open.size(), 0)};
    for (std::size_t next = 0; next < ways.size() && next < kMaxLocated; ++next) {
        const auto way = ways[next];
        auto parts = chosen_;
        std::size_t last = 0;
        for (std::size_t index = 0; index < open.size(); ++index) {
            parts[open[index]] = candidates_[open[index]][way[index]];
            last = way[index] != 0 ? index + 1 : last;
        }
        const auto layout = layout_of(parts);
        auto vm = layout ? locate_(*layout)
                         : Result<std::unique_ptr<beam::Vm>>(std::unexpected(layout.error()));
        if (vm) {
            chosen_ = std::move(parts);
            vm_ = std::move(*vm);
            return {};
        }
        last_error_ = next == 0 ? vm.error().message : last_error_;
        for (std::size_t index = last; index < open.size(); ++index) {
            for (std::size_t digit = 1; digit < candidates_[open[index]].size(); ++digit) {
                ways.push_back(way);
                ways.back()[index] = digit;
            }
        }
    }
    return refuse(release_, fmt::format("the runtime's tables are not found with {}: {}",
                                        fmt::join(from_, "'s nor by "), last_error_));
}

bool Search::passes(const std::vector<Content>& parts, beam::CheckStage stage) {
    const auto layout = cancelled_ ? fail(ErrorCode::kIo, "interrupted") : layout_of(parts);
    if (!layout) {
        return false;
    }
    vm_->assume(*layout);
    for (int look = 0; look < kLooks; ++look) {
        beam::CheckReport report;
        // Atoms are checked before code can be examined.
        auto code = stage == beam::CheckStage::kAtoms ? beam::CodeLookup::build(*vm_, {})
                                                      : beam::CodeLookup::read(*vm_);
        const auto done = code ? check_stage(*vm_, *code, stage, report)
                               : Result<void>(std::unexpected(code.error()));
        const auto unseen = done ? missing_kind(stage, report) : std::nullopt;
        if (done && !unseen) {
            return true;
        }
        if (done) {
            unseen_ = *unseen;
        }
        last_error_ =
            !done ? done.error().message : fmt::format("the node does not have {}", *unseen);
        vm_->forget();
    }
    return false;
}

std::vector<std::vector<Content>> Search::passing(
    const std::vector<std::size_t>& parts, const std::vector<std::vector<Content>>& candidates,
    beam::CheckStage stage) {
    std::vector<std::vector<Content>> fitting;
    // Nothing can be moved in structures that only one neighbour has so.
    if (std::ranges::any_of(candidates, &std::vector<Content>::empty)) {
        return fitting;
    }
    std::vector<std::size_t> digits(parts.size(), 0);
    for (;;) {
        auto trial = chosen_;
        for (std::size_t index = 0; index < parts.size(); ++index) {
            trial[parts[index]] = candidates[index][digits[index]];
        }
        if (passes(trial, stage)) {
            fitting.push_back(std::move(trial));
        }
        std::size_t index = 0;
        while (index < digits.size() && ++digits[index] == candidates[index].size()) {
            digits[index++] = 0;
        }
        if (index == digits.size()) {
            return fitting;
        }
    }
}

/// The single candidate that passes; several that pass are ambiguous.
Result<void> Search::choose(const std::vector<std::size_t>& parts,
                            const std::vector<std::vector<Content>>& fitting) {
    if (fitting.size() == 1) {
        chosen_ = fitting.front();
        return {};
    }
    std::vector<std::string> sources;
    for (const auto part : parts) {
        for (const auto& fit : fitting) {
            sources.push_back(fit[part].from);
        }
    }
    constexpr std::size_t kShown = 3;
    const auto more = sources.size() > kShown ? sources.size() - kShown : 0;
    sources.resize(sources.size() - more);
    return refuse(release_, fmt::format("{} in doubt, the checks fit {} layouts: {}{}",
                                        layout_parts()[parts.front()].name, fitting.size(),
                                        fmt::join(sources, "; "),
                                        more != 0 ? fmt::format("; {} more", more) : ""));
}

/// Chooses candidates for the parts that a stage checks, so that the stage passes.
Result<void> Search::settle(beam::CheckStage stage) {
    std::vector<std::size_t> parts;
    std::vector<std::vector<Content>> candidates;
    for (std::size_t part = 0; part < chosen_.size(); ++part) {
        if (layout_parts()[part].decided_by == stage) {
            parts.push_back(part);
            candidates.push_back(candidates_[part]);
        }
    }
    if (parts.empty()) {
        return passes(chosen_, stage) ? Result<void>() : refuse(release_, last_error_);
    }
    unseen_.clear();
    const auto error_before = passes(chosen_, stage) ? std::string() : last_error_;
    auto fitting = passing(parts, candidates, stage);
    for (std::size_t index = 0; fitting.empty() && index < parts.size(); ++index) {
        auto varied = candidates;
        varied[index] = shifted(candidates[index]);
        fitting = passing(parts, varied, stage);
        if (!fitting.empty()) {
            candidates_[parts[index]] = std::move(varied[index]);
        }
    }
    if (fitting.empty() && !unseen_.empty()) {
        return refuse(release_, fmt::format("{}: the node does not have {}, which would tell the "
                                            "layout of that part",
                                            layout_parts()[parts.front()].name, unseen_));
    }
    if (fitting.empty()) {
        return refuse(release_,
                      fmt::format("{}: neither {}, nor with members moved: {}",
                                  layout_parts()[parts.front()].name,
                                  fmt::join(from_, "'s layout fits, nor "), error_before));
    }
    return choose(parts, fitting);
}

/// Whether the complete layout passes, with the VM located again.
bool Search::fits(const std::vector<Content>& parts) {
    const auto layout = layout_of(parts);
    auto vm = layout ? locate_(*layout)
                     : Result<std::unique_ptr<beam::Vm>>(std::unexpected(layout.error()));
    if (!vm) {
        last_error_ = vm.error().message;
        return false;
    }
    auto checked = check_steadily(**vm, kLooks);
    last_error_ = checked ? "" : checked.error().message;
    return checked.has_value();
}

/// Reduces the part to `what_is_left` (nothing of the rest is read then), unless the node cannot be
/// located that way.
void Search::reduce_part(std::size_t part, Content what_is_left) {
    auto parts = chosen_;
    parts[part] = std::move(what_is_left);
    if (fits(parts)) {
        chosen_ = std::move(parts);
        left_out_.emplace_back(layout_parts()[part].name);
    }
}

/// Decides about a part that no single stage checks and whose candidates may all pass.
Result<void> Search::decide_part(std::size_t part) {
    const auto& described = layout_parts()[part];
    const auto& candidates = candidates_[part];
    if (described.decided_by ||
        (candidates.size() == 1 && (described.needed || from_.size() > 1))) {
        return {};
    }
    if (candidates.size() == 1) {
        // With one neighbour only, nothing shows that this release has the same content.
        reduce_part(part, Content{});
        return {};
    }
    std::vector<Content> fitting;
    for (const auto& candidate : candidates) {
        auto parts = chosen_;
        parts[part] = candidate;
        if (fits(parts)) {
            fitting.push_back(candidate);
        }
    }
    if (fitting.size() == 1) {
        chosen_[part] = fitting.front();
        return {};
    }
    auto common = candidates.front();
    for (const auto& candidate : candidates) {
        common = agreed(common, candidate);
    }
    if (described.needed) {
        return refuse(release_,
                      fmt::format("{} in doubt: {}", described.name,
                                  fitting.empty() ? last_error_
                                                  : "no check finds " + fitting[0].from +
                                                        "'s from " + fitting[1].from + "'s"));
    }
    reduce_part(part, std::move(common));
    return {};
}

Result<beam::InferredLayout> Search::run() {
    RETURN_IF_ERROR(find_tables());
    for (const auto stage : beam::kCheckStages) {
        auto settled = settle(stage);
        if (cancelled_) {
            return fail(ErrorCode::kIo, "interrupted");
        }
        if (!settled) {
            return std::unexpected(settled.error());
        }
    }
    for (std::size_t part = 0; part < candidates_.size(); ++part) {
        RETURN_IF_ERROR(decide_part(part));
    }
    if (!fits(chosen_)) {
        return refuse(release_, last_error_);
    }
    ASSIGN_OR_RETURN(auto layout, layout_of(chosen_));
    return beam::InferredLayout{std::move(layout), {from_, left_out_}};
}

}  // namespace

Result<beam::InferredLayout> infer_layout(const std::string& release,
                                          const std::vector<beam::Layout>& known,
                                          const Locate& locate,
                                          const std::atomic<bool>& cancelled) {
    const auto number = number_of(release);
    const beam::Layout* below = nullptr;
    const beam::Layout* above = nullptr;
    for (const auto& layout : known) {
        const auto other = number_of(layout.release());
        if (!number || !other || *other == *number) {
            continue;
        }
        auto*& nearest = *other < *number ? below : above;
        if (nearest == nullptr ||
            std::abs(*other - *number) < std::abs(*number_of(nearest->release()) - *number)) {
            nearest = &layout;
        }
    }
    std::vector<beam::Layout> neighbours;
    // What is nearest to the release: the first patch of the one above, the last of the one below.
    if (above != nullptr) {
        neighbours.push_back(*above);
    }
    if (below != nullptr) {
        neighbours.push_back(below->newest());
    }
    if (neighbours.empty()) {
        return refuse(release, "there is no layout of another release for this processor");
    }
    return Search(release, locate, neighbours, cancelled).run();
}

}  // namespace beamdump::fit
