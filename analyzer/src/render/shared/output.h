#pragma once

#include <libdump/text/output.h>

namespace beamdump::render {

using beamdump::DescriptorOutput;
using beamdump::Output;
using beamdump::Style;
using beamdump::write_all;

}  // namespace beamdump::render
