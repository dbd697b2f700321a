#pragma once

#include "print_term.h"

#include <libdump/term/heap_object.h>

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::testing {

/// Terms of the schemes from OTP 27 on, made word by word, and what is printed of them.
class BitTerms : public ::testing::Test {
  protected:
    using Word = std::uint64_t;

    static constexpr Word kFunRefSubtag = 1;
    static constexpr Word kFunSubtag = 5;
    static constexpr Word kRecordSubtag = 7;
    static constexpr Word kHeapBitsSubtag = 8;
    static constexpr Word kSubBitsSubtag = 9;
    static constexpr Word kBinRefSubtag = 10;
    static constexpr Word kMapSubtag = 11;
    static constexpr Word kHashNode = 1;
    static constexpr Word kHashHead = 2;

    explicit BitTerms(format::TermScheme id) : scheme(scheme_of(id).value()) {}

    std::string text(Word word, std::int64_t limit = kNoTermLimit) {
        TermPrinter printer(context, scheme, limit);
        printer.start(word);
        std::string printed;
        while (printer.next(100, printed) != 0) {
        }
        malformed = printer.statistics().malformed;
        absent = printer.statistics().absent;
        return printed;
    }

    std::optional<HeapObject> object(Word word) {
        WordReader reader(context);
        return heap_object(scheme, reader, word);
    }

    static Word packed(std::string_view bytes, std::size_t at) {
        Word word = 0;
        std::memcpy(&word, bytes.data() + at, std::min(bytes.size() - at, kWordBytes));
        return word;
    }

    /// `bits` of `bytes`.
    Word heap_bits(std::string_view bytes, Word bits) {
        std::vector<Word> words = {0, bits};
        for (std::size_t at = 0; at * 8 < bits; at += kWordBytes) {
            words.push_back(packed(bytes, at));
        }
        words[0] = TermBuilder::header(words.size() - 1, kHeapBitsSubtag);
        return TermBuilder::boxed(b.put(words));
    }

    /// A Binary whose bytes begin behind its own address.
    Word binary(const std::string& bytes) {
        next_binary += 0x1000;
        BinaryInfo info;
        info.size_bytes = bytes.size();
        info.captured_bytes = bytes.size();
        info.data_address = next_binary + 25;
        context.binaries[next_binary] = {info, bytes};
        return next_binary;
    }

    Word bin_ref(Word of) {
        return TermBuilder::boxed(b.put({TermBuilder::header(2, kBinRefSubtag), of, 0}));
    }

    Word sub_bits(Word original, Word base_and_flags, Word start, Word end) {
        return TermBuilder::boxed(
            b.put({TermBuilder::header(4, kSubBitsSubtag), base_and_flags, start, end, original}));
    }

    static Word map_header(Word type, Word bitmap) {
        return bitmap << 16U | (type == kHashHead ? 1U << 8U : 0U) | type << 6U | kMapSubtag << 2U;
    }

    FakeTermContext context;
    TermBuilder b{context};
    TagScheme scheme;
    Word next_binary = 0x5000'0000;
    std::uint64_t malformed = 0;
    std::uint64_t absent = 0;
};

}  // namespace beamdump::testing
