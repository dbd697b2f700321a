#include <libdump/base/nearest.h>
#include <manual/usage_error.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::manual {
namespace {

/// The option of the program, or of its command that was given, that `word` may mean; or empty.
std::string nearest_option(const CLI::App& app, std::string_view word) {
    Nearest nearest(word);
    const auto add = [&nearest](const CLI::App& level) {
        for (const auto* option : level.get_options()) {
            for (const auto& name : option->get_lnames()) {
                nearest.add("--" + name);
            }
        }
    };
    for (const auto* command : app.get_subcommands()) {
        add(*command);
    }
    add(app);
    return nearest.best();
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
    std::string message = error.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        const auto unknown = app.remaining(true);
        const auto option = std::ranges::find_if(
            unknown, [](const auto& word) { return word.starts_with("--") && word.size() > 2; });
        if (option != unknown.end()) {
            const auto name = option->substr(0, option->find('='));
            const auto meant = nearest_option(app, name);
            if (!meant.empty()) {
                return fmt::format("there is no option {}; did you mean {}?", name, meant);
            }
            message = fmt::format("there is no option {}", name);
        }
    }
    std::ranges::replace(message, '\n', ' ');
    return message + "; see --help";
}

}  // namespace beamdump::manual
