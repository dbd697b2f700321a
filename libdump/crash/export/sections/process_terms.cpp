#include <libdump/base/return_if_error.h>
#include <libdump/crash/export/sections/process_terms.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/model/external_message.h>
#include <libdump/model/messages.h>
#include <libdump/model/owner_id.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/external_tags.h>
#include <libdump/term/process_stack.h>

#include <algorithm>
#include <array>

namespace beamdump::crash {

namespace {

ProcessStack stack_of(const ProcessRun& run) {
    return {.instruction = run.process.instruction_address(),
            .top = run.process.stack_top_address(),
            .bottom = run.process.heap_end_address()};
}

}  // namespace

ProcessTerms::ProcessTerms(Dump& dump, TermExport& terms, Literals& literals, ScratchSpace* space)
    : dump_(dump),
      terms_(terms),
      out_(terms.out()),
      literals_(literals),
      marks_(space),
      walk_(terms.scheme(), terms.words(), marks_, TermWalk::Measure::kHeap, space) {}

Result<void> ProcessTerms::write(const ProcessRun& run, ProcessContext& context) {
    run_ = &run;
    context_ = &context;
    marks_.clear();
    if (!run.directory.messages.empty()) {
        title("messages");
        if (auto done = messages(); !done) {
            return wrap("reading the messages", std::move(done.error()));
        }
    }
    if (run.region(format::RegionKind::kDictionary) != nullptr) {
        title("dictionary");
        if (auto done = dictionary(); !done) {
            return wrap("reading the dictionary", std::move(done.error()));
        }
    }
    title("stack");
    stack();
    title("heap");
    return heap();
}

void ProcessTerms::title(std::string_view section) {
    out_.put("=proc_");
    out_.put(section);
    out_.put(':');
    out_.put(pid_text(run_->owner_id()));
    out_.put('\n');
}

Result<void> ProcessTerms::messages() {
    MessageWalker walker(dump_.reader(), *run_);
    while (out_.ok()) {
        ASSIGN_OR_RETURN(auto entry, walker.next());
        if (entry == nullptr) {
            break;
        }
        if (is_message(*entry)) {
            RETURN_IF_ERROR(message(*entry));
        }
    }
    return {};
}

Result<void> ProcessTerms::message(const records::Message& entry) {
    if (entry.kind() == records::MESSAGE_KIND_EXTERNAL) {
        RETURN_IF_ERROR(undecoded(entry.external()));
    } else {
        terms_.element(entry.term_word());
    }
    out_.put(':');
    if (entry.has_token_word()) {
        terms_.element(entry.token_word());
    } else {
        terms_.element(terms_.scheme().nil);
    }
    out_.put('\n');
    return {};
}

/// D, the atoms of its cache references, E and its bytes (dump_dist_ext()). An incomplete message
/// is written as the VM writes a lost one.
Result<void> ProcessTerms::undecoded(const records::External& external) {
    constexpr std::size_t kBlock = 4096;
    ASSIGN_OR_RETURN(auto message, ExternalMessage::open(dump_, external));
    const ExternalTerm term = message->term();
    std::array<std::uint8_t, kBlock> block{};
    const std::uint64_t size = message->size();
    const bool here = size > 0 && message->read(size - 1, std::span(block).first(1)) == 1 &&
                      std::ranges::all_of(term.cached_atoms, [this](std::uint32_t atom) {
                          const auto name = terms_.context().atom(atom);
                          return name && !TermExport::has_line_break(*name);
                      });
    if (!here) {
        ++unwritten_;
        out_.put("D0:E0:");
        return {};
    }
    out_.put('D');
    out_.hex(term.cached_atoms.size());
    out_.put(':');
    for (const std::uint32_t atom : term.cached_atoms) {
        const auto name = terms_.context().atom(atom);
        out_.put('A');
        out_.hex(name->size());
        out_.put(':');
        out_.put(*name);
    }
    out_.put('E');
    out_.hex(size + (term.version_byte ? 0 : 1));
    out_.put(':');
    Base64 base64(out_);
    if (!term.version_byte) {
        base64.add(std::span(&kExternalVersion, 1));
    }
    for (std::uint64_t at = 0; at < size && out_.ok();) {
        const std::size_t got = message->read(at, block);
        if (got == 0) {
            ++unwritten_;
            break;
        }
        base64.add(std::span(block).first(got));
        at += got;
    }
    base64.finish();
    return {};
}

Result<void> ProcessTerms::dictionary() {
    auto malformed =
        visit_dictionary_entries(*context_, *run_, terms_.scheme(), [this](std::uint64_t entry) {
            terms_.element(entry);
            out_.put('\n');
            return true;
        });
    if (!malformed) {
        return std::unexpected(malformed.error());
    }
    unwritten_ += *malformed;
    return {};
}

void ProcessTerms::stack() {
    StackWalk walk(*context_, terms_.scheme(), stack_of(*run_));
    while (const auto entry = out_.ok() ? walk.next() : std::nullopt) {
        const auto begin = [&](std::string_view what, std::uint64_t code) {
            out_.put(what);
            out_.hex(code);
            out_.put(" (");
            terms_.code(code);
            out_.put(")\n");
        };
        if (entry->kind == StackEntry::Kind::kReturnAddress ||
            entry->kind == StackEntry::Kind::kMissing) {
            out_.pointer(terms_.node_address(entry->address));
            out_.put(':');
        } else {
            out_.put('y');
            out_.number(entry->register_index);
            out_.put(':');
        }
        switch (entry->kind) {
            case StackEntry::Kind::kReturnAddress:
                begin("SReturn addr 0x", entry->word);
                break;
            case StackEntry::Kind::kCatch:
                unwritten_ += entry->code_address ? 0 : 1;
                begin("SCatch 0x", entry->code_address.value_or(0));
                break;
            case StackEntry::Kind::kRegister:
                terms_.element(entry->word);
                out_.put('\n');
                break;
            case StackEntry::Kind::kMissing:
                ++unwritten_;
                out_.put("SNot in the dump from here on\n");
                break;
        }
    }
}

Result<void> ProcessTerms::heap() {
    StackWalk walk(*context_, terms_.scheme(), stack_of(*run_));
    while (const auto entry = out_.ok() ? walk.next() : std::nullopt) {
        if (entry->kind == StackEntry::Kind::kRegister) {
            RETURN_IF_ERROR(root(entry->word));
        }
    }
    MessageWalker walker(dump_.reader(), *run_);
    while (out_.ok()) {
        auto entry = walker.next();
        if (!entry) {
            return wrap("reading the messages", std::move(entry.error()));
        }
        if (*entry == nullptr) {
            break;
        }
        const records::Message& message = **entry;
        if (!is_message(message)) {
            continue;
        }
        const bool own_words = message.fragment_size() > 0;
        if (own_words) {
            context_->set_message(&message);
            // Fragments of different messages may have been at the same addresses.
            terms_.forget();
        }
        if (message.kind() != records::MESSAGE_KIND_EXTERNAL) {
            RETURN_IF_ERROR(root(message.term_word()));
        }
        if (message.has_token_word()) {
            RETURN_IF_ERROR(root(message.token_word()));
        }
        if (own_words) {
            context_->set_message(nullptr);
            terms_.forget();
        }
    }
    Result<void> visited;
    auto entries =
        visit_dictionary_entries(*context_, *run_, terms_.scheme(), [&](std::uint64_t entry) {
            visited = root(entry);
            return visited.has_value();
        });
    RETURN_IF_ERROR(std::move(visited));
    if (!entries) {
        return wrap("reading the dictionary", std::move(entries.error()));
    }
    return {};
}

Result<void> ProcessTerms::root(std::uint64_t word) {
    if (leads_to_object(terms_.scheme(), word) && out_.ok()) {
        ASSIGN_OR_RETURN(const auto outcome, walk_.walk(word, *this));
        unwritten_ += outcome.unreadable;
    }
    return {};
}

Result<WalkObserver::Entered> ProcessTerms::enter(const HeapObject& object,
                                                  std::span<const WalkLevel> /*path*/) {
    if (is_literal(object.address)) {
        RETURN_IF_ERROR(literals_.use(word_to(terms_.scheme(), object.address, object.is_cell)));
        return Entered{.go_on = false};
    }
    if (const auto original = terms_.original_of(object)) {
        RETURN_IF_ERROR(part_of(*original));
    }
    if (!terms_.object(object)) {
        ++unwritten_;
        return Entered{.go_on = false};
    }
    return Entered{.go_on = TermExport::leads_on(object) && out_.ok()};
}

/// Writes the line of the binary that a part refers to, once.
Result<void> ProcessTerms::part_of(std::uint64_t original) {
    if (is_literal(original)) {
        return literals_.use(word_to(terms_.scheme(), original, false));
    }
    ASSIGN_OR_RETURN(const bool is_new, marks_.add(original));
    if (is_new) {
        const auto object = boxed_object(terms_.scheme(), terms_.words(), original);
        unwritten_ += object && terms_.object(*object) ? 0 : 1;
    }
    return {};
}

bool ProcessTerms::is_literal(std::uint64_t address) {
    const records::Process& facts = run_->process;
    const bool own =
        (facts.heap_address() <= address && address < facts.heap_end_address()) ||
        (facts.old_heap_address() <= address && address < facts.old_heap_end_address());
    return !own && literals_.hold(address);
}

}  // namespace beamdump::crash
