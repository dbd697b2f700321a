#include "render/term_line.h"

#include "render/table.h"

namespace beamdump::render {

std::string term_line(const query::TermText& term) {
    return one_line(term.text) + (term.cut ? "..." : "");
}

}  // namespace beamdump::render
