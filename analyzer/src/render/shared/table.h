#pragma once

#include "render/shared/output.h"

#include <libdump/base/amount_text.h>
#include <libdump/text/table.h>

#include <cstdint>
#include <string_view>

namespace beamdump::render {

using beamdump::Align;
using beamdump::cut_text;
using beamdump::one_line;
using beamdump::print_line;
using beamdump::print_title;
using beamdump::Table;
using beamdump::text_width;

/// The line in place of a list of which the filters leave nothing. `things`: "ports".
inline void print_no_match(Output& output, std::uint64_t all, std::string_view things) {
    if (all == 0) {
        output.print("there are no {}\n", things);
    } else {
        output.print("no {} match, of {}\n", things, count_text(all));
    }
}

/// The last line of a list of which only some are shown.
inline void print_rest(Output& output, std::uint64_t shown, std::uint64_t all) {
    if (shown < all) {
        output.print("{} more; --limit 0 shows all\n", count_text(all - shown));
    }
}

}  // namespace beamdump::render
