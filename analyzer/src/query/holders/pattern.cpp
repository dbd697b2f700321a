#include "query/holders/pattern.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace beamdump::query {

namespace {

bool is_lower(char c) {
    return (c >= 'a' && c <= 'z');
}
bool is_upper(char c) {
    return (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_number(char c) {
    return c >= '0' && c <= '9';
}
bool is_word(char c) {
    return is_lower(c) || is_upper(c) || is_number(c) || c == '@';
}

Pattern atom_pattern(std::string name) {
    Pattern pattern;
    pattern.kind = Pattern::Kind::kAtom;
    pattern.text = std::move(name);
    return pattern;
}

class PatternParser {
  public:
    explicit PatternParser(std::string_view text) : text_(text) {}

    Result<Pattern> parse() {
        if (text_.size() > kMaxPatternBytes) {
            return fail(ErrorCode::kUsage, "the pattern is too long");
        }
        ASSIGN_OR_RETURN(auto pattern, term());
        skip_spaces();
        if (at_ != text_.size()) {
            return wrong("nothing more");
        }
        return pattern;
    }

  private:
    std::unexpected<Error> wrong(std::string_view wanted) const {
        return fail(ErrorCode::kUsage,
                    fmt::format("the pattern \"{}\" has {} where {} is expected", text_,
                                at_ < text_.size() ? fmt::format("\"{}\"", text_.substr(at_, 10))
                                                   : "its end",
                                wanted));
    }

    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
            ++at_;
        }
    }
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(std::string_view wanted) {
        skip_spaces();
        if (!text_.substr(at_).starts_with(wanted)) {
            return false;
        }
        at_ += wanted.size();
        return true;
    }
    std::string word() {
        const std::size_t begin = at_;
        while (is_word(peek())) {
            ++at_;
        }
        return std::string(text_.substr(begin, at_ - begin));
    }

    Result<std::string> quoted(char quote) {
        std::string plain;
        for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
            at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 1 : 0;
            plain += text_[at_];
        }
        if (at_ == text_.size()) {
            return wrong(fmt::format("a closing {}", quote));
        }
        ++at_;
        return plain;
    }

    Result<Pattern> term() {
        skip_spaces();
        if (depth_ == kMaxPatternDepth) {
            return fail(ErrorCode::kUsage, "the pattern is nested too deep");
        }
        ++depth_;
        auto pattern = any_term();
        --depth_;
        return pattern;
    }

    Result<Pattern> any_term() {
        const char c = peek();
        if (take("<<")) {
            return binary();
        }
        if (c == '<' || text_.substr(at_).starts_with("#PID<")) {
            return pid();
        }
        if (take("#{") || take("%{")) {
            return map({});
        }
        if (c == '%') {
            ++at_;
            ASSIGN_OR_RETURN(auto name, alias());
            if (!take("{")) {
                return wrong("{");
            }
            return map({atom_pattern("__struct__"), std::move(name)});
        }
        if (take("{")) {
            return items(Pattern::Kind::kTuple, "}");
        }
        if (take("[")) {
            return items(Pattern::Kind::kList, "]");
        }
        if (c == '"') {
            ASSIGN_OR_RETURN(auto text, quoted('"'));
            Pattern pattern;
            pattern.kind = Pattern::Kind::kText;
            pattern.text = std::move(text);
            return pattern;
        }
        if (c == '-' || is_number(c)) {
            return number();
        }
        return name();
    }

    Result<Pattern> name() {
        if (peek() == '\'') {
            ASSIGN_OR_RETURN(auto text, quoted('\''));
            return atom_pattern(std::move(text));
        }
        if (peek() == ':') {
            ++at_;
            if (peek() == '"') {
                ASSIGN_OR_RETURN(auto text, quoted('"'));
                return atom_pattern(std::move(text));
            }
            return is_word(peek()) ? Result<Pattern>(atom_pattern(word())) : wrong("an atom");
        }
        if (is_lower(peek())) {
            return atom_pattern(word());
        }
        return is_upper(peek()) ? alias() : wrong("a term");
    }

    /// A variable, or an alias of Elixir's: Shop.Cart. After % it is one without a dot, too.
    Result<Pattern> alias() {
        const bool of_struct = at_ > 0 && text_[at_ - 1] == '%';
        if (!is_upper(peek())) {
            return wrong("a name");
        }
        std::string text = word();
        bool dotted = false;
        while (peek() == '.' && at_ + 1 < text_.size() && is_upper(text_[at_ + 1])) {
            ++at_;
            dotted = true;
            text += '.' + word();
        }
        return dotted || of_struct ? atom_pattern("Elixir." + text) : Pattern{};
    }

