#include <libdump/term/term_layout.h>

#include <algorithm>
#include <utility>

namespace beamdump {

namespace {

constexpr std::uint64_t kIndent = 2;

/// Characters of UTF-8 text.
std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool has_space(LayoutMark mark) {
    return mark == LayoutMark::kSpaceBreak || mark == LayoutMark::kSpaceFill;
}

}  // namespace

void TermLayout::put(std::string_view text, std::string& out) {
    if (drop_space_ && !text.empty()) {
        drop_space_ = false;
        text.remove_prefix(1);
    }
    out += text;
    column_ += columns_of(text);
}

void TermLayout::new_line(std::string& out) {
    out += '\n';
    column_ = static_cast<std::size_t>(std::min<std::uint64_t>(broken_ * kIndent, width_ / 2));
    out.append(column_, ' ');
}

void TermLayout::begin_waiting(Waiting what) {
    waiting_ = what;
    waiting_depth_ = 0;
    held_.clear();
    marks_.clear();
    held_columns_ = 0;
}

bool TermLayout::is_over(std::size_t reserve) const {
    return column_ + held_columns_ + reserve > width_;
}

void TermLayout::text(std::string_view text, std::string& out) {
    if (waiting_ == Waiting::kNone) {
        put(text, out);
        return;
    }
    while (!text.empty() && waiting_ != Waiting::kNone) {
        // No more is held than what could still fit, so that a long text is not.
        const std::size_t piece = std::min(text.size(), width_ + 1);
        held_ += text.substr(0, piece);
        held_columns_ += columns_of(text.substr(0, piece));
        text.remove_prefix(piece);
        if (is_over(0)) {
            break_up(out);
        }
    }
    put(text, out);
}

void TermLayout::mark(LayoutMark mark, std::string& out) {
    if (waiting_ == Waiting::kPart) {
        stay(out);  // the end of the part
    }
    if (waiting_ == Waiting::kNone) {
        break_mark(mark, out);
        return;
    }
    if (mark == LayoutMark::kClose && waiting_depth_ == 0) {
        // The closing bracket follows, and a comma within another one.
        if (held_.empty() || !is_over(broken_ == 0 ? 1 : 2)) {
            stay(out);
        } else {
            break_up(out);
            this->mark(mark, out);
        }
        return;
    }
    waiting_depth_ += mark == LayoutMark::kOpen ? 1 : 0;
    waiting_depth_ -= mark == LayoutMark::kClose ? 1 : 0;
    marks_.push_back({held_.size(), mark});
}

/// A mark where nothing is held: within a bracket whose parts have their own lines, or the first.
void TermLayout::break_mark(LayoutMark mark, std::string& out) {
    switch (mark) {
        case LayoutMark::kOpen:
            begin_waiting(Waiting::kGroup);
            return;
        case LayoutMark::kClose:
            broken_ -= broken_ == 0 ? 0 : 1;
            new_line(out);
            return;
        case LayoutMark::kBreak:
        case LayoutMark::kSpaceBreak:
            new_line(out);
            drop_space_ = has_space(mark);
            return;
        case LayoutMark::kFill:
        case LayoutMark::kSpaceFill:
            begin_waiting(Waiting::kPart);
            marks_.push_back({0, mark});
            return;
    }
}

void TermLayout::stay(std::string& out) {
    put(held_, out);
    begin_waiting(Waiting::kNone);
}

void TermLayout::break_up(std::string& out) {
    const Waiting what = std::exchange(waiting_, Waiting::kNone);
    const std::string held = std::exchange(held_, {});
    const std::vector<Held> marks = std::exchange(marks_, {});
    begin_waiting(Waiting::kNone);
    const bool part = what == Waiting::kPart;
    broken_ += part ? 0 : 1;
    new_line(out);
    drop_space_ = part && has_space(marks.front().mark);
    const std::size_t first = part ? 1 : 0;
    std::size_t from = 0;
    for (std::size_t i = first; i < marks.size(); ++i) {
        text(std::string_view(held).substr(from, marks[i].at - from), out);
        mark(marks[i].mark, out);
        from = marks[i].at;
    }
    text(std::string_view(held).substr(from), out);
}

void TermLayout::end(std::string& out) {
    if (waiting_ != Waiting::kNone) {
        stay(out);
    }
}

}  // namespace beamdump
