#include "query/holders/search.h"

#include "query/holders/pattern.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/heap/term_sizes.h>
#include <libdump/term/binary_content.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

/// Says which terms are searched for.
class TermTest {
  public:
    TermTest() = default;
    TermTest(const TermTest&) = delete;
    TermTest& operator=(const TermTest&) = delete;
    virtual ~TermTest() = default;

    virtual bool passes(const TagScheme& scheme, WordReader& reader, std::uint64_t word) = 0;
    [[nodiscard]] virtual std::uint64_t partial_binaries() const { return 0; }
    [[nodiscard]] virtual std::uint64_t lost_binaries() const { return 0; }
};

class PatternTest final : public TermTest {
  public:
    explicit PatternTest(PatternMatch match) : match_(std::move(match)) {}

    bool passes(const TagScheme& scheme, WordReader& reader, std::uint64_t word) override {
        return match_.matches(scheme, reader, word);
    }

  private:
    PatternMatch match_;
};

/// Text in atoms, binaries and lists of characters.
class TextTest final : public TermTest {
  public:
    explicit TextTest(std::string text) : text_(std::move(text)) {}

    Result<void> find_atoms(AtomTable& atoms) {
        return atoms.visit_newest_first([this](std::uint32_t index, const std::string& name) {
            if (name.contains(text_)) {
                atoms_.insert(index);
            }
        });
    }

    bool passes(const TagScheme& scheme, WordReader& reader, std::uint64_t word) override {
        switch (word_kind(scheme, word)) {
            case WordKind::kAtom:
                return atoms_.contains(table_index(word));
            case WordKind::kList: {
                const auto characters = list_characters(scheme, reader, word, kMaxCharacters);
                return characters && characters->contains(text_);
            }
            case WordKind::kBoxed: {
                const auto object = heap_object(scheme, reader, word);
                return object && is_in_binary(scheme, reader, *object);
            }
            default:
                return false;
        }
    }
    [[nodiscard]] std::uint64_t partial_binaries() const override { return partial_; }
    [[nodiscard]] std::uint64_t lost_binaries() const override { return lost_; }

  private:
    static constexpr std::size_t kMaxCharacters = 1U << 20U;
    static constexpr std::size_t kBlock = 64U << 10U;

    bool is_in_binary(const TagScheme& scheme, WordReader& reader, const HeapObject& object) {
        BinaryContent content;
        const bool binary =
            object.kind == BoxedKind::kRefcBinary || object.kind == BoxedKind::kHeapBinary ||
            object.kind == BoxedKind::kSubBinary || object.kind == BoxedKind::kSubBits;
        if (!binary || BinaryContent::resolve(scheme, reader, object.address, content) !=
                           BinaryContent::Status::kFound) {
            return false;
        }
        std::string held;
        std::vector<std::uint8_t> block(std::min<std::uint64_t>(kBlock, content.captured_bytes()));
        for (std::uint64_t at = 0; !block.empty() && at < content.captured_bytes();) {
            const std::size_t got = content.octets(reader, at, block);
            if (got == 0) {
                break;
            }
            held.append(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got));
            if (held.contains(text_)) {
                return true;
            }
            // What may be the beginning of the text stays.
            held.erase(0, held.size() - std::min(held.size(), text_.size() - 1));
            at += got;
        }
        partial_ += content.is_whole() ? 0 : 1;
        lost_ += content.is_as_asked() ? 0 : 1;
        return false;
    }

    std::string text_;
    std::unordered_set<std::uint64_t> atoms_;
    std::uint64_t partial_ = 0;
    std::uint64_t lost_ = 0;
};

class SearchVisitor final : public SweepVisitor {
  public:
    SearchVisitor(TermTest& test, const SearchOptions& options, SearchAnswer& answer)
        : test_(test), options_(options), answer_(answer) {}

    void begin(TermOwner owner) {
        owner_ = std::move(owner);
        found_ = 0;
    }
    Result<void> immediate(std::uint64_t word, std::span<const WalkLevel> path) override {
        return try_term(word, path, false);
    }
    Result<void> met(const HeapObject& object, std::span<const WalkLevel> path) override {
        return is_inner_cell(object, path)
                   ? Result<void>()
                   : try_term(word_to(scheme(), object.address, object.is_cell), path, true);
    }

