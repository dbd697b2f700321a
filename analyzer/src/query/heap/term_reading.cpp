#include "query/heap/term_reading.h"

#include "query/process/behaviour_state.h"

#include <libdump/base/first_items.h>
#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace beamdump::query {

namespace {

/// A dictionary's key in what `heap` shows, by default.
constexpr PathFinder::Cut kShownKey{.bytes = 80, .ending = ""};
constexpr std::string_view kMessage = "message ";

bool begins_with_root(std::string_view path, std::string_view root) {
    return path.starts_with(root) && PathFinder::is_boundary(path.substr(root.size()));
}

/// Cuts off a root, and the function that `heap` shows behind a frame.
void cut_root(std::string_view& path, std::size_t length, bool with_function) {
    path.remove_prefix(length);
    if (with_function && path.starts_with(", ")) {
        path.remove_prefix(std::min({path.find(" ->"), path.size()}));
    }
}

/// The root as text, as `heap` shows it. Key: of a dictionary entry.
std::string root_name(const HeapRoot& root, PathFinder& finder) {
    switch (root.kind) {
        case RootKind::kStack:
            return root.is_state ? std::string(kStateRoot)
                                 : fmt::format("y({}) of frame {}", root.index, root.frame);
        case RootKind::kArgument:
            return fmt::format("x({})", root.index);
        case RootKind::kDictionary:
            return "dictionary " +
                   finder.texts_of(root.key_word, kShownKey.bytes, kShownKey).front();
        case RootKind::kMessage:
            return fmt::format("message {}", root.index);
        case RootKind::kOther:
            break;
    }
    return root.name;
}

std::vector<std::string> names_of(const HeapRoot& root, PathFinder& finder, std::string_view path) {
    if (root.kind == RootKind::kDictionary) {
        auto names = finder.texts_of(root.key_word, path.size(), kShownKey);
        for (auto& name : names) {
            name.insert(0, "dictionary ");
        }
        return names;
    }
    std::vector<std::string> names = {root_name(root, finder)};
    if (root.kind == RootKind::kStack && root.frame == 0) {
        names.push_back(fmt::format("y({})", root.index));
        if (root.is_state) {
            names.push_back(fmt::format("y({}) of frame 0", root.index));
        }
    }
    return names;
}

/// A message by its index. nullopt: the path does not begin with one.
Result<std::optional<NamedRoot>> message_root(Dump& dump, OpenedProcess& process,
                                              std::string_view& path) {
    if (!path.starts_with(kMessage)) {
        return std::nullopt;
    }
    const auto digits = path.substr(kMessage.size());
    std::uint64_t index = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const auto length = static_cast<std::size_t>(parsed.ptr - path.data());
    if (parsed.ec != std::errc() || !PathFinder::is_boundary(path.substr(length))) {
        return std::nullopt;
    }
    NamedRoot root{0, std::string(path.substr(0, length)),
                   std::make_unique<MessageWalker>(dump.reader(), process.run)};
    root.walker->seek(index);
    auto entry = root.walker->next();
    if (!entry) {
        return wrap("reading the messages", std::move(entry.error()));
    }
    if (*entry == nullptr || root.walker->index() != index || !is_message(**entry)) {
        return fail(ErrorCode::kNotFound, fmt::format("{} has no {}", process.line.pid, root.text));
    }
    if ((*entry)->kind() == records::MESSAGE_KIND_EXTERNAL) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} is from another node and not decoded yet: messages shows it "
                                "as a whole",
                                root.text));
    }
    process.context().set_message(*entry);
    root.word = (*entry)->term_word();
    path.remove_prefix(length);
    return root;
}

