#include "screen/top_screen.h"

#include "screen/terminal.h"
#include "show/top.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libdump/format/owner_id.h>
#include <libdump/text/table.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace beamdump::sampler {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kKeyMs = 100;
constexpr std::chrono::milliseconds kFirstInterval{500};
constexpr std::array<int, kTopColumns> kWidths = {-14, -28, 10, 10, 11, 8, 8, 0};
constexpr std::string_view kHelp =
    "r reductions  m memory  g growth  u queue  w queue growth  / filter  p pause  Enter stack  "
    "q quit";

/// Text in a column: at least that wide; a negative width is to the left. Beyond it it is cut.
std::string in_column(const std::string& text, int width) {
    const auto size = static_cast<std::size_t>(std::abs(width));
    if (width < 0) {
        return fmt::format("{:<{}} ", text_width(text) > size ? cut_text(text, size) : text, size);
    }
    return fmt::format("{:>{}} ", text, size);
}

class TopScreen {
  public:
    TopScreen(Terminal& terminal, TopReader& reader, TopOptions options,
              std::chrono::milliseconds interval, const std::atomic<bool>& cancelled)
        : terminal_(terminal),
          reader_(reader),
          options_(std::move(options)),
          interval_(interval),
          cancelled_(cancelled) {}

    Result<void> run() {
        auto due = SteadyClock::now() + std::min(interval_, kFirstInterval);
        draw();
        while (!done_ && !cancelled_) {
            if (!paused_ && SteadyClock::now() >= due) {
                RETURN_IF_ERROR(read(true));
                due = SteadyClock::now() + interval_;
                draw();
            }
            const auto key = terminal_.key(kKeyMs);
            if (key.kind == KeyKind::kNone) {
                continue;
            }
            RETURN_IF_ERROR(editing_ ? edit(key) : act(key));
            draw();
        }
        return {};
    }

  private:
    Result<void> read(bool anew) {
        options_.limit = std::max<std::size_t>(terminal_.rows(), 1);
        if (!anew && !report_) {
            return {};
        }
        const auto selected = selected_id();
        ASSIGN_OR_RETURN(report_, anew ? reader_.refresh(options_, cancelled_)
                                       : reader_.again(options_, cancelled_));
        // The selection stays with the process.
        const auto found = std::ranges::find_if(
            report_->rows, [&](const TopRow& row) { return row.process.owner_id == selected; });
        if (selected && found != report_->rows.end()) {
            selected_ = static_cast<std::size_t>(found - report_->rows.begin());
        }
        return {};
    }

    [[nodiscard]] std::optional<std::uint64_t> selected_id() const {
        return moved_ && report_ && selected_ < report_->rows.size()
                   ? std::optional(report_->rows[selected_].process.owner_id)
                   : std::nullopt;
    }

    Result<void> sort(TopSort by) {
        options_.sort = by;
        selected_ = 0;
        moved_ = false;
        return read(false);
    }

    Result<void> edit(const Key& key) {
        if (key.kind == KeyKind::kEnter || key.kind == KeyKind::kEscape) {
            if (key.kind == KeyKind::kEscape) {
                options_.filter.clear();
            }
            editing_ = false;
            return read(false);
        }
        if (key.kind == KeyKind::kErase && !options_.filter.empty()) {
            options_.filter.pop_back();
        } else if (key.kind == KeyKind::kCharacter &&
                   options_.filter.size() < terminal_.columns()) {
            options_.filter.push_back(key.character);
        }
        done_ = key.kind == KeyKind::kQuit;
        return {};
    }

    Result<void> act(const Key& key) {
        if (key.kind == KeyKind::kQuit) {
            done_ = true;
        } else if (key.kind == KeyKind::kEscape) {
            stack_.clear();
        } else if (key.kind == KeyKind::kEnter) {
            return toggle_stack();
        } else if (key.kind == KeyKind::kUp || key.kind == KeyKind::kDown) {
            move(key.kind == KeyKind::kDown);
        } else if (key.kind == KeyKind::kCharacter) {
            return letter(key.character);
        }
        return {};
    }

