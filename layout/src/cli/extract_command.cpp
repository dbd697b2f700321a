#include "cli/extract_command.h"

#include "extract/extract.h"
#include "file/layout_file.h"
#include "file/text_file.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::layout {
namespace {

Result<Names> wanted_names(const ExtractOptions& options) {
    auto names = options.names.empty() ? builtin_names() : read_names(options.names);
    if (names && !options.like.empty()) {
        ASSIGN_OR_RETURN(const auto like, read_layout(options.like));
        add_names_of(like, *names);
    }
    return names;
}

Result<std::string> release_of(const ExtractOptions& options, const ConstantsObject& constants) {
    const auto* told = find(constants.texts, "otp_release");
    if (told != nullptr && !options.release.empty() && *told != options.release) {
        return fail(ErrorCode::kUsage, fmt::format("{} is of OTP {}, not {}", options.constants,
                                                   *told, options.release));
    }
    const auto& release = told != nullptr ? *told : options.release;
    if (release.empty() ||
        !std::ranges::all_of(release, [](char c) { return c >= '0' && c <= '9'; })) {
        return fail(ErrorCode::kUsage,
                    "unknown release: give --constants, or --release with its number");
    }
    return release;
}

std::string source_of(const ExtractOptions& options, const DebugTypes& types,
                      const ConstantsObject& constants, std::string_view release) {
    auto text = options.source.empty() ? fmt::format("Erlang/OTP {}", release) : options.source;
    if (const auto* erts = find(constants.texts, "erts_version")) {
        text += fmt::format(", erts {}", *erts);
    }
    text += fmt::format(", {}", types.machine());
    if (const auto* flavor = find(constants.texts, "flavor")) {
        text += fmt::format(", {}", *flavor);
    }
    return text + fmt::format("; by beamdump-layout from the DWARF of a build by {}{}",
                              types.compiler(),
                              constants.constants.empty() ? "" : ", constants from its headers");
}

}  // namespace

Result<void> extract_to_file(const ExtractOptions& options, std::ostream& err) {
    ASSIGN_OR_RETURN(const auto names, wanted_names(options));
    ConstantsObject constants;
    if (!options.constants.empty()) {
        ASSIGN_OR_RETURN(auto read, read_constants(options.constants));
        constants = std::move(read);
    }
    ASSIGN_OR_RETURN(const auto release, release_of(options, constants));
    ASSIGN_OR_RETURN(const auto types, DebugTypes::open(options.program));
    auto extracted = extract(types, constants, names);
    if (!extracted) {
        return wrap(options.program, extracted.error());
    }
    if (extracted->structs.empty()) {
        return fail(ErrorCode::kNotABeam,
                    fmt::format("{} has none of the runtime's structures: is it an Erlang "
                                "emulator?",
                                options.program));
    }
    for (const auto& line : extracted->missing) {
        err << one_line(line) << '\n';
    }
    LayoutFile layout;
    layout.name = fmt::format("otp-{}", release);
    layout.otp_release = release;
    layout.word_bytes = types.word_bytes();
    layout.source = source_of(options, types, constants, release);
    if (!extracted->constants.empty()) {
        layout.constants_source = names.constants_source;
    }
    layout.constants = std::move(extracted->constants);
    layout.structs = std::move(extracted->structs);
    return write_text(options.output, layout_json(layout));
}

}  // namespace beamdump::layout