/// Finds the root that a path begins with, and cuts it off. Beside the names that `heap` shows:
/// "y(3)" is of frame 0, a function behind a frame is passed over, and "state" is the state of a
/// gen_server. The context reads a message's words from then on. kNotFound: there is none.
Result<NamedRoot> find_root(Dump& dump, OpenedProcess& process, PathFinder& finder,
                            std::string_view& path) {
    ASSIGN_OR_RETURN(auto message, message_root(dump, process, path));
    if (message) {
        return std::move(*message);
    }
    if (begins_with_root(path, kStateRoot) ||
        path.starts_with(std::string(kStateRoot) + ", gen_server:")) {
        ASSIGN_OR_RETURN(auto state, behaviour_state(dump, process));
        if (!state) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("the state of {} is unknown: its top frame is not that of a "
                                    "gen_server which waits for a message, as R16 to OTP "
                                    "29 compile it; heap names its roots",
                                    process.line.pid));
        }
        cut_root(path, kStateRoot.size(), true);
        return NamedRoot{state->word, std::string(kStateRoot)};
    }
    std::optional<NamedRoot> found;
    std::size_t longest = 0;
    bool on_stack = false;
    Nearest nearest(path.substr(0, path.find(" -> ")));
    const auto look = [&](const HeapRoot& root) -> Result<void> {
        const bool stack = root.kind == RootKind::kStack;
        for (const auto& name : names_of(root, finder, path)) {
            nearest.add(name);
            const bool fits =
                begins_with_root(path, name) ||
                (stack && path.starts_with(name) && path.substr(name.size()).starts_with(", "));
            if (fits && name.size() > longest) {
                longest = name.size();
                found = NamedRoot{root.word, root_name(root, finder)};
                on_stack = stack;
            }
        }
        return {};
    };
    RETURN_IF_ERROR(visit_roots(dump, process, look, RootWords::kAll, RootMessages::kLeftOut));
    if (!found) {
        return fail(
            ErrorCode::kNotFound,
            fmt::format("{} has no root \"{}\"{}; heap names its roots", process.line.pid, path,
                        nearest.best().empty()
                            ? std::string()
                            : fmt::format("; did you mean \"{}\"?", nearest.best())));
    }
    cut_root(path, longest, on_stack);
    return std::move(*found);
}

/// Sums the reference-counted binaries that a term leads to, each once and whole.
class KeptBinaries final : public WalkObserver {
  public:
    KeptBinaries(WordReader& reader, const TagScheme& scheme, AddressMarks& seen,
                 TermReading::PartSizes& into)
        : reader_(reader), scheme_(scheme), seen_(seen), into_(into) {
        seen_.clear();
    }

    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> /*path*/) override {
        std::uint64_t address = 0;
        if (object.is_cell || object.kind != BoxedKind::kRefcBinary ||
            reader_.read(object.address + scheme_.refc_binary * kWordBytes, address) !=
                WordStatus::kHere) {
            return Entered();
        }
        ASSIGN_OR_RETURN(const bool is_new, seen_.add(address));
        if (is_new) {
            const auto info = reader_.context().binary_at(address);
            into_.binary_bytes += info ? info->size_bytes : 0;
            into_.unsized_binaries += info ? 0 : 1;
        }
        return Entered();
    }
    Result<void> again(std::uint64_t /*address*/, std::span<WalkLevel> /*path*/) override {
        return {};
    }
    Result<void> leave(std::span<WalkLevel> /*path*/) override { return {}; }

  private:
    WordReader& reader_;
    const TagScheme& scheme_;
    AddressMarks& seen_;
    TermReading::PartSizes& into_;
};

/// The N largest parts of a term, with binaries; of equal ones the first. Parts that lead to the
/// same terms are walked again each: once that took some times what the whole term takes, the rest
/// is not sized.
template <typename Part>
class LargestParts {
  public:
    struct Sized {
        Part part;
        TermReading::PartSizes sizes;
        std::uint64_t place = 0;
    };

    /// 0: any number, and none is kept.
    LargestParts(std::uint64_t limit, std::uint64_t whole_words)
        : limit_(limit),
          kept_(limit, is_larger),
          words_left_(kLeastWords + std::min(whole_words, kMostWords) * kTimes) {}

    /// Counts a part; whether it is to be sized.
    bool wants_next() {
        ++seen_;
        const bool wanted = limit_ == 0 || kept_.items().size() < limit_ || words_left_ != 0;
        unsized_ += wanted ? 0 : 1;
        return wanted;
    }
    void add(Part part, const TermReading::PartSizes& sizes) {
        words_left_ -= std::min(words_left_, sizes.words.shared + 1);
        if (limit_ != 0) {
            kept_.add({std::move(part), sizes, seen_});
        }
    }
    [[nodiscard]] std::vector<Sized> take() { return kept_.take(); }
    [[nodiscard]] std::uint64_t unsized() const { return unsized_; }
    /// The parts beyond the limit.
    [[nodiscard]] std::uint64_t omitted() const {
        return limit_ != 0 && seen_ > limit_ ? seen_ - limit_ : 0;
    }

  private:
    static bool is_larger(const Sized& a, const Sized& b) {
        const auto bytes = [](const Sized& sized) {
            return sized.sizes.words.shared * kWordBytes + sized.sizes.binary_bytes;
        };
        return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a.place < b.place;
    }

