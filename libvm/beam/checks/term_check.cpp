#include <libdump/base/return_if_error.h>
#include <libvm/beam/checks/term_check.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::beam {
namespace {

constexpr std::size_t kRoots = 64;     // words of a stack or dictionary
constexpr std::size_t kObjects = 200;  // of a process
constexpr std::uint64_t kItems = 16;   // of one object
constexpr std::size_t kHeadWords = 6;  // enough for an object's size and kind
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 42U;
constexpr std::uint64_t kMaxBinaryReferences = std::uint64_t{1} << 32U;

}  // namespace

void TermCheck::resolve(LayoutNames& names) {
    binary_.emplace(names);
    entry_.emplace(names);
    export_.emplace(names);
}

namespace {

/// Whether layout and scheme agree about headers.
Result<void> check_subtags(const Layout& layout, const TagScheme& scheme) {
    struct Subtag {
        ConstantName name;
        BoxedKind kind;
    };
    constexpr std::array kSubtags = {
        Subtag{runtime::constant::reference_subtag, BoxedKind::kReference},
        Subtag{runtime::constant::external_pid_subtag, BoxedKind::kExternalPid},
        Subtag{runtime::constant::external_ref_subtag, BoxedKind::kExternalReference},
        Subtag{runtime::constant::refc_binary_subtag, BoxedKind::kRefcBinary},
        Subtag{runtime::constant::bin_ref_subtag, BoxedKind::kRefcBinary},
        Subtag{runtime::constant::fun_ref_subtag, BoxedKind::kFunRef},
        Subtag{runtime::constant::heap_bits_subtag, BoxedKind::kHeapBinary},
        Subtag{runtime::constant::sub_bits_subtag, BoxedKind::kSubBits}};
    std::array<bool, kSubtags.size()> said{};
    for (std::size_t index = 0; index < kSubtags.size(); ++index) {
        const auto& [name, kind] = kSubtags.at(index);
        const auto value = layout.constant(name);
        said.at(index) = value.has_value();
        if (value && boxed_kind(scheme, *value) != kind) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("expected {} of term scheme {}, found {}", name.text,
                                    static_cast<unsigned>(scheme.id), *value));
        }
    }
    LayoutNames names(layout);
    const auto binary = names.field({runtime::BinRef::val, runtime::ProcBin::val});
    const auto pid_number_bits = names.constant(runtime::constant::pid_number_bits);
    RETURN_IF_ERROR(names.outcome());
    if (scheme.pid_number_bits != pid_number_bits) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected pids of term scheme {}, found numbers of {} bits",
                                static_cast<unsigned>(scheme.id), pid_number_bits));
    }
    if (scheme.heap_binary_in_bits != said.back() ||
        binary.offset != scheme.refc_binary * sizeof(std::uint64_t)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected binaries of term scheme {}, found those of another",
                                static_cast<unsigned>(scheme.id)));
    }
    if (layout.structures().contains("FunRef") &&
        std::ranges::find(scheme.by_subtag, BoxedKind::kFunRef) == scheme.by_subtag.end()) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected funs of term scheme {}, found those with a FunRef",
                                static_cast<unsigned>(scheme.id)));
    }
    return {};
}

}  // namespace

Result<TermCheck> TermCheck::open(Vm& vm) {
    auto id = vm.layout().constant(runtime::constant::term_scheme);
    ASSIGN_OR_RETURN(auto scheme, id ? scheme_of(static_cast<format::TermScheme>(*id))
                                     : Result<TagScheme>(std::unexpected(id.error())));
    RETURN_IF_ERROR(check_subtags(vm.layout(), scheme));
    TermCheck check(vm, scheme);
    LayoutNames names(vm.layout());
    check.resolve(names);
    RETURN_IF_ERROR(names.outcome());
    return check;
}

bool TermCheck::check(const ProcessView& process, Checks& checks) {
    if (process.void_reason != records::VOID_REASON_NONE ||
        process.status != records::PROCESS_STATUS_WAITING) {
        return false;
    }
    pending_.clear();
    seen_.clear();
    queue(process.stack, true);
    queue(process.dictionary, false);
    while (!pending_.empty() && seen_.size() < kObjects) {
        const auto word = pending_.front();
        pending_.pop_front();
        if (seen_.insert(word).second) {
            follow(word, checks);
        }
    }
    return true;
}

/// `with_headers`: a stack has return addresses and catches among its terms.
void TermCheck::queue(Span span, bool with_headers) {
    const auto words = read_words(vm_->memory(), span.begin, std::min(span.words(), kRoots));
    for (const auto word : words.value_or(std::vector<std::uint64_t>())) {
        const auto kind = word_kind(scheme_, word);
        if (kind == WordKind::kBoxed || kind == WordKind::kList ||
            (!with_headers && kind == WordKind::kUnknown)) {
            pending_.push_back(word);
        }
    }
}

bool TermCheck::atom(std::uint64_t word) const {
    return word_kind(scheme_, word) == WordKind::kAtom;
}

