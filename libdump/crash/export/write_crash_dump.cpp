#include <libdump/base/return_if_error.h>
#include <libdump/crash/export/sections/literals.h>
#include <libdump/crash/export/sections/node_sections.h>
#include <libdump/crash/export/sections/process_section.h>
#include <libdump/crash/export/sections/process_terms.h>
#include <libdump/crash/export/write_crash_dump.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/process_context.h>
#include <libdump/term/term_context.h>

#include <array>
#include <limits>
#include <vector>

namespace beamdump::crash {

namespace {

/// Forwards every call to the current context, so that readers need not be made for each process.
/// Whoever changes the context must clear the readers' caches.
class CurrentContext final : public TermContext {
  public:
    /// Non-owning. Null while it is not used.
    void set(TermContext* context) { context_ = context; }

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override {
        return context_->words(address, into);
    }
    std::uint64_t words_begin(std::uint64_t address) override {
        return context_->words_begin(address);
    }
    void missed(std::uint64_t address) override { context_->missed(address); }
    [[nodiscard]] std::uint64_t region_bytes_bound() const override {
        return context_->region_bytes_bound();
    }
    AtomText atom(std::uint32_t index) override { return context_->atom(index); }
    std::optional<FunctionName> export_at(std::uint64_t address) override {
        return context_->export_at(address);
    }
    std::optional<FunInfo> fun_entry_at(std::uint64_t address) override {
        return context_->fun_entry_at(address);
    }
    std::optional<NodeInfo> node_at(std::uint64_t address) override {
        return context_->node_at(address);
    }
    std::optional<std::uint64_t> catch_address(std::uint32_t index) override {
        return context_->catch_address(index);
    }
    std::optional<CodeLocation> code_at(std::uint64_t address) override {
        return context_->code_at(address);
    }
    Result<BinaryInfo> binary_at(std::uint64_t address) override {
        return context_->binary_at(address);
    }
    std::optional<std::array<std::uint32_t, 3>> magic_reference(std::uint64_t address) override {
        return context_->magic_reference(address);
    }
    Result<std::size_t> binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                     std::span<std::byte> into) override {
        return context_->binary_bytes(binary_address, from, into);
    }

  private:
    TermContext* context_ = nullptr;
};

/// An empty process, for a context that reads the literals.
ProcessRun no_process() {
    ProcessRun run;
    run.row.set_end_offset(std::numeric_limits<std::uint64_t>::max());
    return run;
}

class Writing {
  public:
    Writing(Dump& dump, const ExportOptions& options, const TagScheme& scheme,
            const NodeFacts& facts, ByteSink& sink, const ExportListener& listener)
        : dump_(dump),
          options_(options),
          listener_(listener),
          out_(sink),
          space_({.max_memory_bytes = options.limits.memory,
                  .max_file_bytes = options.limits.temporary_bytes()}),
          run_of_none_(no_process()),
          none_(dump, run_of_none_),
          terms_(out_, context_, scheme, facts),
          literals_(dump, terms_, &space_),
          process_terms_(dump, terms_, literals_, &space_) {
        read_in(none_);
    }

    Result<ExportReport> all() {
        const bool kept = has_kept_sections(dump_);
        if (kept) {
            RETURN_IF_ERROR(write_kept_sections(dump_, out_));
        } else {
            write_head(dump_, options_.program_version, out_);
            write_memory(dump_, out_);
        }
        RETURN_IF_ERROR(each_process("processes", &Writing::section));
        read_in(none_);
        if (!kept) {
            RETURN_IF_ERROR(node_sections());
        }
        RETURN_IF_ERROR(each_process("terms of processes", &Writing::process_terms));
        read_in(none_);
        tell("literals", 0, std::nullopt);
        ASSIGN_OR_RETURN(auto literals, literals_.write());
        report_.unwritten += literals;
        tell("binaries", 0, std::nullopt);
        ASSIGN_OR_RETURN(auto partial, write_binaries(dump_, out_));
        if (!kept) {
            RETURN_IF_ERROR(write_atoms(dump_, out_));
        }
        // The text of a truncated crash dump is truncated too.
        if (dump_.capture().cut_off().empty()) {
            out_.put("=end\n");
        }
        out_.flush();
        if (out_.error()) {
            return std::unexpected(*out_.error());
        }
        report_.partial_binaries = partial;
        report_.unwritten += process_terms_.unwritten() + terms_.missing();
        report_.bytes = out_.bytes();
        return report_;
    }

  private:
    using Part = Result<void> (Writing::*)(const ProcessRun&, ProcessContext&);

    Result<void> node_sections() {
        write_distribution(dump_, terms_);
        auto done = write_modules(dump_, terms_);
        return done ? write_funs(dump_, terms_) : done;
    }

    void read_in(TermContext& context) {
        context_.set(&context);
        terms_.forget();
    }

    void tell(std::string_view phase, std::uint64_t done, std::optional<std::uint64_t> total) {
        listener_({.phase = phase, .done = done, .total = total, .bytes = out_.bytes()});
    }

    /// Calls `part` for each process of the index, which is read in batches.
    Result<void> each_process(std::string_view phase, Part part) {
        constexpr std::uint64_t kRowsAtOnce = 4096;
        const std::uint64_t total = dump_.processes().size();
        for (std::uint64_t first = 0; first < total; first += kRowsAtOnce) {
            std::vector<std::uint64_t> numbers;
            for (std::uint64_t i = first; i < total && i - first < kRowsAtOnce; ++i) {
                numbers.push_back(i);
            }
            ASSIGN_OR_RETURN(auto rows, dump_.processes().rows(numbers));
            for (std::size_t i = 0; i < rows.size(); ++i) {
                tell(phase, first + i, total);
                RETURN_IF_ERROR(process((rows)[i], part));
                if (out_.error()) {
                    return std::unexpected(*out_.error());
                }
            }
        }
        return {};
    }

    Result<void> process(const records::ProcessRow& row, Part part) {
        ASSIGN_OR_RETURN(auto run, ProcessRun::load(dump_.reader(), row));
        const auto context = dump_.context_of(run);
        read_in(*context);
        return (this->*part)(run, *context);
    }

    Result<void> section(const ProcessRun& run, ProcessContext& /*context*/) {
        ++report_.processes;
        return write_process_section(dump_, run, terms_);
    }

    Result<void> process_terms(const ProcessRun& run, ProcessContext& context) {
        switch (terms_withheld(run, options_.sensitive)) {
            case Withheld::kVoid:
                ++report_.inconsistent;
                return {};
            case Withheld::kSensitive:
                ++report_.sensitive;
                return {};
            case Withheld::kNo:
                break;
        }
        return process_terms_.write(run, context);
    }

    Dump& dump_;
    const ExportOptions& options_;
    const ExportListener& listener_;
    TextOutput out_;
    ScratchSpace space_;
    ProcessRun run_of_none_;
    ProcessContext none_;
    CurrentContext context_;
    TermExport terms_;
    Literals literals_;
    ProcessTerms process_terms_;
    ExportReport report_;
};

}  // namespace

Result<ExportReport> write_crash_dump(Dump& dump, const ExportOptions& options, ByteSink& sink,
                                      const ExportListener& listener) {
    ASSIGN_OR_RETURN(auto scheme, node_scheme(dump));
    ASSIGN_OR_RETURN(auto facts, NodeFacts::read(dump));
    return Writing(dump, options, scheme, facts, sink, listener).all();
}

}  // namespace beamdump::crash