    static constexpr std::uint64_t kLeastWords = 16U << 20U;
    static constexpr std::uint64_t kMostWords = std::uint64_t{1} << 40U;
    static constexpr std::uint64_t kTimes = 8;

    std::uint64_t limit_;
    FirstItems<Sized, bool (*)(const Sized&, const Sized&)> kept_;
    std::uint64_t words_left_;
    std::uint64_t seen_ = 0;
    std::uint64_t unsized_ = 0;
};

}  // namespace

TermReading::TermReading(Dump& dump, const std::string& file,
                         std::shared_ptr<OpenedProcess> process, const TermQuery& query)
    : dump_(dump),
      facts_(query::dump_facts(dump, file)),
      process_(std::move(process)),
      query_(query),
      withheld_(terms_withheld(process_->run, query.sensitive)),
      space_({.max_memory_bytes = query.limits.memory,
              .max_file_bytes = query.limits.temporary_bytes()}),
      finder_(process_->context(), process_->scheme),
      printer_(process_->context(), process_->scheme),
      sizer_(process_->scheme, finder_.reader(), &space_),
      binaries_seen_(&space_) {}

Result<std::unique_ptr<TermReading>> TermReading::open(Dump& dump, const std::string& file,
                                                       std::string_view process,
                                                       const TermQuery& query) {
    ASSIGN_OR_RETURN(auto opened, open_process(dump, process));
    std::unique_ptr<TermReading> reading(new TermReading(dump, file, std::move(opened), query));
    if (reading->withheld_ == Withheld::kNo && !query.path.empty()) {
        RETURN_IF_ERROR(reading->find());
    }
    return reading;
}

Result<void> TermReading::find() {
    std::string_view rest = query_.path;
    ASSIGN_OR_RETURN(root_, find_root(dump_, *process_, finder_, rest));
    finder_.forget();
    path_ = {root_->text};
    ASSIGN_OR_RETURN(auto found, finder_.follow(root_->word, root_->text, rest));
    word_ = found.word;
    path_.insert(path_.end(), found.steps.begin(), found.steps.end());
    PartSizes sizes;
    if (!query_.without_sizes) {
        ASSIGN_OR_RETURN(sizes, sizes_of(word_));
    }
    term_ = line_of(word_, path_.back(), sizes);
    return {};
}

std::optional<std::uint64_t> TermReading::count_of(std::uint64_t word, std::string_view kind) {
    if (kind != "list" && kind != "tuple" && kind != "map" && kind != "fun" &&
        kind != "native_record") {
        return std::nullopt;
    }
    std::uint64_t count = 0;
    const bool whole = query::each_part(process_->scheme, finder_.reader(), word, Parts::kShown,
                                        [&count](const TermPart&) {
                                            ++count;
                                            return true;
                                        });
    return whole ? std::optional(count) : std::nullopt;
}

Result<TermReading::PartSizes> TermReading::sizes_of(std::uint64_t word) {
    PartSizes sizes;
    KeptBinaries kept(finder_.reader(), process_->scheme, binaries_seen_, sizes);
    ASSIGN_OR_RETURN(sizes.words, sizer_.sizes(word, &kept));
    return sizes;
}

TermPartLine TermReading::line_of(std::uint64_t word, std::string step, const PartSizes& sizes) {
    TermPartLine line;
    line.step = std::move(step);
    line.kind = term_kind_text(process_->scheme, finder_.reader(), word);
    line.count = count_of(word, line.kind);
    line.sizes = sizes.words;
    line.binary_bytes = sizes.unsized_binaries ? std::nullopt : std::optional(sizes.binary_bytes);
    unreadable_ += line.sizes.unreadable;
    return line;
}

/// The name of an element of a record whose fields are known.
std::optional<std::string> TermReading::field_of(std::uint64_t whole, const TermPart& part) {
    const auto fields = finder_.fields_of(whole);
    return fields != nullptr && part.step.kind == WalkLevel::Kind::kTuple && part.step.index != 0
               ? std::optional(fields->at(part.step.index - 1))
               : std::nullopt;
}

Result<void> TermReading::visit_part(std::uint64_t word, TermPartLine line,
                                     const Visitor& visitor) {
    line.text = term_text(printer_, word, query_.part_bytes);
    visitor.begin(line);
    std::uint64_t omitted = 0;
    if (line.depth < query_.depth) {
        ASSIGN_OR_RETURN(omitted, parts_of(word, line.sizes.shared, line.depth + 1, visitor));
    }
    visitor.end(line, omitted);
    return {};
}

