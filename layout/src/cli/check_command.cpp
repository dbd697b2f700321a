#include "cli/check_command.h"

#include "file/text_file.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libvm/fit/layout_text.h>
#include <libvm/target/core/core_target.h>
#include <libvm/target/live_target.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>

namespace beamdump::layout {
namespace {

/// Only digits are a process id; a core with such a name is ./1234.
std::optional<pid_t> process_id(const std::string& text) {
    pid_t pid = 0;
    const auto* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, pid);
    return parsed.ec == std::errc() && parsed.ptr == end && pid > 0 ? std::optional(pid)
                                                                    : std::nullopt;
}

/// The opened target.
struct Subject {
    fit::OpenTarget open;
    std::string incomplete{};  ///< how much of a core is missing, if any
};

Result<Subject> open_core(const CheckOptions& options) {
    std::optional<std::filesystem::path> executable;
    if (!options.executable.empty()) {
        executable = options.executable;
    }
    ASSIGN_OR_RETURN(const auto core, target::CoreTarget::open(options.target, executable));
    const auto again = [path = options.target, executable] {
        return target::CoreTarget::open(path, executable);
    };
    return Subject{again, core->incomplete()};
}

Result<Subject> open_subject(const CheckOptions& options) {
    const auto pid = process_id(options.target);
    if (!pid) {
        return open_core(options);
    }
    if (!options.executable.empty()) {
        return fail(ErrorCode::kUsage,
                    "--exe needs a core: the executable of a running node is known");
    }
    RETURN_IF_ERROR(target::LiveTarget::open(*pid));
    return Subject{[pid = *pid] { return target::LiveTarget::open(pid); }};
}

Result<beam::LocateOptions> layout_of(const CheckOptions& options) {
    beam::LocateOptions how;
    if (options.layout.empty()) {
        return how;
    }
    ASSIGN_OR_RETURN(const auto text, read_text(options.layout));
    auto layout = beam::Layout::parse(text);
    if (!layout) {
        return wrap(options.layout, layout.error());
    }
    how.layout = std::move(*layout);
    return how;
}

/// Whether an error is about the layout, not about reading the target.
bool of_the_layout(ErrorCode code) {
    return code == ErrorCode::kImplausible || code == ErrorCode::kUnsupported ||
           code == ErrorCode::kUnmapped;
}

/// Adds the layout's name to an error without it.
std::string refusal(const beam::LocateOptions& how, const Error& error) {
    const bool said = !how.layout || error.message.contains("does not fit");
    return said ? error.message
                : fmt::format("layout {} does not fit: {}", how.layout->name(), error.message);
}

}  // namespace

Result<std::optional<std::string>> check_layout(const CheckOptions& options, std::ostream& out) {
    ASSIGN_OR_RETURN(const auto how, layout_of(options));
    ASSIGN_OR_RETURN(const auto subject, open_subject(options));
    const std::atomic<bool> cancelled(false);
    const auto checked = fit::locate_checked(subject.open, how, beam::kCheckTries, cancelled);
    if (!checked && !subject.incomplete.empty()) {
        return wrap(subject.incomplete, checked.error());
    }
    if (!checked) {
        return of_the_layout(checked.error().code)
                   ? Result<std::optional<std::string>>(refusal(how, checked.error()))
                   : std::unexpected(checked.error());
    }
    const auto fit =
        fit::probe_layout(*checked, subject.open, how, [](std::size_t, std::size_t) {}, cancelled);
    if (!fit) {
        return std::unexpected(fit.error());
    }
    out << fmt::format("OTP {} (ERTS {}), {}: {}\n", one_line(fit->otp_release),
                       one_line(fit->erts_version), fit->jit ? "JIT" : "interpreter",
                       one_line(options.target))
        << fit::layout_text(*fit) << "  Noticed:\n"
        << fit::fields_text(fit->fields.seen) << std::flush;
    return std::nullopt;
}

}  // namespace beamdump::layout
