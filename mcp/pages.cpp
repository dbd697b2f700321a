#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/utf8.h>
#include <libdump/text/json_writer.h>
#include <mcp/message.h>
#include <mcp/pages.h>

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <vector>

namespace beamdump::mcp {

namespace {

namespace dom = simdjson::dom;

/// Of a member's name so many bytes are shown, as they are in JSON.
constexpr std::size_t kNameBytes = 256;

/// A name as a part of a JSON pointer.
std::string pointer_part(std::string_view name) {
    std::string part;
    for (const char c : name) {
        part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return part;
}

/// A member's name; of one that has more than kNameBytes in JSON the beginning, with an ellipsis
/// and the member's position, so that the names of one object are different.
std::string bounded_name(std::string_view name, std::size_t position) {
    if (json_escaped(name).size() <= kNameBytes) {
        return std::string(name);
    }
    std::size_t kept = 0;
    for (std::size_t bytes = 0;;) {
        const auto length = std::max<std::size_t>(utf8_length(name.substr(kept)), 1);
        bytes += json_escaped(name.substr(kept, length)).size();
        if (bytes > kNameBytes) {
            return fmt::format("{}…{}", name.substr(0, kept), position);
        }
        kept += length;
    }
}

class Divider {
  public:
    Divider(std::uint64_t wanted, std::size_t page_bytes) : page_bytes_(page_bytes) {
        page_.number = wanted;
    }

    void walk(const dom::element& value) {
        if (std::string whole = simdjson::minify(value);
            whole.size() <= kWholeBytes || !divisible(value)) {
            add(whole);
        } else if (value.is_object()) {
            begin(Kind::kObject);
            for (const auto [name, member] : dom::object(value)) {
                inside_.back().name = bounded_name(name, inside_.back().index);
                inside_.back().name_json = json_string(inside_.back().name);
                walk(member);
                ++inside_.back().index;
            }
            end();
        } else if (value.is_array()) {
            begin(Kind::kArray);
            for (const dom::element item : dom::array(value)) {
                walk(item);
                ++inside_.back().index;
            }
            end();
        } else {
            begin(Kind::kText);
            add_pieces(std::string_view(value));
            end();
        }
    }

    /// kLimit: the names and brackets around a value leave no room for it.
    Result<Page> finish() && {
        if (too_deep_) {
            return fail(ErrorCode::kLimit,
                        "the answer is nested too deep to be divided into pages: ask for less "
                        "(depth, limit, one thing, sql)");
        }
        page_.pages = current_;
        return std::move(page_);
    }

  private:
    enum class Kind : std::uint8_t { kObject, kArray, kText };

    /// A container that the walk is inside of, and its part that is walked.
    struct Level {
        Kind kind = Kind::kObject;
        std::string name = {};  ///< of an object's member
        std::string name_json = {};
        std::size_t index = 0;
        bool open = false;  ///< on the current page
        bool empty = true;  ///< there so far
    };

    static bool divisible(const dom::element& value) {
        return value.is_object() || value.is_array() || value.is_string();
    }

    /// The part that is walked, as a part of a JSON pointer.
    static std::string pointer_to_part(const Level& level) {
        switch (level.kind) {
            case Kind::kText:
                return {};
            case Kind::kArray:
                return fmt::format("/{}", level.index);
            case Kind::kObject:
                break;
        }
        return "/" + pointer_part(level.name);
    }

    /// The most bytes that stand before a part of the level.
    static std::size_t part_bytes(const Level& level) {
        constexpr std::size_t kColonAndComma = 2;
        return level.kind == Kind::kText ? 0 : level.name_json.size() + kColonAndComma;
    }

    /// The most bytes that the current page takes around a value: those of levels that are not yet
    /// open on it, and of the value's own name.
    [[nodiscard]] std::size_t bytes_around() const {
        constexpr std::size_t kBrackets = 2;
        std::size_t bytes = inside_.empty() ? 0 : part_bytes(inside_.back());
        for (std::size_t at = 0; at < inside_.size(); ++at) {
            if (!inside_[at].open) {
                bytes += kBrackets + (at == 0 ? 0 : part_bytes(inside_[at - 1]));
            }
        }
        return bytes;
    }

    void begin(Kind kind) { inside_.push_back({.kind = kind}); }

    void end() {
        close(inside_.back());
        inside_.pop_back();
    }

    /// Pieces of a text's JSON that end with a character.
    void add_pieces(std::string_view text) {
        std::string piece;
        while (!text.empty()) {
            const auto length = std::max<std::size_t>(utf8_length(text), 1);
            const std::string character = json_escaped(text.substr(0, length));
            if (!piece.empty() && piece.size() + character.size() > kWholeBytes) {
                add(piece);
                piece.clear();
            }
            piece += character;
            text.remove_prefix(length);
        }
        add(piece);
    }

    void add(std::string_view json) {
        std::size_t around = bytes_around();
        if (filled_ && used_ + around + json.size() > page_bytes_) {
            next_page();
            around = bytes_around();
        }
        used_ += around + json.size();
        too_deep_ = too_deep_ || used_ > page_bytes_;
        filled_ = true;
        if (current_ != page_.number) {
            page_.other_bytes += around + json.size();
        }
        for (std::size_t at = 0; at < inside_.size(); ++at) {
            if (!inside_[at].open) {
                separate(at);
                put(opening(inside_[at].kind));
                inside_[at].open = true;
                inside_[at].empty = true;
            }
        }
        separate(inside_.size());
        put(json);
    }

    void put(std::string_view json) {
        if (current_ == page_.number) {
            page_.json += json;
        }
    }

    /// What stands before a part of the level above `depth`.
    void separate(std::size_t depth) {
        if (depth == 0) {
            return;
        }
        Level& level = inside_[depth - 1];
        if (level.kind == Kind::kText) {
            return;
        }
        if (!level.empty) {
            put(",");
        }
        level.empty = false;
        if (level.kind == Kind::kObject) {
            put(level.name_json);
            put(":");
        }
    }

    static std::string_view opening(Kind kind) {
        return kind == Kind::kObject ? "{" : kind == Kind::kArray ? "[" : "\"";
    }

    static std::string_view closing(Kind kind) {
        return kind == Kind::kObject ? "}" : kind == Kind::kArray ? "]" : "\"";
    }

    void close(Level& level) {
        if (level.open) {
            put(closing(level.kind));
            level.open = false;
        }
    }

    void next_page() {
        for (auto level = inside_.rbegin(); level != inside_.rend(); ++level) {
            close(*level);
        }
        ++current_;
        filled_ = false;
        std::string begins_at;
        for (const Level& level : inside_) {
            begins_at += pointer_to_part(level);
        }
        used_ = json_string(begins_at).size();
        if (current_ == page_.number) {
            page_.begins_at = std::move(begins_at);
        }
    }

    std::size_t page_bytes_;
    Page page_;
    std::vector<Level> inside_;
    std::uint64_t current_ = 1;
    std::size_t used_ = 0;  ///< of the current page, with what says where it begins
    bool filled_ = false;
    bool too_deep_ = false;
};

}  // namespace

Result<Page> page_of(std::string_view answer, std::uint64_t number, std::size_t page_bytes) {
    dom::parser parser;
    dom::element document;
    std::string text;
    if (parser.parse(answer.data(), answer.size()).get(document) != simdjson::SUCCESS) {
        text = fmt::format("{{\"text\":{}}}", json_string(answer));
        if (const auto error = parser.parse(text).get(document); error != simdjson::SUCCESS) {
            return fail(ErrorCode::kLimit,
                        fmt::format("the answer cannot be divided into pages: {}",
                                    simdjson::error_message(error)));
        }
    }
    Divider divider(number, page_bytes);
    divider.walk(document);
    ASSIGN_OR_RETURN(Page page, std::move(divider).finish());
    if (number == 0 || number > page.pages) {
        return fail(ErrorCode::kUsage, fmt::format("there is no page {}: the answer has {}", number,
                                                   counted(page.pages, "page")));
    }
    return page;
}

}  // namespace beamdump::mcp