/// The parts of a term, the largest first; all of them, where there is no limit, in their order.
Result<std::uint64_t> TermReading::parts_of(std::uint64_t word, std::uint64_t whole_words,
                                            std::uint64_t depth, const Visitor& visitor) {
    const auto visit = [&](const TermPart& part, const PartSizes& sizes) {
        auto line = line_of(part.word, finder_.step_text(part.step), sizes);
        line.field = field_of(word, part);
        line.depth = depth;
        return visit_part(part.word, std::move(line), visitor);
    };
    LargestParts<TermPart> largest(query_.limit, whole_words);
    Result<void> failed;
    query::each_part(process_->scheme, finder_.reader(), word, Parts::kShown,
                     [&](const TermPart& part) {
                         if (!largest.wants_next()) {
                             return true;
                         }
                         auto sizes = sizes_of(part.word);
                         if (!sizes) {
                             failed = std::unexpected(std::move(sizes.error()));
                         } else if (query_.limit == 0) {
                             failed = visit(part, *sizes);
                         } else {
                             largest.add(part, *sizes);
                         }
                         return failed.has_value();
                     });
    RETURN_IF_ERROR(std::move(failed));
    unsized_parts_ += largest.unsized();
    for (const auto& sized : largest.take()) {
        RETURN_IF_ERROR(visit(sized.part, sized.sizes));
    }
    return largest.omitted();
}

/// The roots, the largest first like the parts of a term.
Result<std::uint64_t> TermReading::each_root(const Visitor& visitor) {
    const auto visit = [&](const HeapRoot& root, const PartSizes& sizes, const Visitor& told) {
        printer_.forget();
        auto line = line_of(root.word, root_name(root, finder_), sizes);
        line.depth = 1;
        return visit_part(root.word, std::move(line), told);
    };
    const auto each = [&](const std::function<Result<void>(const HeapRoot&)>& seen) {
        return visit_roots(
            dump_, *process_,
            [&](const HeapRoot& root) {
                // Messages may have different words at the same addresses.
                finder_.forget();
                return seen(root);
            },
            RootWords::kAll);
    };
    std::uint64_t index = 0;
    LargestParts<std::uint64_t> largest(query_.limit, process_->run.end.words_captured());
    RETURN_IF_ERROR(each([&](const HeapRoot& root) -> Result<void> {
        const auto at = index++;
        if (!largest.wants_next()) {
            return {};
        }
        ASSIGN_OR_RETURN(const auto sizes, sizes_of(root.word));
        if (query_.limit == 0) {
            return visit(root, sizes, visitor);
        }
        largest.add(at, sizes);
        return {};
    }));
    unsized_parts_ += largest.unsized();
    // Their words can be read only while they are visited: what is told of each is held.
    struct Told {
        bool begins = false;
        TermPartLine line;
        std::uint64_t omitted = 0;
    };
    const auto chosen = largest.take();
    std::vector<std::vector<Told>> told(chosen.size());
    index = 0;
    if (!chosen.empty()) {
        RETURN_IF_ERROR(each([&](const HeapRoot& root) -> Result<void> {
            const auto found =
                std::ranges::find(chosen, index++, [](const auto& sized) { return sized.part; });
            if (found == chosen.end()) {
                return {};
            }
            auto& into = told[static_cast<std::size_t>(found - chosen.begin())];
            return visit(
                root, found->sizes,
                {.begin = [&](const TermPartLine& line) { into.push_back({true, line}); },
                 .end = [&](const TermPartLine& line,
                            std::uint64_t omitted) { into.push_back({false, line, omitted}); }});
        }));
    }
    for (const auto& events : told) {
        for (const auto& event : events) {
            if (event.begins) {
                visitor.begin(event.line);
            } else {
                visitor.end(event.line, event.omitted);
            }
        }
    }
    return largest.omitted();
}

Result<std::uint64_t> TermReading::each_part(const Visitor& visitor) {
    if (withheld_ != Withheld::kNo) {
        return 0;
    }
    return term_ ? parts_of(word_, term_->sizes.shared, 1, visitor) : each_root(visitor);
}

TermPrinter& TermReading::start_text() {
    printer_.forget();
    printer_.start(word_);
    return printer_;
}

}  // namespace beamdump::query
