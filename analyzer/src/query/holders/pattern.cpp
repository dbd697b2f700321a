#include "query/holders/pattern.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/utf8.h>
#include <libdump/format/process_name.h>
#include <libdump/term/binary_content.h>
#include <libdump/term/heap_object.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
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

/// Nodes and pairs of one large map that are looked at: more than any map has, but for a torn heap.
constexpr std::uint64_t kMaxMapParts = 1UL << 28U;

bool matches_integer(const TagScheme& scheme, WordReader& reader, std::int64_t wanted,
                     std::uint64_t word) {
    if (word_kind(scheme, word) == WordKind::kSmall) {
        return small_value(word) == wanted;
    }
    if (word_kind(scheme, word) != WordKind::kBoxed) {
        return false;
    }
    const auto object = heap_object(scheme, reader, word);
    std::uint64_t magnitude = 0;
    const bool negative = object && object->kind == BoxedKind::kNegativeBig;
    if (!object || object->words != 2 || (!negative && object->kind != BoxedKind::kPositiveBig) ||
        reader.read(object->address + kWordBytes, magnitude) != WordStatus::kHere) {
        return false;
    }
    const auto as_wanted = static_cast<std::uint64_t>(wanted);
    return negative == (wanted < 0) && magnitude == (negative ? 0 - as_wanted : as_wanted);
}

bool matches_bytes(const TagScheme& scheme, WordReader& reader, const std::string& bytes,
                   std::uint64_t address) {
    BinaryContent content;
    if (BinaryContent::resolve(scheme, reader, address, content) != BinaryContent::Status::kFound ||
        content.whole_bytes() != bytes.size() || content.trailing_bits() != 0) {
        return false;
    }
    std::array<std::uint8_t, 4096> block{};
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t got = content.octets(
            reader, at, std::span(block).first(std::min(block.size(), bytes.size() - at)));
        if (got == 0 || std::memcmp(block.data(), bytes.data() + at, got) != 0) {
            return false;
        }
        at += got;
    }
    return true;
}

bool is_binary(BoxedKind kind) {
    return kind == BoxedKind::kRefcBinary || kind == BoxedKind::kHeapBinary ||
           kind == BoxedKind::kSubBinary || kind == BoxedKind::kSubBits;
}

}  // namespace

Result<Pattern> parse_pattern(std::string_view text) {
    return PatternParser(text).parse();
}

std::optional<std::string> list_characters(const TagScheme& scheme, WordReader& reader,
                                           std::uint64_t word, std::size_t most) {
    constexpr std::int64_t kLargestCharacter = 0x10FFFF;
    std::string text;
    for (std::size_t count = 0; word != scheme.nil && count < most; ++count) {
        std::uint64_t head = 0;
        if (word_kind(scheme, word) != WordKind::kList ||
            reader.read_pair(pointer_of(word), head, word) != WordStatus::kHere ||
            word_kind(scheme, head) != WordKind::kSmall || small_value(head) < 0 ||
            small_value(head) > kLargestCharacter) {
            return std::nullopt;
        }
        append_utf8(text, static_cast<char32_t>(small_value(head)));
    }
    return text;
}

Result<PatternMatch> PatternMatch::make(AtomTable& atoms, const Pattern& pattern) {
    PatternMatch match(pattern);
    RETURN_IF_ERROR(match.resolve(atoms, pattern));
    return match;
}

Result<void> PatternMatch::resolve(AtomTable& atoms, const Pattern& pattern) {
    if (pattern.kind == Pattern::Kind::kAtom && !atoms_.contains(pattern.text)) {
        ASSIGN_OR_RETURN(const auto index, atoms.index_of(pattern.text));
        if (index) {
            atoms_[pattern.text] = *index;
        } else if (std::ranges::find(unknown_, pattern.text) == unknown_.end()) {
            unknown_.push_back(pattern.text);
        }
    }
    for (const Pattern& item : pattern.items) {
        RETURN_IF_ERROR(resolve(atoms, item));
    }
    return {};
}

bool PatternMatch::matches(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                           std::uint64_t word) const {
    const WordKind kind = word_kind(scheme, word);
    switch (pattern.kind) {
        case Pattern::Kind::kAny:
            return true;
        case Pattern::Kind::kAtom: {
            const auto known = atoms_.find(pattern.text);
            return kind == WordKind::kAtom && known != atoms_.end() &&
                   table_index(word) == known->second;
        }
        case Pattern::Kind::kInteger:
            return matches_integer(scheme, reader, pattern.integer, word);
        case Pattern::Kind::kPid:
            return kind == WordKind::kPid &&
                   (pid_serial(scheme, word) << 32U | pid_number(scheme, word)) == pattern.owner_id;
        case Pattern::Kind::kList:
            return matches_list(scheme, reader, pattern, word);
        case Pattern::Kind::kText:
            if (kind == WordKind::kList || kind == WordKind::kNil) {
                return list_characters(scheme, reader, word, pattern.text.size() + 1) ==
                       pattern.text;
            }
            break;
        default:
            break;
    }
    return kind == WordKind::kBoxed && matches_boxed(scheme, reader, pattern, word);
}

