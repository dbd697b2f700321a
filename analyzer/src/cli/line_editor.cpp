#include "cli/line_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <histedit.h>
#include <ranges>
#include <utility>

namespace beamdump::cli {

namespace {

constexpr int kRemembered = 1000;
constexpr std::size_t kMostListed = 100;

bool is_of_a_word(char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// The bytes that all have in common at their beginning, whatever their case.
std::size_t common_bytes(const std::vector<std::string>& words) {
    std::size_t common = words.front().size();
    for (const std::string& word : words) {
        const auto differ = std::ranges::mismatch(words.front(), word, [](char one, char other) {
            return std::tolower(static_cast<unsigned char>(one)) ==
                   std::tolower(static_cast<unsigned char>(other));
        });
        common = std::min(common, static_cast<std::size_t>(differ.in1 - words.front().begin()));
    }
    return common;
}

class EditedLines final : public LineEditor {
  public:
    explicit EditedLines(Complete complete) : complete_(std::move(complete)) {}

    [[nodiscard]] bool open() {
        std::setlocale(LC_CTYPE, "");
        line_.reset(el_init("beamdump-analyze", stdin, stdout, stderr));
        history_.reset(history_init());
        if (!line_ || !history_) {
            return false;
        }
        HistEvent event{};
        history(history_.get(), &event, H_SETSIZE, kRemembered);
        history(history_.get(), &event, H_SETUNIQUE, 1);
        auto* line = line_.get();
        el_set(line, EL_CLIENTDATA, this);
        el_set(line, EL_PROMPT, &EditedLines::prompt);
        el_set(line, EL_EDITOR, "emacs");
        el_set(line, EL_SIGNAL, 0);
        el_set(line, EL_HIST, history, history_.get());
        el_set(line, EL_ADDFN, "complete-name", "Complete the name", &EditedLines::complete_word);
        el_set(line, EL_BIND, "^I", "complete-name", nullptr);
        el_set(line, EL_ADDFN, "cancel-line", "Cancel the line", &EditedLines::cancel);
        el_set(line, EL_BIND, "^C", "cancel-line", nullptr);
        el_set(line, EL_SETTY, "-d", "-isig", nullptr);
        return true;
    }

    EnteredLine read(const std::string& prompt) override {
        prompt_ = prompt;
        cancelled_ = false;
        int bytes = 0;
        const char* text = el_gets(line_.get(), &bytes);
        if (cancelled_) {
            return {.kind = EnteredLine::Kind::kCancelled};
        }
        if (text == nullptr || bytes <= 0) {
            return {.kind = EnteredLine::Kind::kEnd};
        }
        return {.kind = EnteredLine::Kind::kText,
                .text = std::string(text, static_cast<std::size_t>(bytes))};
    }

    void remember(const std::string& text) override {
        HistEvent event{};
        history(history_.get(), &event, H_ENTER, text.c_str());
    }

  private:
    static EditedLines& self(EditLine* line) {
        void* data = nullptr;
        el_get(line, EL_CLIENTDATA, &data);
        return *static_cast<EditedLines*>(data);
    }

    static char* prompt(EditLine* line) { return self(line).prompt_.data(); }

    static unsigned char cancel(EditLine* line, int /*key*/) {
        self(line).cancelled_ = true;
        std::fputs("^C\n", stdout);
        return CC_EOF;
    }

    static unsigned char complete_word(EditLine* line, int /*key*/) {
        const LineInfo* info = el_line(line);
        const std::string_view before(info->buffer, info->cursor);
        const auto last = std::ranges::find_if_not(before.rbegin(), before.rend(), is_of_a_word);
        const auto word = before.substr(static_cast<std::size_t>(before.rend() - last));
        const auto words = self(line).complete_(before, word);
        if (words.empty()) {
            return CC_REFRESH_BEEP;
        }
        auto more = words.front().substr(word.size(), common_bytes(words) - word.size());
        if (words.size() == 1) {
            more += ' ';
        }
        if (!more.empty()) {
            el_insertstr(line, more.c_str());
            return CC_REFRESH;
        }
        list(words);
        return CC_REDISPLAY;
    }

    static void list(const std::vector<std::string>& words) {
        std::string text = "\n";
        for (const std::string& word : words | std::views::take(kMostListed)) {
            text += word + "  ";
        }
        if (words.size() > kMostListed) {
            text += fmt::format("and {} more", words.size() - kMostListed);
        }
        text += "\n";
        std::fputs(text.c_str(), stdout);
    }

    struct EndLine {
        void operator()(EditLine* line) const { el_end(line); }
    };
    struct EndHistory {
        void operator()(History* events) const { history_end(events); }
    };

    Complete complete_;
    std::unique_ptr<History, EndHistory> history_;
    std::unique_ptr<EditLine, EndLine> line_;
    std::string prompt_;
    bool cancelled_ = false;
};

}  // namespace

Result<std::unique_ptr<LineEditor>> LineEditor::open(Complete complete) {
    auto lines = std::make_unique<EditedLines>(std::move(complete));
    if (!lines->open()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot read from the terminal: {}", std::strerror(errno)));
    }
    return lines;
}

}  // namespace beamdump::cli
