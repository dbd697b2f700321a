#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/words/word_regions.h>
#include <libdump/format/crash_regions.h>
#include <libdump/write/append.h>

#include <algorithm>
#include <cstring>

namespace beamdump::crash {

std::uint64_t final_word(const WordImage::Word& word, const Objects& objects,
                         const WordMaker& words) {
    if (!word.is_pointer) {
        return word.value;
    }
    if (word.value >= kAtomObjects) {
        if (const auto atom = objects.names.atom_at(word.value)) {
            return words.atom(*atom);
        }
    }
    auto what = objects.own.object_at(word.value);
    if (what == ObjectStart::kNone) {
        what = objects.literals.object_at(word.value);
    }
    return words.pointer(word.value, what == ObjectStart::kCell);
}

Result<records::RegionRef> append_words(DumpWriter& writer, format::RegionHeader header,
                                        WordImage& image, std::uint64_t from,
                                        const Objects& objects, const WordMaker& words) {
    constexpr std::uint64_t kWord = WordImage::kWordBytes;
    header.unit = format::RegionUnit::kWords;
    header.word_bytes = kWord;
    header.term_scheme = words.scheme().id;
    std::vector<WordImage::Word> part;
    auto placed = writer.append_region(
        header, [&](std::uint64_t first, std::span<std::byte> into) -> Result<std::uint64_t> {
            const auto count = into.size() / kWord;
            part.resize(count);
            RETURN_IF_ERROR(image.read(from + first * kWord, part, format::kLackingWord));
            for (std::size_t index = 0; index < count; ++index) {
                const auto word = final_word(part[index], objects, words);
                std::memcpy(into.subspan(index * kWord).data(), &word, kWord);
            }
            return count;
        });
    if (!placed) {
        return std::unexpected(placed.error());
    }
    return region_ref(header, *placed);
}

}  // namespace beamdump::crash
