#pragma once

#include "query/term/term_text.h"
#include "render/shared/output.h"
#include "render/shared/table.h"

#include <string>
#include <string_view>

namespace beamdump::render {

/// A term's text on one line of a terminal; "..." follows where it was truncated.
std::string term_line(const query::TermText& term);

/// A term's text as a table cell, after a prefix. The term must live until the table is printed.
Table::Cell term_cell(const query::TermText& term, std::string_view prefix = {});

/// Writes it in any length.
void put_term_line(Output& output, const query::TermText& term);

}  // namespace beamdump::render
