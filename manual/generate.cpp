#include <manual/documents.h>
#include <manual/generate.h>

#include <CLI/CLI.hpp>

namespace beamdump::manual {
namespace {

std::string document(const CLI::App& app, const std::string& kind) {
    const auto usage = usage_of(app);
    return kind == "man"    ? man_page(usage)
           : kind == "bash" ? bash_completion(usage)
           : kind == "zsh"  ? zsh_completion(usage)
                            : fish_completion(usage);
}

}  // namespace

void add_generate(CLI::App& app) {
    // As the callback runs while options are parsed, required ones may be missing, as with --help.
    app.add_option_function<std::string>(
           "--generate",
           [&app](const std::string& kind) {
               auto text = document(app, kind);
               text.pop_back();  // the program adds a newline
               throw CLI::CallForVersion(text, 0);
           },
           "Print the man page, or completions for a shell")
        ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}))
        ->type_name("KIND")
        ->trigger_on_parse();
}

}  // namespace beamdump::manual
