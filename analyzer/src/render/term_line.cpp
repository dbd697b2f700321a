#include "render/term_line.h"

#include "render/table.h"

namespace beamdump::render {

std::string term_line(const query::TermText& term) {
    return one_line(term.text) + (term.cut ? "..." : "");
}

void put_term_line(Output& output, const query::TermText& term) {
    if (!term.more) {
        output.write(term_line(term));
        return;
    }
    output.write(one_line(term.text));
    const bool cut = term.more([&output](std::string_view piece) {
        output.write(one_line(piece));
        return output.ok();
    });
    output.write(cut ? "..." : "");
}

}  // namespace beamdump::render
