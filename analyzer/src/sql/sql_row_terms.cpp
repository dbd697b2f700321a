#include "sql/sql_row_terms.h"

#include "query/holders/pattern.h"
#include "query/term/term_parts.h"
#include "query/term/term_text.h"
#include "sql/sql_rows.h"

#include <libdump/base/return_if_error.h>
#include <libdump/heap/term_sizes.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

namespace beamdump::sql {

namespace {

/// A term, or a part of it.
class Part {
  public:
    Part(TermTools& tools, std::uint64_t word) : tools_(tools), word_(word) {}

    /// Goes to the part that a path names, of at most `most` steps. Why there is none: a sentence.
    Result<std::optional<std::string>> go(std::string path, std::size_t most = std::string::npos) {
        if (!path.starts_with('.') && !path.starts_with('[')) {
            path.insert(0, "/");
        }
        auto found = tools_.finder().follow(word_, "the term of a row", path);
        if (!found && found.error().code != ErrorCode::kNotFound) {
            return std::unexpected(std::move(found.error()));
        }
        if (!found) {
            return std::move(found.error().message);
        }
        if (found->steps.size() > most) {
            return fmt::format("the term of a row has no part \"{}\"", path.substr(1));
        }
        word_ = found->word;
        return std::nullopt;
    }

    [[nodiscard]] std::string_view kind() {
        return query::term_kind_text(tools_.scheme(), tools_.finder().reader(), word_);
    }
    [[nodiscard]] std::string text() {
        return query::term_text(tools_.printer(), word_, kTermBytes).text;
    }
    /// A number as one, anything else as its text.
    [[nodiscard]] Value value() {
        const auto what = kind();
        std::string shown = text();
        if (what == "integer") {
            std::int64_t number = 0;
            const auto read = std::from_chars(shown.data(), shown.data() + shown.size(), number);
            if (read.ec == std::errc() && read.ptr == shown.data() + shown.size()) {
                return number;
            }
        } else if (what == "float") {
            return std::strtod(shown.c_str(), nullptr);
        }
        return shown;
    }
    Result<TermSizes> sizes() {
        return TermSizer(tools_.scheme(), tools_.finder().reader()).sizes(word_);
    }
    bool matches(const query::PatternMatch& match) {
        return match.unknown_atoms().empty() &&
               match.matches(tools_.scheme(), tools_.finder().reader(), word_);
    }

  private:
    TermTools& tools_;
    std::uint64_t word_;
};

Result<std::string> text_given(const Value& value, std::string_view what) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return *text;
    }
    return fail(ErrorCode::kUsage, fmt::format("{} is a text", what));
}

using Arguments = std::span<const Value>;

/// What `give` gives of the part that an optional path names.
template <auto kGive>
Result<RowValue> of_part(const Source& /*source*/, TermTools& tools, std::uint64_t word,
                         Arguments arguments) {
    Part part(tools, word);
    if (!arguments.empty()) {
        ASSIGN_OR_RETURN(auto path, text_given(arguments[0], "the path"));
        ASSIGN_OR_RETURN(auto none, part.go(std::move(path)));
        if (none) {
            return RowValue{.value = {}, .no_part = *std::move(none)};
        }
    }
    ASSIGN_OR_RETURN(auto value, kGive(part));
    return RowValue{.value = std::move(value)};
}

Result<Value> row_value(Part& part) {
    return part.value();
}
Result<Value> row_text(Part& part) {
    return Value(part.text());
}
Result<Value> row_kind(Part& part) {
    return Value(std::string(part.kind()));
}

