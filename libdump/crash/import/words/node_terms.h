#pragma once

#include <libdump/crash/import/words/element_parser.h>

namespace beamdump::crash {

/// What the terms of all processes of a node have in common. Does not move: readers refer to it.
struct NodeTerms {
    /// `budget`: non-owning, may be null.
    NodeTerms(TextFormat text_format, Budget* budget)
        : format(std::move(text_format)), names(budget, format.word_bytes), literals(budget) {}
    NodeTerms(const NodeTerms&) = delete;
    NodeTerms& operator=(const NodeTerms&) = delete;

    TextFormat format;
    Names names;
    WordImage literals;
};

}  // namespace beamdump::crash
