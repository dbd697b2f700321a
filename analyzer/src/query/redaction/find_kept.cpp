#include "query/redaction/find_kept.h"

#include "query/holders/node_sweep.h"
#include "query/redaction/chosen_terms.h"
#include "query/tables/persistent_terms.h"

#include <libdump/base/return_if_error.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/frame_cursor.h>

namespace beamdump::query {

namespace {

using Stage = ChosenTerms::Stage;
constexpr Stage kStages[] = {Stage::kHiding, Stage::kKeeping};

class Finder {
  public:
    Finder(Dump& dump, const redact::Policy& policy, const InputLimits& limits)
        : dump_(dump),
          limits_(limits),
          space_({.max_memory_bytes = limits.memory, .max_file_bytes = limits.temporary_bytes()}),
          lists_(policy, dump.atoms()),
          has_modules_(!policy.modules.empty()),
          terms_(
              lists_, [&dump](std::uint64_t address) { return dump.literals().covers(address); },
              kept_, space_),
          sweep_(limits) {}

    Result<redact::KeptTerms> run(const ReadProgress& progress) {
        RETURN_IF_ERROR(visit_processes(
            dump_, {.sensitive = true, .use = HeapUse::kWhole, .progress = progress},
            [this](OpenedProcess& one) { return process(one); }));
        RETURN_IF_ERROR(rows());
        RETURN_IF_ERROR(literals());
        kept_.seal();
        return std::move(kept_);
    }

  private:
    Result<void> process(OpenedProcess& process) {
        const Choice all = has_modules_ ? choice_of(process) : Choice::kNone;
        terms_.begin(false);
        for (const Stage stage : kStages) {
            terms_.begin_stage(stage, all);
            RETURN_IF_ERROR(sweep_.run(dump_, process, terms_));
            RETURN_IF_ERROR(dictionary(process));
        }
        return {};
    }

    /// Each entry is a tuple of a key and its value, which no other term leads to.
    Result<void> dictionary(OpenedProcess& process) {
        Result<void> seen;
        WordReader words(process.context());
        terms_.look_through(process.context(), process.scheme, words);
        RETURN_IF_ERROR(visit_dictionary_entries(
            process.context(), process.run, process.scheme, [&](std::uint64_t entry) {
                const auto object = heap_object(process.scheme, words, entry);
                seen = object ? terms_.met(*object, {}) : Result<void>();
                return seen.has_value();
            }));
        return seen;
    }

    /// A process is a kept module's by its initial call; a hidden one's also by any function that
    /// it is in.
    Choice choice_of(OpenedProcess& process) {
        Choice choice = Choice::kNone;
        const auto& row = process.run.row;
        for (const auto* mfa : {&row.translated_initial_call(), &row.initial_call()}) {
            if (mfa->has_module_atom()) {
                choice = both(choice, lists_.module(mfa->module_atom()));
            }
        }
        FrameCursor frames(process.context(), process.scheme, process.stack());
        while (const auto frame = frames.next()) {
            if (frame->location && frame->location->function &&
                lists_.module(frame->location->function->module_atom) == Choice::kHidden) {
                return Choice::kHidden;
            }
        }
        return choice;
    }

    Result<void> rows() {
        terms_.begin(false);
        for (const Stage stage : kStages) {
            terms_.begin_stage(stage, Choice::kNone);
            NodeSweep sweep(limits_);
            RETURN_IF_ERROR(sweep.rows(dump_, terms_, [](const TermOwner&) {}));
        }
        return {};
    }

    /// Persistent terms lie among the literals.
    Result<void> literals() {
        terms_.begin(true);
        for (const Stage stage : kStages) {
            NodeSweep sweep(limits_);
            RETURN_IF_ERROR(sweep.literals(dump_, terms_, [&](const TermOwner& owner) {
                terms_.begin_stage(stage, owner.module_atom && has_modules_
                                              ? lists_.module(*owner.module_atom)
                                              : Choice::kNone);
            }));
            terms_.begin_stage(stage, Choice::kNone);
            RETURN_IF_ERROR(sweep.persistent_terms(dump_, terms_, [](const TermOwner&) {}));
        }
        return {};
    }

    Dump& dump_;
    InputLimits limits_;
    redact::KeptTerms kept_;
    ScratchSpace space_;
    TermLists lists_;
    bool has_modules_;
    ChosenTerms terms_;
    ProcessSweep sweep_;
};

}  // namespace

Result<redact::KeptTerms> find_kept_terms(Dump& dump, const redact::Policy& policy,
                                          const InputLimits& limits, const ReadProgress& progress) {
    return Finder(dump, policy, limits).run(progress);
}

}  // namespace beamdump::query
