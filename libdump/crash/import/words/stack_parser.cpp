#include <libdump/crash/import/words/code_parser.h>
#include <libdump/crash/import/words/stack_parser.h>

#include <string>
#include <string_view>
#include <utility>

namespace beamdump::crash {
namespace {

constexpr std::uint64_t kMaxLine = 4096;
constexpr std::string_view kReturn = "Return addr ";
constexpr std::string_view kCatch = "Catch ";
// What the text may lack at one place: as many words as a frame has at most.
constexpr std::uint64_t kMaxLost = 1024;
// No object is there: a word that the text lacks is shown as absent.
constexpr std::uint64_t kLostPlace = 0x0F60'0000'0000'0000;
// The return address of a line that is cut behind its place on the stack. No code is there.
constexpr std::uint64_t kLostCode = 0x0F80'0000'0000'0000;
constexpr std::string_view kLostCodeShown = "<not in the crash dump>";

}  // namespace

std::optional<WordImage::Word> StackParser::take_code() {
    const auto line = text_.take_line(kMaxLine);
    const bool is_catch = line.starts_with(kCatch);
    if (!is_catch && !line.starts_with(kReturn)) {
        return std::nullopt;
    }
    // The VM prints a function behind each address: one without may be cut within its digits.
    if (!line.contains(" (")) {
        return std::nullopt;
    }
    const auto code = note_code(
        std::string_view(line).substr(is_catch ? kCatch.size() : kReturn.size()), near_, names_);
    if (!code) {
        return std::nullopt;
    }
    return WordImage::Word{is_catch ? format_.words.catch_word(names_.catch_at(*code)) : *code};
}

/// Nothing where the line does not belong to a stack; such lines are skipped.
std::optional<StackParser::Line> StackParser::take_line() {
    Line line;
    const bool is_register = text_.take('y');
    bool is_place = false;
    if (is_register) {
        line.index = text_.take_decimal();
    } else {
        // ERTS 5.4 and older print addresses without 0x.
        is_place = text_.look(2).starts_with("0x");
        text_.skip(is_place ? 2 : 0);
        line.place = text_.take_hex();
    }
    // OTP 23 and 24 print the registers of the first frame, which has no return address before it,
    // with their own address (stack_element_dump()); else another line than a return address's is
    // one of a heap, which has no 0x.
    const bool is_first = is_place && !returned_;
    if ((!line.index && !line.place) || !text_.take(':') ||
        (!is_register && !is_first && text_.peek() != 'S')) {
        text_.skip_line();
        return std::nullopt;
    }
    std::optional<WordImage::Word> word;
    if (text_.take('S')) {
        line.is_return = line.place && !text_.look(kCatch.size()).starts_with(kCatch);
        word = take_code();
        if (!word && line.place) {
            line.is_damaged = true;
            names_.code_point(kLostCodeShown, kLostCode);
            word = WordImage::Word{kLostCode};
        }
    } else {
        word = take_element(text_, format_, names_);
        if (!text_.take_line_end()) {
            text_.skip_line();
            return std::nullopt;
        }
    }
    if (!word) {
        return std::nullopt;
    }
    // Other words' places and the heap's bounds follow from it.
    if (line.place && !is_aligned(format_.place_of(*line.place))) {
        line.is_damaged = true;
        line.place.reset();
    }
    line.word = *word;
    return line;
}

std::uint64_t StackParser::lost_before(const Line& line) const {
    std::uint64_t lost = 1;
    if (line.index && *line.index > register_) {
        lost = *line.index - register_;
    } else if (line.place && top_) {
        const auto expected = *top_ + words_ * WordImage::kWordBytes;
        const auto place = format_.place_of(*line.place);
        if (place > expected) {
            lost = (place - expected) / WordImage::kWordBytes;
        }
    }
    return lost <= kMaxLost ? lost : 1;
}

WordImage::Word StackParser::give(const Line& line) {
    if (line.place && !top_ && *line.place >= words_ * format_.word_bytes) {
        top_ = format_.place_of(*line.place) - words_ * WordImage::kWordBytes;
    }
    returned_ = returned_ || line.is_return;
    register_ = line.is_return ? 0 : register_ + 1;
    ++words_;
    return line.word;
}

WordImage::Word StackParser::lost_word() {
    --lost_;
    ++register_;
    return WordImage::Word{kLostPlace + words_++ * WordImage::kWordBytes, true};
}

std::optional<WordImage::Word> StackParser::next() {
    if (lost_ != 0) {
        return lost_word();
    }
    if (const auto line = std::exchange(waiting_, std::nullopt)) {
        return give(*line);
    }
    bool unread = false;
    while (!text_.at_end()) {
        const auto begin = text_.position();
        auto line = take_line();
        if (!line) {
            counts_.add_malformed(begin);
            unread = true;
            continue;
        }
        if (line->is_damaged) {
            counts_.add_malformed(begin);
        }
        if (!unread) {
            return give(*line);
        }
        lost_ = lost_before(*line);
        waiting_ = std::move(line);
        return lost_word();
    }
    if (unread && !text_.error()) {
        lost_ = 1;
        return lost_word();
    }
    return std::nullopt;
}

}  // namespace beamdump::crash
