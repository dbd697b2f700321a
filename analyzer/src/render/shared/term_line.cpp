#include "render/shared/term_line.h"

#include <libdump/base/utf8.h>

namespace beamdump::render {

namespace {

/// Strings that are lists have their characters as bytes of Latin-1.
std::string shown(std::string_view text) {
    return one_line(valid_utf8(text));
}

void put_rest(Output& output, const query::TermText& term) {
    const bool cut = term.more([&output](std::string_view piece) {
        output.write(shown(piece));
        return output.ok();
    });
    output.write(cut ? "..." : "");
}

}  // namespace

std::string term_line(const query::TermText& term) {
    return shown(term.text) + (term.cut ? "..." : "");
}

Table::Cell term_cell(const query::TermText& term, std::string_view prefix) {
    if (!term.more) {
        return {std::string(prefix) + term_line(term)};
    }
    return {std::string(prefix) + shown(term.text),
            [&term](Output& output) { put_rest(output, term); }};
}

void put_term_line(Output& output, const query::TermText& term) {
    if (!term.more) {
        output.write(term_line(term));
        return;
    }
    output.write(shown(term.text));
    put_rest(output, term);
}

}  // namespace beamdump::render
