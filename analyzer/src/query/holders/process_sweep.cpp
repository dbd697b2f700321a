#include "query/holders/process_sweep.h"

#include "query/term/term_path.h"
#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/heap/largest_terms.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestKey = 60;

}  // namespace

void SweepVisitor::look_through(TermContext& context, const TagScheme& scheme, WordReader& words) {
    scheme_ = &scheme;
    words_ = &words;
    context_ = &context;
    printer_ = std::make_unique<TermPrinter>(context, scheme);
}

TermPlace SweepVisitor::place(std::span<const WalkLevel> path) {
    TermPlace place;
    switch (root_->kind) {
        case RootKind::kStack:
            place.root = root_->is_state ? fmt::format("{}, {}", kStateRoot, root_->name)
                                         : fmt::format("y({}) of frame {}, {}", root_->index,
                                                       root_->frame, root_->name);
            break;
        case RootKind::kArgument:
            place.root = fmt::format("x({})", root_->index);
            break;
        case RootKind::kDictionary:
            place.root = fmt::format("dictionary {}{}", in_key_ ? "key " : "",
                                     text(root_->key_word, kLongestKey));
            break;
        case RootKind::kMessage:
            place.root = fmt::format("message {}", root_->index);
            break;
        case RootKind::kOther:
            place.root = name_ != nullptr ? (*name_)() : root_->name;
            break;
    }
    std::vector<PathStep> steps;
    for (const WalkLevel& level :
         path.last(std::min<std::size_t>(path.size(), LargestTerms::kLongestPath))) {
        steps.push_back({level.kind, level.address, level.index});
    }
    printer_->forget();
    place.path = path_texts(steps, *scheme_, *words_, *printer_);
    return place;
}

std::uint64_t SweepVisitor::binary_of(const HeapObject& object) const {
    std::uint64_t binary = 0;
    const bool refers = !object.is_cell && object.kind == BoxedKind::kRefcBinary &&
                        words_->read(object.address + scheme_->refc_binary * kWordBytes, binary) ==
                            WordStatus::kHere;
    return refers ? binary : 0;
}

std::uint64_t SweepVisitor::magic_binary_of(const HeapObject& object) const {
    std::uint64_t word = 0;
    const bool refers = !object.is_cell && object.kind == BoxedKind::kReference &&
                        words_->read(object.address + kWordBytes, word) == WordStatus::kHere &&
                        otp25::is_magic_reference(word);
    return refers ? word : 0;
}

std::string SweepVisitor::text(std::uint64_t word, std::size_t bytes) {
    printer_->forget();
    const TermText text = term_text(*printer_, word, bytes);
    return text.text + (text.cut ? "..." : "");
}

bool is_inner_cell(const HeapObject& object, std::span<const WalkLevel> path) {
    if (!object.is_cell || path.empty()) {
        return false;
    }
    const WalkLevel& above = path.back();
    return above.kind == WalkLevel::Kind::kHashMap ||
           (above.kind == WalkLevel::Kind::kList && above.left == 0 &&
            above.index != WalkLevel::kTail);
}

ProcessSweep::ProcessSweep(const InputLimits& limits)
    : space_({.max_memory_bytes = limits.memory, .max_file_bytes = limits.temporary_bytes()}),
      marks_(&space_) {}

Result<void> ProcessSweep::run(Dump& dump, OpenedProcess& process, SweepVisitor& visitor) {
    WordReader words(process.context());
    visitor.look_through(process.context(), process.scheme, words);
    marks_.clear();
    TermWalk walk(process.scheme, words, marks_, TermWalk::Measure::kHeap, &space_);
    const auto walk_from = [&](const HeapRoot& root, std::uint64_t word,
                               bool in_key) -> Result<void> {
        visitor.begin_root(root, in_key);
        ASSIGN_OR_RETURN(const auto outcome, walk.walk(word, visitor));
        counts_.unreadable += outcome.unreadable;
        return {};
    };
    const auto visit = [&](const HeapRoot& root) -> Result<void> {
        if (root.kind == RootKind::kMessage) {
            // No words of one message may pass for another's.
            words.forget();
        }
        if (root.kind == RootKind::kDictionary) {
            RETURN_IF_ERROR(walk_from(root, root.key_word, true));
        }
        return walk_from(root, root.word, false);
    };
    ASSIGN_OR_RETURN(const auto visits, visit_roots(dump, process, visit, RootWords::kAll));
    counts_.undecoded_messages += visits.undecoded_messages;
    counts_.unreadable += visits.malformed;
    return {};
}

}  // namespace beamdump::query
