#pragma once

#include "render/shared/output.h"

#include <libdump/base/amount_text.h>
#include <libdump/text/table.h>

#include <cstdint>

namespace beamdump::render {

using beamdump::Align;
using beamdump::cut_text;
using beamdump::one_line;
using beamdump::print_line;
using beamdump::print_title;
using beamdump::Table;
using beamdump::text_width;

/// The last line of a list of which only some are shown.
inline void print_rest(Output& output, std::uint64_t shown, std::uint64_t all) {
    if (shown < all) {
        output.print("{} more; --limit 0 shows all\n", count_text(all - shown));
    }
}

}  // namespace beamdump::render
