#include "query/term/path_finder.h"

#include "query/term/term_path.h"
#include "query/term/term_text.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::query {

namespace {

using Kind = WalkLevel::Kind;

TagScheme with_other_syntax(TagScheme scheme) {
    scheme.style.syntax =
        scheme.style.syntax == TermSyntax::kElixir ? TermSyntax::kErlang : TermSyntax::kElixir;
    return scheme;
}

void skip_spaces(std::string_view& text) {
    while (text.starts_with(' ')) {
        text.remove_prefix(1);
    }
}

/// What separates steps. False: the path has none here.
bool skip_separator(std::string_view& path) {
    std::string_view rest = path;
    skip_spaces(rest);
    if (rest.starts_with("->")) {
        rest.remove_prefix(2);
    } else if (rest.starts_with('/')) {
        rest.remove_prefix(1);
    } else {
        return false;
    }
    skip_spaces(rest);
    path = rest;
    return true;
}

/// Whether a step names a part by its key, so that another part may have the same text.
bool has_key(Kind kind) {
    return kind == Kind::kFlatMap || kind == Kind::kPair || kind == Kind::kRecord;
}

}  // namespace

PathFinder::PathFinder(TermContext& context, const TagScheme& scheme)
    : scheme_(scheme),
      reader_(context),
      printer_(context, without_resource_types(scheme)),
      other_(context, with_other_syntax(without_resource_types(scheme))) {}

void PathFinder::forget() {
    reader_.forget();
    printer_.forget();
    other_.forget();
}

bool PathFinder::is_boundary(std::string_view rest) {
    return rest.empty() || rest.starts_with('.') || rest.starts_with('[') || skip_separator(rest);
}

std::string PathFinder::step_text(const PathStep& step) {
    auto texts = path_texts({step}, scheme_, reader_, printer_);
    return texts.empty() ? std::string() : std::move(texts.front());
}

std::vector<std::string> PathFinder::texts_of(std::uint64_t word, std::size_t longest,
                                              const std::optional<Cut>& cut) {
    std::vector<std::string> texts;
    for (TermPrinter* printer : {&printer_, &other_}) {
        const std::size_t shown = cut ? cut->bytes : 0;
        TermText text = term_text(*printer, word, std::max(longest, shown) + 1);
        if (cut && text.text.size() > shown) {
            std::string beginning = text.text.substr(0, shown);
            beginning.resize(whole_characters(beginning));
            texts.push_back(beginning + std::string(cut->ending));
        }
        if (!text.cut) {
            texts.push_back(std::move(text.text));
        }
    }
    return texts;
}

const std::vector<std::string>* PathFinder::fields_of(std::uint64_t tuple) {
    std::uint64_t header = 0;
    std::uint64_t tag = 0;
    if (scheme_.style.records == nullptr || word_kind(scheme_, tuple) != WordKind::kBoxed ||
        reader_.read(pointer_of(tuple), header) != WordStatus::kHere ||
        boxed_kind(scheme_, header) != BoxedKind::kTuple || header_arity(header) == 0 ||
        reader_.read(pointer_of(tuple) + kWordBytes, tag) != WordStatus::kHere ||
        word_kind(scheme_, tag) != WordKind::kAtom) {
        return nullptr;
    }
    return scheme_.style.records->find(printer_.atoms().at(table_index(tag)).name,
                                       header_arity(header));
}

/// The texts behind a full stop: names of keys, fields and elements.
std::vector<std::string> PathFinder::named_forms(const TermPart& part, std::uint64_t whole,
                                                 std::size_t longest) {
    std::vector<std::string> texts;
    const auto add_atom = [&](std::uint64_t word) {
        if (word_kind(scheme_, word) == WordKind::kAtom) {
            const auto& atom = printer_.atoms().at(table_index(word));
            if (atom.known) {
                texts.push_back(atom.name);
            }
            texts.push_back(atom.quoted);
            for (auto& text : texts_of(word, longest)) {
                texts.push_back(std::move(text));
            }
        }
    };
    if (const auto key = key_of(part.step, reader_);
        key && (part.step.kind != Kind::kPair || part.step.index != 0)) {
        add_atom(*key);
    }
    if (part.step.kind == Kind::kTuple && part.step.index != 0) {
        if (const auto* fields = fields_of(whole)) {
            texts.push_back(fields->at(part.step.index - 1));
        }
    }
    return texts;
}