void TermCheck::follow(std::uint64_t word, Checks& checks) {
    switch (word_kind(scheme_, word)) {
        case WordKind::kList:
            return cell(word & ~kPrimaryMask, checks);
        case WordKind::kBoxed:
            return object(boxed_address(word), checks);
        default:
            checks.expect("words of terms", false,
                          [&] { return fmt::format("expected a term, found {:#x}", word); });
    }
}

void TermCheck::cell(Address address, Checks& checks) {
    constexpr std::uint64_t kLiteralBit = 4;  // OTP 25 to 28 may mark pointers to literals
    const auto words = read_words(vm_->memory(), address & ~kLiteralBit, 2);
    checks.expect(kCounted, words.has_value(), [&] { return words.error().message; });
    if (words) {
        queue_terms(*words);
    }
}

void TermCheck::queue_terms(std::span<const std::uint64_t> words) {
    for (const auto word : words.first(std::min<std::size_t>(words.size(), kItems))) {
        const auto kind = word_kind(scheme_, word);
        if (kind == WordKind::kBoxed || kind == WordKind::kList || kind == WordKind::kHeader ||
            kind == WordKind::kUnknown) {
            pending_.push_back(word);
        }
    }
}

void TermCheck::object(Address address, Checks& checks) {
    const auto words = read_words(vm_->memory(), address, kHeadWords);
    const auto size = words ? boxed_words(scheme_, *words) : std::nullopt;
    checks.expect(kCounted, size && vm_->plausible(address, *size * sizeof(std::uint64_t)), [&] {
        return words ? fmt::format("expected an object of the scheme at {:#x}, found header {:#x}",
                                   address, words->front())
                     : words.error().message;
    });
    if (!size) {
        return;
    }
    const auto kind = boxed_kind(scheme_, words->front());
    if (kind == BoxedKind::kRefcBinary) {
        binary(address, *words, checks);
    } else if (kind == BoxedKind::kFun) {
        fun(address, *words, checks);
    } else if (kind == BoxedKind::kFunRef) {
        fun_reference(address, *words, checks);
    }
    const auto range = boxed_terms(scheme_, *words);
    if (range && range->count != 0) {
        auto terms = read_words(vm_->memory(), address + range->first * sizeof(std::uint64_t),
                                std::min(range->count, kItems));
        if (terms) {
            queue_terms(*terms);
        }
    }
}

void TermCheck::binary(Address address, std::span<const std::uint64_t> words, Checks& checks) {
    const auto place = words[scheme_.refc_binary];
    const auto read = OwnedStruct::read(vm_->memory(), place, binary_->bytes);
    const auto references = read ? read->view().get(binary_->references) : 0;
    const auto size = read ? read->view().get(binary_->size) : 0;
    // If a reference has an address of its own, it is inside the Binary's bytes.
    const bool part = scheme_.refc_words <= otp25::kRefcBytes ||
                      (words[otp25::kRefcBytes] >= place + binary_->content.offset &&
                       words[otp25::kRefcBytes] <= place + binary_->content.offset + size);
    checks.expect("binaries",
                  references >= 1 && references < kMaxBinaryReferences && size < kMaxSize && part,
                  [&] {
                      return fmt::format(
                          "expected a Binary for {:#x} at {:#x}, found {} references "
                          "to {} bytes",
                          address, place, references, size);
                  });
}

bool TermCheck::fun_entry(Address entry) const {
    const auto read = OwnedStruct::read(vm_->memory(), entry, entry_->bytes);
    return read && atom(read->view().get(entry_->module));
}

void TermCheck::fun(Address address, std::span<const std::uint64_t> words, Checks& checks) {
    const auto entry = words[otp25::kFunEntry];
    bool fits = false;
    if (is_external_fun(scheme_, words)) {
        const auto read = OwnedStruct::read(vm_->memory(), entry, export_->bytes);
        fits = read && atom(read->view().word(export_->mfa, 0)) &&
               atom(read->view().word(export_->mfa, 1));
    } else {
        fits = fun_entry(entry);
        // The environment of a local fun ends with its FunRef, if the scheme has those.
        const auto range = boxed_terms(scheme_, words);
        if (fits && scheme_.fun_in_header && !scheme_.fun_kind_in_header) {
            const auto last = range->count == 0
                                  ? fail(ErrorCode::kImplausible, "no FunRef")
                                  : vm_->memory().word(address + (range->first + range->count - 1) *
                                                                     sizeof(std::uint64_t));
            const auto header = last && is_boxed(*last)
                                    ? vm_->memory().word(boxed_address(*last))
                                    : fail(ErrorCode::kImplausible, "no FunRef");
            fits = header && boxed_kind(scheme_, *header) == BoxedKind::kFunRef;
        }
    }
    checks.expect("funs", fits, [&] {
        return fmt::format(
            "expected a fun of the scheme at {:#x}, found header {:#x} and entry "
            "{:#x}",
            address, words[0], entry);
    });
}

void TermCheck::fun_reference(Address address, std::span<const std::uint64_t> words,
                              Checks& checks) {
    checks.expect("references to funs", fun_entry(words[otp25::kFunEntry]), [&] {
        return fmt::format("expected a fun's entry for {:#x}, found {:#x}", address,
                           words[otp25::kFunEntry]);
    });
}

}  // namespace beamdump::beam
