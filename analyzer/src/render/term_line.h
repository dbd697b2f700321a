#pragma once

#include "query/term_text.h"

#include <string>

namespace beamdump::render {

/// A term's text on one line of a terminal; "..." follows where it was truncated.
std::string term_line(const query::TermText& term);

}  // namespace beamdump::render
