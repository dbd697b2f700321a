#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace beamdump {

std::string system_error_text(int error_number) {
    auto text = std::generic_category().message(error_number);
    if (error_number == EMFILE) {
        text += " (raise this program's limit: ulimit -n 256)";
    }
    return text;
}

Error cannot_open(const std::string& name) {
    const int reason = errno;
    const ErrorCode code = reason == ENOENT   ? ErrorCode::kNotFound
                           : reason == EACCES ? ErrorCode::kPermission
                                              : ErrorCode::kIo;
    return {code, fmt::format("cannot open {}: {}", name, system_error_text(reason))};
}

Error error_of(const std::exception& failure) {
    if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
        return {
            ErrorCode::kLimit,
            "not enough memory for this program: raise its limit (ulimit -v), or give --threads 1"};
    }
    if (const auto* system = dynamic_cast<const std::system_error*>(&failure)) {
        return {ErrorCode::kLimit,
                fmt::format("cannot start a thread: {}; give --threads 1, or raise the limits on "
                            "this user's processes "
                            "(ulimit -u) and on this program's memory (ulimit -v)",
                            system_error_text(system->code().value()))};
    }
    return {ErrorCode::kLimit, fmt::format("this program failed: {}", failure.what())};
}

}  // namespace beamdump