  private:
    Result<void> try_term(std::uint64_t word, std::span<const WalkLevel> path, bool object) {
        if (!test_.passes(scheme(), words(), word)) {
            return {};
        }
        if (found_++ == 0) {
            count_owner();
        }
        ++answer_.found;
        if (options_.limit != 0 && answer_.found > options_.limit) {
            return {};
        }
        FoundTerm term;
        term.owner = owner_;
        term.place = place(path);
        if (object) {
            TermSizer sizer(scheme(), words());
            ASSIGN_OR_RETURN(const auto sizes, sizer.sizes(word));
            term.words = sizes.shared;
        }
        term.text = text(word, options_.term_bytes);
        options_.found(term);
        answer_.stopped = options_.stop_at_limit && answer_.found == options_.limit;
        return answer_.stopped ? Result<void>(fail(ErrorCode::kLimit, "as many as were wanted"))
                               : Result<void>();
    }

    void count_owner() {
        if (owner_.persistent_terms) {
            answer_.persistent_terms = true;
        } else {
            ++(owner_.table ? answer_.tables : owner_.module ? answer_.modules : answer_.processes);
        }
    }

    TermTest& test_;
    const SearchOptions& options_;
    SearchAnswer& answer_;
    TermOwner owner_;
    std::uint64_t found_ = 0;
};

Result<std::unique_ptr<TermTest>> make_test(Dump& dump, const SearchOptions& options,
                                            SearchAnswer& answer) {
    if (options.pattern) {
        ASSIGN_OR_RETURN(auto match, PatternMatch::make(dump.atoms(), *options.pattern));
        answer.unknown_atoms = match.unknown_atoms();
        return std::make_unique<PatternTest>(std::move(match));
    }
    auto test = std::make_unique<TextTest>(options.text);
    RETURN_IF_ERROR(test->find_atoms(dump.atoms()));
    return test;
}

/// Ends with an error where the visitor stops.
Result<void> search_everything(Dump& dump, const SearchOptions& options, SearchVisitor& visitor,
                               SearchAnswer& answer) {
    ProcessSweep sweep(options.limits);
    ProcessNames names(dump);
    const auto visit = [&](OpenedProcess& process) -> Result<void> {
        names.add_to(process);
        visitor.begin({process.line, std::nullopt, std::nullopt});
        ++answer.read.read;
        const auto done = sweep.run(dump, process, visitor);
        answer.undecoded_messages = sweep.counts().undecoded_messages;
        answer.unreadable = sweep.counts().unreadable;
        return done;
    };
    auto read = visit_processes(
        dump,
        {.sensitive = options.sensitive, .use = HeapUse::kWhole, .progress = options.progress},
        visit);
    if (!read) {
        return wrap("searching the processes", std::move(read.error()));
    }
    answer.read = *read;
    NodeSweep node(options.limits);
    const auto begin = [&visitor](const TermOwner& owner) { visitor.begin(owner); };
    const auto search = [&]() -> Result<void> {
        RETURN_IF_ERROR(node.rows(dump, visitor, begin));
        RETURN_IF_ERROR(node.literals(dump, visitor, begin));
        return node.persistent_terms(dump, visitor, begin);
    };
    const auto done = search();
    answer.node = node.counts();
    answer.unreadable += answer.node.unreadable;
    return done;
}

}  // namespace

Result<SearchAnswer> search_terms(Dump& dump, const SearchOptions& options) {
    SearchAnswer answer;
    ASSIGN_OR_RETURN(const auto test, make_test(dump, options, answer));
    if (!answer.unknown_atoms.empty()) {
        return answer;
    }
    SearchVisitor visitor(*test, options, answer);
    auto done = search_everything(dump, options, visitor, answer);
    if (!done && !answer.stopped) {
        return std::unexpected(std::move(done.error()));
    }
    answer.partial_binaries = test->partial_binaries();
    answer.lost_binaries = test->lost_binaries();
    return answer;
}

}  // namespace beamdump::query
