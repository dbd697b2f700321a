#pragma once

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace beamdump::mcp {

/// What a page holds of an answer unless it is told, in bytes of JSON without spaces.
inline constexpr std::size_t kPageBytes = 12'000;
/// What is not divided: a row, a small object.
inline constexpr std::size_t kWholeBytes = 3'000;

/// One page of an answer: JSON of the answer's shape with a part of its values.
struct Page {
    std::string json;
    std::uint64_t number = 1;
    std::uint64_t pages = 1;
    std::uint64_t other_bytes = 0;  ///< of the answer, on the other pages
    /// Where in the answer the page's first value is, as a JSON pointer (RFC 6901); empty: of the
    /// first page.
    std::string begins_at;
};

/// Divides an answer into pages: values stay in their order, each is on one page, under the names
/// of what it is part of. Only what has more than kWholeBytes is divided: arrays and objects
/// between their values, texts between characters, and names of what is divided are cut after 256
/// bytes. A page and the JSON of its `begins_at` have at most `page_bytes` together, which are at
/// least 2 * kWholeBytes. An answer that is no JSON is a text. kUsage: there is no such page;
/// kLimit: the answer is nested too deep for pages of that size.
Result<Page> page_of(std::string_view answer, std::uint64_t number,
                     std::size_t page_bytes = kPageBytes);

}  // namespace beamdump::mcp