/// The texts that name a part of the term `whole`, in one notation.
std::vector<std::string> PathFinder::forms(const TermPart& part, Notation notation,
                                           std::uint64_t whole, std::size_t longest) {
    if (notation == Notation::kName) {
        return named_forms(part, whole, longest);
    }
    const PathStep& step = part.step;
    if (!has_key(step.kind)) {
        if (notation == Notation::kWords) {
            return {step_text(step)};
        }
        const bool counted = (step.kind == Kind::kTuple || step.kind == Kind::kList) &&
                             step.index != WalkLevel::kTail;
        return counted ? std::vector{fmt::format("{}]", step.index + 1)}
                       : std::vector<std::string>();
    }
    const auto key = key_of(step, reader_);
    if (notation == Notation::kBracket) {
        std::vector<std::string> texts;
        if (key && (step.kind != Kind::kPair || step.index != 0)) {
            for (const auto& text : texts_of(*key, longest)) {
                texts.push_back(text + "]");
            }
        }
        return texts;
    }
    std::vector<std::string> texts = {step_text(step)};
    if (key) {
        const std::string_view what = step.kind == Kind::kRecord                    ? "field"
                                      : step.kind == Kind::kPair && step.index == 0 ? "as key"
                                                                                    : "key";
        for (const auto& text : texts_of(*key, longest, Cut{kStepKeyBytes, "..."})) {
            texts.push_back(fmt::format("{} {}", what, text));
        }
    }
    return texts;
}

Result<TermPart> PathFinder::step(std::uint64_t word, const std::string& from,
                                  std::string_view& rest) {
    Notation notation = Notation::kWords;
    std::string_view wanted = rest;
    if (wanted.starts_with('.') || wanted.starts_with('[')) {
        notation = wanted.starts_with('.') ? Notation::kName : Notation::kBracket;
        wanted.remove_prefix(1);
    } else if (!skip_separator(wanted)) {
        return fail(ErrorCode::kUsage,
                    fmt::format("the path has no step at \"{}\": steps follow / or ->", rest));
    }
    Match best;
    Nearest nearest(wanted);
    const bool whole = each_part(scheme_, reader_, word, Parts::kAll, [&](const TermPart& part) {
        std::size_t length = 0;
        for (const auto& form : forms(part, notation, word, wanted.size())) {
            if (has_key(part.step.kind) || notation == Notation::kName) {
                nearest.add(form);
            }
            if (!form.empty() && wanted.starts_with(form) &&
                is_boundary(wanted.substr(form.size()))) {
                length = std::max(length, form.size());
            }
        }
        if (length > best.length) {
            best = {part, length, 0};
        }
        best.count += length != 0 && length == best.length ? 1 : 0;
        return length == 0 || has_key(part.step.kind);
    });
    if (best.count == 1) {
        rest = wanted.substr(best.length);
        return best.part;
    }
    if (best.count > 1) {
        return fail(ErrorCode::kNotFound, fmt::format("{} has several parts \"{}\"", from,
                                                      wanted.substr(0, best.length)));
    }
    const auto kind = term_kind_text(scheme_, reader_, word);
    return fail(ErrorCode::kNotFound,
                fmt::format("{}, a {}, has no part \"{}\"{}{}", from, kind, wanted,
                            whole ? "" : ", as far as the dump has it",
                            nearest.best().empty()
                                ? std::string()
                                : fmt::format("; did you mean \"{}\"?", nearest.best())));
}

Result<PathFinder::Found> PathFinder::follow(std::uint64_t root, const std::string& from,
                                             std::string_view path) {
    Found found{root, {}};
    std::string place = from;
    while (!path.empty()) {
        ASSIGN_OR_RETURN(const auto part, step(found.word, place, path));
        found.word = part.word;
        found.steps.push_back(step_text(part.step));
        place += " -> " + found.steps.back();
    }
    return found;
}

}  // namespace beamdump::query