bool PatternMatch::matches_boxed(const TagScheme& scheme, WordReader& reader,
                                 const Pattern& pattern, std::uint64_t word) const {
    const auto object = heap_object(scheme, reader, word);
    if (!object) {
        return false;
    }
    switch (pattern.kind) {
        case Pattern::Kind::kTuple: {
            if (object->kind != BoxedKind::kTuple || object->words != pattern.items.size() + 1) {
                return false;
            }
            for (std::size_t i = 0; i < pattern.items.size(); ++i) {
                std::uint64_t element = 0;
                if (reader.read(object->address + (i + 1) * kWordBytes, element) !=
                        WordStatus::kHere ||
                    !matches(scheme, reader, pattern.items[i], element)) {
                    return false;
                }
            }
            return true;
        }
        case Pattern::Kind::kFloat: {
            std::uint64_t bits = 0;
            return object->kind == BoxedKind::kFloat &&
                   reader.read(object->address + kWordBytes, bits) == WordStatus::kHere &&
                   std::bit_cast<double>(bits) == pattern.number;
        }
        case Pattern::Kind::kText:
        case Pattern::Kind::kBinary:
            return is_binary(object->kind) &&
                   matches_bytes(scheme, reader, pattern.text, object->address);
        case Pattern::Kind::kMap:
            return (object->kind == BoxedKind::kFlatMap ||
                    object->kind == BoxedKind::kHashMapHead) &&
                   matches_map(scheme, reader, pattern, object->address);
        default:
            return false;
    }
}

bool PatternMatch::matches_list(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                                std::uint64_t word) const {
    const std::size_t cells = pattern.items.size() - (pattern.open_end ? 1 : 0);
    for (std::size_t i = 0; i < cells; ++i) {
        std::uint64_t head = 0;
        if (word_kind(scheme, word) != WordKind::kList ||
            reader.read_pair(pointer_of(word), head, word) != WordStatus::kHere ||
            !matches(scheme, reader, pattern.items[i], head)) {
            return false;
        }
    }
    return pattern.open_end ? matches(scheme, reader, pattern.items.back(), word)
                            : word == scheme.nil;
}

bool PatternMatch::matches_pair(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                                const Pattern& key, const Pattern& value) const {
    const auto object = boxed_object(scheme, reader, address);
    if (object && object->kind == BoxedKind::kFlatMap) {
        std::uint64_t size = 0;
        std::uint64_t keys = 0;
        if (reader.read(address + otp25::kFlatMapSize * kWordBytes, size) != WordStatus::kHere ||
            reader.read(address + otp25::kFlatMapKeys * kWordBytes, keys) != WordStatus::kHere) {
            return false;
        }
        for (std::uint64_t i = 0; i < std::min(size, otp25::kMaxFlatMapSize); ++i) {
            std::uint64_t one_key = 0;
            std::uint64_t one_value = 0;
            if (reader.read(pointer_of(keys) + (i + 1) * kWordBytes, one_key) ==
                    WordStatus::kHere &&
                reader.read(address + (otp25::kFlatMapValues + i) * kWordBytes, one_value) ==
                    WordStatus::kHere &&
                matches(scheme, reader, key, one_key) &&
                matches(scheme, reader, value, one_value)) {
                return true;
            }
        }
        return false;
    }
    std::vector<std::uint64_t> nodes = {address};
    for (std::uint64_t parts = 0; !nodes.empty() && parts < kMaxMapParts;) {
        const auto node = boxed_object(scheme, reader, nodes.back());
        nodes.pop_back();
        for (std::uint64_t i = 0; node && i < node->terms.count && parts < kMaxMapParts; ++i) {
            ++parts;
            std::uint64_t item = 0;
            std::uint64_t one_key = 0;
            std::uint64_t one_value = 0;
            if (reader.read(node->terms_address() + i * kWordBytes, item) != WordStatus::kHere) {
                break;
            }
            if (word_kind(scheme, item) == WordKind::kBoxed) {
                nodes.push_back(pointer_of(item));
            } else if (word_kind(scheme, item) == WordKind::kList &&
                       reader.read_pair(pointer_of(item), one_key, one_value) ==
                           WordStatus::kHere &&
                       matches(scheme, reader, key, one_key) &&
                       matches(scheme, reader, value, one_value)) {
                return true;
            }
        }
    }
    return false;
}

bool PatternMatch::matches_map(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                               std::uint64_t address) const {
    for (std::size_t i = 0; i + 1 < pattern.items.size(); i += 2) {
        if (!matches_pair(scheme, reader, address, pattern.items[i], pattern.items[i + 1])) {
            return false;
        }
    }
    return true;
}

}  // namespace beamdump::query
