#include <libdump/base/amount_text.h>
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

/// A name as a part of a JSON pointer.
std::string pointer_part(std::string_view name) {
    std::string part;
    for (const char c : name) {
        part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return part;
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
                inside_.back().name = name;
                walk(member);
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

    Page finish() && {
        page_.pages = current_;
        return std::move(page_);
    }

  private:
    enum class Kind : std::uint8_t { kObject, kArray, kText };

    /// A container that the walk is inside of, and its part that is walked.
    struct Level {
        Kind kind = Kind::kObject;
        std::string name = {};
        std::size_t index = 0;
        bool open = false;  ///< on the wanted page
        bool empty = true;  ///< there so far
    };

    static bool divisible(const dom::element& value) {
        return value.is_object() || value.is_array() || value.is_string();
    }

    /// The bytes of a level's name and brackets around its parts.
    static std::size_t cost(const Level& level) {
        constexpr std::size_t kPunctuation = 6;
        return level.name.size() + kPunctuation;
    }

    void begin(Kind kind) { inside_.push_back({.kind = kind}); }

    void end() {
        close(inside_.back());
        inside_.pop_back();
    }

    /// Pieces of a text's JSON that end with a character.
    void add_pieces(std::string_view text) {
        while (!text.empty()) {
            std::size_t size = 0;
            while (size < text.size() && size < kWholeBytes) {
                size += std::max<std::size_t>(utf8_length(text.substr(size)), 1);
            }
            add(json_escaped(text.substr(0, size)));
            text.remove_prefix(size);
        }
    }

    void add(std::string_view json) {
        const std::size_t bytes = json.size() + (inside_.empty() ? 0 : cost(inside_.back()));
        if (filled_ && used_ + bytes > page_bytes_) {
            next_page();
        }
        filled_ = true;
        used_ += bytes;
        if (current_ != page_.number) {
            page_.other_bytes += bytes;
            return;
        }
        for (std::size_t at = 0; at < inside_.size(); ++at) {
            if (!inside_[at].open) {
                separate(at);
                page_.json += opening(inside_[at].kind);
                inside_[at].open = true;
                inside_[at].empty = true;
            }
        }
        separate(inside_.size());
        page_.json += json;
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
            page_.json += ',';
        }
        level.empty = false;
        if (level.kind == Kind::kObject) {
            page_.json += json_string(level.name);
            page_.json += ':';
        }
    }

    static char opening(Kind kind) {
        return kind == Kind::kObject ? '{' : kind == Kind::kArray ? '[' : '"';
    }

    void close(Level& level) {
        if (level.open) {
            page_.json += level.kind == Kind::kObject  ? '}'
                          : level.kind == Kind::kArray ? ']'
                                                       : '"';
            level.open = false;
        }
    }

    void next_page() {
        for (auto level = inside_.rbegin(); level != inside_.rend(); ++level) {
            close(*level);
        }
        ++current_;
        used_ = 0;
        filled_ = false;
        for (const Level& level : inside_) {
            used_ += cost(level);
        }
        if (current_ == page_.number) {
            for (const Level& level : inside_) {
                if (level.kind != Kind::kText) {
                    page_.begins_at +=
                        "/" + (level.kind == Kind::kObject ? pointer_part(level.name)
                                                           : fmt::to_string(level.index));
                }
            }
        }
    }

    std::size_t page_bytes_;
    Page page_;
    std::vector<Level> inside_;
    std::uint64_t current_ = 1;
    std::size_t used_ = 0;
    bool filled_ = false;
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
    Page page = std::move(divider).finish();
    if (number == 0 || number > page.pages) {
        return fail(ErrorCode::kUsage, fmt::format("there is no page {}: the answer has {}", number,
                                                   counted(page.pages, "page")));
    }
    return page;
}

}  // namespace beamdump::mcp