/// A size in SQL; none of a term with parts that the dump lacks, or that is too large for it.
Value sql_size(const TermSizes& sizes, std::uint64_t words) {
    return sizes.unreadable == 0 && words <= std::uint64_t{INT64_MAX}
               ? Value(static_cast<std::int64_t>(words))
               : Value();
}
Result<Value> row_words(Part& part) {
    ASSIGN_OR_RETURN(const auto sizes, part.sizes());
    return sql_size(sizes, sizes.shared);
}
Result<Value> row_flat_words(Part& part) {
    ASSIGN_OR_RETURN(const auto sizes, part.sizes());
    return sql_size(sizes, sizes.flat);
}

/// The atom that says what a term is: an atom itself, or the first element of a tuple.
Result<Value> row_tag(Part& part) {
    if (part.kind() == "tuple") {
        ASSIGN_OR_RETURN(const auto none, part.go("element 1"));
        if (none) {
            return Value();
        }
    }
    return part.kind() == "atom" ? Value(part.text()) : Value();
}

/// The value of a part that is one step away.
Result<RowValue> value_at_step(TermTools& tools, std::uint64_t word, std::string step) {
    Part part(tools, word);
    ASSIGN_OR_RETURN(auto none, part.go(std::move(step), 1));
    if (none) {
        return RowValue{.value = {}, .no_part = *std::move(none)};
    }
    return RowValue{.value = part.value()};
}

Result<RowValue> element(const Source& /*source*/, TermTools& tools, std::uint64_t word,
                         Arguments arguments) {
    const auto* const number = std::get_if<std::int64_t>(arguments.data());
    if (number == nullptr || *number < 1) {
        return fail(ErrorCode::kUsage, "element(value, N): N is a number from 1 on");
    }
    return value_at_step(tools, word, fmt::format("element {}", *number));
}

Result<RowValue> map_get(const Source& /*source*/, TermTools& tools, std::uint64_t word,
                         Arguments arguments) {
    if (const auto* const number = std::get_if<std::int64_t>(arguments.data())) {
        return value_at_step(tools, word, fmt::format("key {}", *number));
    }
    ASSIGN_OR_RETURN(const auto key,
                     text_given(arguments[0], "map_get(value, KEY): KEY, which is no number,"));
    return value_at_step(tools, word, "key " + key);
}

/// As --pattern of `search` has it.
Result<RowValue> row_matches(const Source& source, TermTools& tools, std::uint64_t word,
                             Arguments arguments) {
    ASSIGN_OR_RETURN(const auto text, text_given(arguments[0], "the pattern"));
    ASSIGN_OR_RETURN(const auto pattern, query::parse_pattern(text));
    ASSIGN_OR_RETURN(const auto match, query::PatternMatch::make(source.dump->atoms(), pattern));
    return RowValue{.value = std::int64_t{Part(tools, word).matches(match)}};
}

}  // namespace

std::span<const RowFunction> row_functions() {
    static constexpr std::array kFunctions = {
        RowFunction{"element", "N", "The N-th element of a tuple: a number, or its text", element,
                    1, 1},
        RowFunction{"flat_words", "[path]", "Its size as erts_debug:flat_size/1",
                    of_part<row_flat_words>, 0, 1},
        RowFunction{"kind", "[path]", "list, tuple, map, atom...", of_part<row_kind>, 0, 1},
        RowFunction{"map_get", "key", "The value of a map's key: a number, or its text", map_get, 1,
                    1},
        RowFunction{"matches", "pattern",
                    "1 if the term is like the pattern, in Erlang's or Elixir's syntax with _ for "
                    "any term",
                    row_matches, 1, 1},
        RowFunction{"part", "path", "The part that a path names: a number, or its text",
                    of_part<row_value>, 1, 1},
        RowFunction{"tag", "[path]", "An atom itself, the first element of a tuple if it is one",
                    of_part<row_tag>, 0, 1},
        RowFunction{"text", "[path]", "The first 4,096 bytes of the text", of_part<row_text>, 0, 1},
        RowFunction{"words", "[path]", "Its size as erts_debug:size/1", of_part<row_words>, 0, 1}};
    return kFunctions;
}

}  // namespace beamdump::sql
