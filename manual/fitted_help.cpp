#include <manual/fitted_help.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace beamdump::manual {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kNameColumns = 30;
/// Narrower, a line has a word or two.
constexpr std::size_t kLeastColumns = kNameColumns + 20;

std::size_t columns_of_terminal() {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return std::max<std::size_t>(known ? size.ws_col : kUsualColumns, kLeastColumns);
}

/// Line ends between words, so that no line is longer, unless a word is.
std::string wrapped(const std::string& text, std::size_t columns) {
    std::istringstream words(text);
    std::string lines;
    std::size_t used = 0;
    for (std::string word; words >> word;) {
        const bool fits = used + 1 + word.size() <= columns;
        lines += used == 0 ? "" : fits ? " " : "\n";
        used = used == 0 || !fits ? word.size() : used + 1 + word.size();
        lines += word;
    }
    return lines;
}

class FittedHelp final : public CLI::Formatter {
  public:
    explicit FittedHelp(std::size_t columns) : columns_(columns) { column_width(kNameColumns); }

    std::string make_option_desc(const CLI::Option* option) const override {
        return wrapped(option->get_description(), columns_ - kNameColumns);
    }
    std::string make_description(const CLI::App* app) const override {
        return app->get_description().empty() ? std::string()
                                              : wrapped(app->get_description(), columns_) + "\n";
    }
    std::string make_subcommand(const CLI::App* command) const override {
        std::ostringstream out;
        CLI::detail::format_help(out, command->get_display_name(true),
                                 wrapped(command->get_description(), columns_ - kNameColumns),
                                 column_width_);
        return out.str();
    }

  private:
    std::size_t columns_;
};

}  // namespace

void fit_help(CLI::App& app) {
    app.formatter(std::make_shared<FittedHelp>(columns_of_terminal()));
}

}  // namespace beamdump::manual
