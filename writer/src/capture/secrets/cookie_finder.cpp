#include "capture/secrets/cookie_finder.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/processes/off_heap.h>
#include <libvm/beam/processes/process.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/tables/node_tables.h>
#include <libvm/beam/tables/owned_table.h>

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace beamdump::capture {
namespace {

/// The process `auth` holds a name and a table: a larger heap is not its own.
constexpr std::uint64_t kMaxHeapWords = 1U << 20U;
constexpr std::uint32_t kAtomsAtOnce = 1024;
constexpr std::size_t kAtomTextAtOnce = 64U << 10U;
constexpr std::string_view kAuth = "auth";
constexpr std::uint64_t kPairHeader = 2U << 6U;  // erl_term.h: a tuple of two
constexpr std::size_t kPairWords = 3;

/// The atom `auth` and all atoms before it: those of the runtime and of modules loaded earlier.
/// None of them comes from a cookie.
struct FirstAtoms {
    std::optional<std::uint32_t> auth;
    std::set<std::string, std::less<>> before;
};

Result<FirstAtoms> read_first_atoms(beam::AtomReader& atoms) {
    FirstAtoms first;
    for (std::uint32_t at = 0; at < atoms.count();) {
        ASSIGN_OR_RETURN(auto page, atoms.page(at, kAtomsAtOnce, kAtomTextAtOnce));
        for (auto& text : *page.mutable_text()) {
            if (text == kAuth) {
                first.auth = at;
                return first;
            }
            first.before.insert(std::move(text));
            ++at;
        }
    }
    // Every node has this atom: without it nothing is known about the others.
    return FirstAtoms{};
}

/// Reads the cookies from the state of the process `auth`.
class AuthReader {
  public:
    AuthReader(beam::Vm& vm, beam::AtomReader& atoms, const beam::AtomWords& words,
               Cookies& cookies)
        : vm_(vm), words_(words), cookies_(cookies), text_of_([&atoms](std::uint32_t index) {
              auto text = atoms.text(index);
              return text ? std::optional(*text) : std::nullopt;
          }) {}

    Result<void> read(beam::Address auth, const beam::ProcessReader& reader) {
        ASSIGN_OR_RETURN(const auto raw,
                         beam::OwnedStruct::read(vm_.memory(), auth, reader.bytes()));
        const auto heaps = reader.heap_of(raw.view());
        const auto state = read_state(heaps);
        const auto others = read_table(heaps);
        return state ? others : state;
    }

  private:
    Result<void> read_state(const beam::ProcessReader::Heaps& heaps) {
        bool any = false;
        for (const auto& span : {heaps.young, heaps.old}) {
            if (span.words() > kMaxHeapWords) {
                continue;
            }
            ASSIGN_OR_RETURN(const auto words,
                             beam::read_words(vm_.bulk(), span.begin, span.words()));
            any |= cookies_.take_auth_heap(words, words_, text_of_);
        }
        return any ? Result<void>()
                   : fail(ErrorCode::kImplausible, "the heap of the process auth has no state");
    }

    /// The cookies of other nodes: rows {Node, Cookie} of the table that the state refers to.
    Result<void> read_table(const beam::ProcessReader::Heaps& heaps) {
        ASSIGN_OR_RETURN(auto off_heap, beam::OffHeapWalker::open(vm_));
        ASSIGN_OR_RETURN(auto tables, beam::OwnedTableReader::open(vm_));
        bool any = false;
        const auto visit = [&](const beam::BinaryReference& reference) -> Result<void> {
            const auto table = tables.table_of(reference.binary, heaps.pid_word);
            if (!table || !*table) {
                return table ? Result<void>() : std::unexpected(table.error());
            }
            any = true;
            return tables.rows(**table, kPairWords,
                               [&](std::span<const std::uint64_t> row) { take(row); });
        };
        RETURN_IF_ERROR(off_heap.binaries(heaps.off_heap, kMaxHeapWords, visit));
        return any ? Result<void>()
                   : fail(ErrorCode::kImplausible,
                          "the process auth references no table of its own");
    }

    void take(std::span<const std::uint64_t> row) {
        const auto cookie = row[0] == kPairHeader ? words_.index(row[2]) : std::nullopt;
        if (auto text = cookie ? text_of_(*cookie) : std::nullopt) {
            cookies_.add(std::move(*text));
        }
    }

    beam::Vm& vm_;
    const beam::AtomWords& words_;
    Cookies& cookies_;
    std::function<std::optional<std::string>(std::uint32_t)> text_of_;
};

/// Adds the cookies that the node has now: of its command line and environment, and of the process
/// registered as `auth`. kImplausible, kUnmapped: what `auth` holds could not be read, as when it
/// is at work; what was found is added all the same.
Result<void> find_cookies(beam::Vm& vm, beam::CodeLookup& code, Cookies& cookies) {
    ASSIGN_OR_RETURN(auto atoms, beam::AtomReader::open(vm));
    ASSIGN_OR_RETURN(auto words, beam::AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(auto reader, beam::ProcessReader::open(vm, code));
    ASSIGN_OR_RETURN(auto first, read_first_atoms(atoms));
    cookies.set_ordinary(std::move(first.before));
    if (const auto arguments = vm.target().arguments()) {
        cookies.take_arguments(*arguments);
    }
    if (const auto environment = vm.target().environment()) {
        cookies.take_environment(*environment);
    }
    if (!first.auth) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto auth, beam::registered_process(vm, words.word(*first.auth)));
    return auth == 0 ? Result<void>() : AuthReader(vm, atoms, words, cookies).read(auth, reader);
}

}  // namespace

Result<void> CookieFinder::find(beam::Vm& vm, beam::CodeLookup& code, const beam::Moving& moving) {
    auto found = beam::read_steadily(moving, vm, [&] {
        vm.forget();
        return find_cookies(vm, code, cookies_);
    });
    if (!found && found.error().code == ErrorCode::kTargetDied) {
        return found;
    }
    found_ |= found.has_value();
    unread_ = found_ ? std::nullopt : std::optional(found.error());
    return {};
}

std::vector<std::string> CookieFinder::warnings() const {
    std::vector<std::string> warnings;
    if (unread_) {
        warnings.push_back(fmt::format(
            "the cookies of the process auth were not found, and may be in the dump: {}",
            unread_->message));
    }
    if (cookies_.any_weak()) {
        warnings.emplace_back(
            "a cookie of the node is shorter than 4 characters or a word that every node has, and "
            "may be in the dump: treat the dump as a secret");
    }
    return warnings;
}

}  // namespace beamdump::capture
