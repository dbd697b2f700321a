#pragma once

#include <libdump/crash/import/words/element_parser.h>
#include <libdump/write/dump_writer.h>

namespace beamdump::crash {

/// Fewer missing words than this do not end a region: they stand there as format::kLackingWord.
inline constexpr std::uint64_t kGapWords = 512;

/// The objects that words may lead to: a process's own, and the literals.
struct Objects {
    WordImage& own;
    WordImage& literals;
    const Names& names;
};

/// A word as it goes into the dump: an address becomes a pointer to what begins there. To what is
/// in neither image, it becomes one to a boxed object, which a reader does not find.
std::uint64_t final_word(const WordImage::Word& word, const Objects& objects,
                         const WordMaker& words);

/// Appends words as a region. `header`: its owner, kind, address and total; `from`: the place of
/// the first word in `image`.
Result<records::RegionRef> append_words(DumpWriter& writer, format::RegionHeader header,
                                        WordImage& image, std::uint64_t from,
                                        const Objects& objects, const WordMaker& words);

}  // namespace beamdump::crash
