#pragma once

#include <libdump/base/scratch_array.h>
#include <libdump/term/term_context.h>

#include <records.pb.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace beamdump {

/// Shows the words of a process that was captured in the middle of a collection as if each object
/// were in one place: in its copy if that is complete, else where it was. An object that was copied
/// has its new address where it was (erl_gc.h, move_boxed() and move_cons(), OTP 25 to 29): in
/// place of the header, or, for a cons cell, behind the non-value. Pointers to it are shown as
/// pointers to the copy; its own former words are shown as they are.
///
/// Words of data that look like a pointer to a copied object are taken for one.
class Forwarding {
  public:
    explicit Forwarding(const records::Collection& collection);

    /// Reads the collected words once, in order. `plain`: the process's words as they are in the
    /// dump. Memory: a bit for each of these words and four bytes for each object copied; above
    /// 256 MiB in temporary files. Fails if the scratch space does, or if the copies take more than
    /// 32 GiB.
    [[nodiscard]] Result<void> read(TermContext& plain);

    /// Replaces words read from `address` on by what is shown there. After read().
    void show(std::uint64_t address, std::span<std::uint64_t> words) const;

    /// A term's word, leading to its object's one place. After read().
    [[nodiscard]] std::uint64_t resolved(std::uint64_t word) const;

  private:
    struct Span {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t first = 0;  ///< number of its first word, counting the words of all spans
    };
    struct Last {
        std::uint64_t original = 0;
        std::uint64_t copy = 0;
        std::uint64_t header = 0;
    };
    static std::uint64_t number_words(std::vector<Span>& spans);
    [[nodiscard]] static const Span* find(std::span<const Span> spans, std::uint64_t address);
    [[nodiscard]] Result<void> read(TermContext& plain, const Span& span);
    [[nodiscard]] Result<void> note(std::uint64_t original, std::uint64_t word);

    std::vector<Span> from_;
    std::vector<Span> targets_;
    std::vector<Last> last_;
    std::uint64_t from_words_ = 0;
    std::uint64_t target_words_ = 0;
    std::unique_ptr<ScratchSpace> space_;
    ScratchArray<std::uint64_t> bits_;    // of the collected words: an object that has a copy
    ScratchArray<std::uint32_t> ranks_;   // how many bits are set before each word of bits_
    ScratchArray<std::uint32_t> copies_;  // numbers of target words, in the order of the originals
};

}  // namespace beamdump