    void move(bool down) {
        moved_ = true;
        const auto last = report_ && !report_->rows.empty() ? report_->rows.size() - 1 : 0;
        selected_ =
            down ? std::min(selected_ + 1, last) : selected_ - std::min<std::size_t>(selected_, 1);
    }

    Result<void> letter(char character) {
        switch (character) {
            case 'r':
                return sort(TopSort::kReductions);
            case 'm':
                return sort(TopSort::kMemory);
            case 'g':
                return sort(TopSort::kGrowth);
            case 'u':
                return sort(TopSort::kQueue);
            case 'w':
                return sort(TopSort::kQueueGrowth);
            case '/':
                editing_ = true;
                options_.filter.clear();
                break;
            case 'p':
                paused_ = !paused_;
                break;
            case 'q':
                done_ = stack_.empty();
                stack_.clear();
                break;
            default:
                break;
        }
        return {};
    }

    Result<void> toggle_stack() {
        if (!stack_.empty()) {
            stack_.clear();
            return {};
        }
        if (!report_ || selected_ >= report_->rows.size()) {
            return {};
        }
        const auto& row = report_->rows[selected_];
        ASSIGN_OR_RETURN(stack_,
                         reader_.stack(row.rates.counts.slot, row.process.owner_id, cancelled_));
        stack_.insert(stack_.begin(), fmt::format("Stack of {} (Enter or q: back)",
                                                  pid_text(row.process.owner_id)));
        return {};
    }

    void draw() {
        terminal_.clear();
        std::size_t at = 0;
        if (!report_) {
            terminal_.line(at, "Reading for the first time; rates need a second reading.");
        } else if (!stack_.empty()) {
            for (const auto& line : stack_) {
                terminal_.line(at, one_line(line), at == 0);
                ++at;
            }
        } else {
            draw_rows(at);
        }
        terminal_.line(terminal_.rows() - 1, bottom());
        terminal_.show();
    }

    void draw_rows(std::size_t at) {
        for (const auto& line : top_head(*report_)) {
            terminal_.line(at++, line);
        }
        const auto line_of = [](const auto& cells) {
            std::string line;
            for (std::size_t column = 0; column < kTopColumns; ++column) {
                line += in_column(std::string(cells.at(column)), kWidths.at(column));
            }
            return line;
        };
        terminal_.line(at++, line_of(kTopTitles), true);
        const auto room = terminal_.rows() > at + 1 ? terminal_.rows() - at - 1 : 0;
        selected_ = std::min({selected_, room == 0 ? 0 : room - 1,
                              report_->rows.empty() ? 0 : report_->rows.size() - 1});
        for (std::size_t row = 0; row < std::min(room, report_->rows.size()); ++row) {
            terminal_.line(at++, line_of(top_cells(report_->rows[row])), row == selected_);
        }
    }

    [[nodiscard]] std::string bottom() const {
        if (editing_) {
            return fmt::format("Filter (Enter: done, Esc: none): {}", options_.filter);
        }
        auto line = std::string(paused_ ? "PAUSED  " : "");
        if (!options_.filter.empty()) {
            line += fmt::format("only \"{}\"  ", one_line(options_.filter));
        }
        return line + std::string(kHelp);
    }

    Terminal& terminal_;
    TopReader& reader_;
    TopOptions options_;
    std::chrono::milliseconds interval_;
    const std::atomic<bool>& cancelled_;
    std::optional<TopReport> report_;
    std::vector<std::string> stack_;
    std::size_t selected_ = 0;
    bool moved_ = false, paused_ = false, editing_ = false, done_ = false;
};

}  // namespace

Result<void> top_screen(ObservedNode& node, TopOptions options, std::chrono::milliseconds interval,
                        const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto reader, TopReader::open(node, cancelled));
    ASSIGN_OR_RETURN(const auto terminal, Terminal::open());
    return TopScreen(*terminal, reader, std::move(options), interval, cancelled).run();
}

}  // namespace beamdump::sampler
