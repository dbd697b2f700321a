#pragma once

#include "query/term_text.h"
#include "render/output.h"

#include <string>

namespace beamdump::render {

/// A term's text on one line of a terminal; "..." follows where it was truncated.
std::string term_line(const query::TermText& term);

/// Writes that, however long it is.
void put_term_line(Output& output, const query::TermText& term);

}  // namespace beamdump::render
