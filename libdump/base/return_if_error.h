#pragma once

#include <libdump/base/error.h>

#include <expected>
#include <utility>

// Return the error of a called function from the function or lambda that contains the macro. Only
// source files include them.

/// Evaluates an expression that gives a Result; returns its error, drops its value.
#define RETURN_IF_ERROR(...)                                                       \
    do {                                                                           \
        if (auto return_if_error = (__VA_ARGS__); !return_if_error) [[unlikely]] { \
            return std::unexpected(std::move(return_if_error).error());            \
        }                                                                          \
    } while (false)

/// ASSIGN_OR_RETURN(auto page, read_page(3)): declares `page` as the Result's value, or returns
/// its error.
#define ASSIGN_OR_RETURN(declaration, ...) \
    ASSIGN_OR_RETURN_NAMED(BEAMDUMP_JOIN(result_of_line_, __LINE__), declaration, __VA_ARGS__)

#define ASSIGN_OR_RETURN_NAMED(result, declaration, ...)   \
    auto result = (__VA_ARGS__);                           \
    if (!result) [[unlikely]] {                            \
        return std::unexpected(std::move(result).error()); \
    }                                                      \
    declaration = *std::move(result)
#define BEAMDUMP_JOIN(first, second) BEAMDUMP_JOIN_EXPANDED(first, second)
#define BEAMDUMP_JOIN_EXPANDED(first, second) first##second
