#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <optional>
#include <string>
#include <string_view>

namespace beamdump::query {

/// What the brackets of a slogan such as `init terminating in do_boot (REASON)` have, without the
/// quotes that OTP 26 and later put around a text. Empty where a slogan has none, or `terminating`,
/// which the processes that ask for the end of the node give as its reason (init.erl, terminate()
/// and crash(); OTP 25 to 29). A long slogan is cut off by the node: so is the reason then.
std::string reason_of_slogan(std::string_view slogan);

/// A reason in the node's text, in words: what failed, and in which function; nullopt where it says
/// no more than that something did. Reasons of supervisors and applications are followed to what
/// they began with. The text may be cut off anywhere.
std::optional<std::string> reason_in_words(std::string_view reason);

/// `{application_start_failure,APPLICATION,REASON}`.
struct ApplicationFailure {
    std::string application;
    std::optional<std::string> words;  ///< reason_in_words()
};
/// nullopt: the reason is another one.
std::optional<ApplicationFailure> start_failure_of(std::string_view reason);

/// The failure of an application that application_controller ends the node for, from its stack
/// (`{application_start_failure,APPLICATION,REASON}`); nullopt where there is none.
Result<std::optional<std::string>> reason_of_controller(Dump& dump);

/// An event of the log that no handler has written.
struct KeptEvent {
    std::string process;  ///< registered name of who kept it
    std::string text;     ///< its beginning
};
/// The first event that the log kept for a handler that was to start: of the node's failed start it
/// says why. error_logger and logger_simple_h keep them (gen_event of OTP R11 to 20: the handler
/// error_logger; logger_simple_h.erl of OTP 21 to 29). nullopt where neither has any.
Result<std::optional<KeptEvent>> first_kept_event(Dump& dump);

}  // namespace beamdump::query