    Result<Pattern> number() {
        const std::size_t begin = at_;
        at_ += peek() == '-' ? 1 : 0;
        while (is_number(peek()) || peek() == '_') {
            ++at_;
        }
        Pattern pattern;
        if (peek() == '.' && at_ + 1 < text_.size() && is_number(text_[at_ + 1])) {
            ++at_;
            while (is_number(peek()) || peek() == 'e' || peek() == '-' || peek() == '+') {
                ++at_;
            }
            pattern.kind = Pattern::Kind::kFloat;
            return parsed(begin, pattern.number, pattern);
        }
        pattern.kind = Pattern::Kind::kInteger;
        return parsed(begin, pattern.integer, pattern);
    }

    template <typename Number>
    Result<Pattern> parsed(std::size_t begin, Number& into, Pattern& pattern) {
        std::string digits(text_.substr(begin, at_ - begin));
        std::erase(digits, '_');
        const char* end = digits.data() + digits.size();
        const auto [stopped, error] = std::from_chars(digits.data(), end, into);
        if (error != std::errc() || stopped != end) {
            at_ = begin;
            return wrong("a number of at most 64 bits");
        }
        return pattern;
    }

    Result<Pattern> pid() {
        const std::size_t begin = text_.find('<', at_);
        const std::size_t end = text_.find('>', begin);
        const auto owner = end == std::string_view::npos
                               ? std::nullopt
                               : parse_pid(text_.substr(begin, end + 1 - begin));
        if (!owner) {
            return wrong("a pid such as <0.12.0>");
        }
        at_ = end + 1;
        Pattern pattern;
        pattern.kind = Pattern::Kind::kPid;
        pattern.owner_id = *owner;
        return pattern;
    }

    /// <<"text">> and <<1,2,3>>.
    Result<Pattern> binary() {
        Pattern pattern;
        pattern.kind = Pattern::Kind::kBinary;
        while (!take(">>")) {
            skip_spaces();
            if (peek() == '"') {
                ASSIGN_OR_RETURN(const auto text, quoted('"'));
                pattern.text += text;
                take("/utf8");
            } else {
                ASSIGN_OR_RETURN(const auto byte, number());
                if (byte.kind != Pattern::Kind::kInteger || byte.integer < 0 ||
                    byte.integer > 255) {
                    return wrong("a byte");
                }
                pattern.text += static_cast<char>(byte.integer);
            }
            take(",");
            if (at_ == text_.size()) {
                return wrong(">>");
            }
        }
        return pattern;
    }

    Result<Pattern> items(Pattern::Kind kind, std::string_view end) {
        Pattern pattern;
        pattern.kind = kind;
        if (take(end)) {
            return pattern;
        }
        for (;;) {
            ASSIGN_OR_RETURN(auto item, term());
            pattern.items.push_back(std::move(item));
            if (take(end)) {
                return pattern;
            }
            if (kind == Pattern::Kind::kList && take("|")) {
                ASSIGN_OR_RETURN(auto rest, term());
                pattern.items.push_back(std::move(rest));
                pattern.open_end = true;
                return take(end) ? Result<Pattern>(pattern) : wrong(end);
            }
            if (!take(",")) {
                return wrong(fmt::format(", or {}", end));
            }
        }
    }

    Result<Pattern> map(std::vector<Pattern> pairs) {
        Pattern pattern;
        pattern.kind = Pattern::Kind::kMap;
        pattern.items = std::move(pairs);
        if (take("}")) {
            return pattern;
        }
        for (;;) {
            skip_spaces();
            const std::size_t begin = at_;
            std::string key = is_lower(peek()) ? word() : std::string();
            if (!key.empty() && peek() == ':' && !text_.substr(at_).starts_with(":=")) {
                ++at_;  // key: value
                pattern.items.push_back(atom_pattern(std::move(key)));
            } else {
                at_ = begin;
                ASSIGN_OR_RETURN(auto any_key, term());
                pattern.items.push_back(std::move(any_key));
                if (!take(":=") && !take("=>")) {
                    return wrong("=> or :=");
                }
            }
            ASSIGN_OR_RETURN(auto value, term());
            pattern.items.push_back(std::move(value));
            if (take("}")) {
                return pattern;
            }
            if (!take(",")) {
                return wrong(", or }");
            }
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    unsigned depth_ = 0;
};

}  // namespace

Result<Pattern> parse_pattern(std::string_view text) {
    return PatternParser(text).parse();
}

}  // namespace beamdump::query
