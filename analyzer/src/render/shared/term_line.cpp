#include "render/shared/term_line.h"

namespace beamdump::render {

std::string term_line(const query::TermText& term) {
    return one_line(term.text) + (term.cut ? "..." : "");
}

namespace {

void put_rest(Output& output, const query::TermText& term) {
    const bool cut = term.more([&output](std::string_view piece) {
        output.write(one_line(piece));
        return output.ok();
    });
    output.write(cut ? "..." : "");
}

}  // namespace

Table::Cell term_cell(const query::TermText& term, std::string_view mark) {
    if (!term.more) {
        return {std::string(mark) + term_line(term)};
    }
    return {std::string(mark) + one_line(term.text),
            [&term](Output& output) { put_rest(output, term); }};
}

void put_term_line(Output& output, const query::TermText& term) {
    if (!term.more) {
        output.write(term_line(term));
        return;
    }
    output.write(one_line(term.text));
    put_rest(output, term);
}

}  // namespace beamdump::render
