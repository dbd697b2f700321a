#pragma once

#include "element_text.h"

namespace beamdump::crash {

/// What the terms of all processes of a node have in common. Does not move: readers refer to it.
struct NodeTerms {
    explicit NodeTerms(TextFormat text_format) : format(std::move(text_format)) {}
    NodeTerms(const NodeTerms&) = delete;
    NodeTerms& operator=(const NodeTerms&) = delete;

    TextFormat format;
    Names names;
    WordImage literals;
};

}  // namespace beamdump::crash
