#pragma once

#include "query/heap/heap_roots.h"
#include "query/process/opened_process.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/term_walk.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace beamdump::query {

/// The way to a term, in words.
struct TermPlace {
    std::string root;               ///< "y(0) of frame 3, gen_server:loop/7", "dictionary key"...
    std::vector<std::string> path;  ///< "element 4", "key sessions"...; the last 64 steps
};

/// Told what is met in one process: each object and each immediate of it once, by the first way.
class SweepVisitor : public WalkObserver {
  public:
    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> path) override {
        auto done = met(object, path);
        return done ? Result<Entered>(Entered{}) : std::unexpected(std::move(done).error());
    }
    Result<void> again(std::uint64_t /*address*/, std::span<WalkLevel> /*path*/) override {
        return {};
    }
    Result<void> leave(std::span<WalkLevel> /*path*/) override { return {}; }
    [[nodiscard]] bool wants_immediates() const override { return true; }

    [[nodiscard]] virtual Result<void> met(const HeapObject& object,
                                           std::span<const WalkLevel> path) = 0;

    /// Terms are read through these from here on, which must stay until the next call.
    void look_through(TermContext& context, const TagScheme& scheme, WordReader& words);
    /// What is met from here on is reached from this root, which must stay too.
    virtual void begin_root(const HeapRoot& root, bool in_key) {
        root_ = &root;
        in_key_ = in_key;
        name_ = nullptr;
    }
    /// Makes the name of a root that has none, when it is told; must stay as the root.
    void name_root(const std::function<std::string()>& name) { name_ = &name; }

  protected:
    [[nodiscard]] const TagScheme& scheme() const { return *scheme_; }
    [[nodiscard]] WordReader& words() const { return *words_; }
    [[nodiscard]] TermContext& context() const { return *context_; }
    [[nodiscard]] const HeapRoot& root() const { return *root_; }
    /// The binary that an object which refers to a reference-counted one refers to; else 0.
    [[nodiscard]] std::uint64_t binary_of(const HeapObject& object) const;
    /// The magic binary that a reference refers to, as those of NIF resources do; else 0.
    [[nodiscard]] std::uint64_t magic_binary_of(const HeapObject& object) const;
    /// Where the walk stands.
    [[nodiscard]] TermPlace place(std::span<const WalkLevel> path);
    /// A term's text, for a line.
    [[nodiscard]] std::string text(std::uint64_t word, std::size_t bytes);

  private:
    const TagScheme* scheme_ = nullptr;
    WordReader* words_ = nullptr;
    TermContext* context_ = nullptr;
    const HeapRoot* root_ = nullptr;
    const std::function<std::string()>* name_ = nullptr;
    bool in_key_ = false;
    std::unique_ptr<TermPrinter> printer_;
};

/// Whether an object is a later cell of the list that `path` ends with, not a term of its own; or
/// a pair in a large map's node.
bool is_inner_cell(const HeapObject& object, std::span<const WalkLevel> path);

/// Walks all that a process's stack, dictionary, fields and messages lead to, for one process after
/// the other. Memory: 3 bits for each word of the pages that one process's terms are in; beyond the
/// limit in temporary files.
class ProcessSweep {
  public:
    explicit ProcessSweep(const InputLimits& limits);

    struct Counts {
        std::uint64_t undecoded_messages = 0;  ///< in external format: not looked at
        std::uint64_t unreadable = 0;          ///< places whose words are not here or make no term
    };
    /// Adds to counts(). Fails where the visitor or the scratch space does.
    Result<void> run(Dump& dump, OpenedProcess& process, SweepVisitor& visitor);
    [[nodiscard]] const Counts& counts() const { return counts_; }

  private:
    ScratchSpace space_;
    AddressMarks marks_;
    Counts counts_;
};

}  // namespace beamdump::query
