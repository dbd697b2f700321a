#pragma once

#include "render/shared/output.h"

#include <libdump/text/table.h>

namespace beamdump::render {

using beamdump::Align;
using beamdump::cut_text;
using beamdump::one_line;
using beamdump::print_line;
using beamdump::print_title;
using beamdump::Table;
using beamdump::text_width;

}  // namespace beamdump::render
