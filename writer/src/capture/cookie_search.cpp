#include "capture/cookie_search.h"

#include "beam/process.h"
#include "beam/process_table.h"

#include <optional>

namespace beamdump::capture {
namespace {

/// auth holds a name and a table: more than this is no heap of its.
constexpr std::uint64_t kAuthHeapWords = 1U << 20U;

Result<beam::Address> registered_as(beam::Vm& vm, std::string_view name, beam::AtomReader& atoms,
                                    const beam::AtomWords& words) {
    // The kernel's names are among the first atoms of any node.
    for (std::uint32_t index = 0; index < atoms.count(); ++index) {
        auto text = atoms.text(index);
        if (!text) {
            return std::unexpected(text.error());
        }
        if (*text == name) {
            return beam::registered_process(vm, words.word(index));
        }
    }
    return beam::Address{0};
}

}  // namespace

Result<FoundCookies> find_cookies(beam::Vm& vm, beam::CodeLookup& code) {
    FoundCookies found;
    if (auto arguments = vm.target().arguments()) {
        found.arguments = std::move(*arguments);
        found.cookies.take_arguments(found.arguments);
    }
    auto atoms = beam::AtomReader::open(vm);
    auto words = beam::AtomWords::resolve(vm.layout());
    auto reader = beam::ProcessReader::open(vm, code);
    if (!atoms || !words || !reader) {
        return std::unexpected(!atoms ? atoms.error() : !words ? words.error() : reader.error());
    }
    auto auth = registered_as(vm, "auth", *atoms, *words);
    if (!auth) {
        return std::unexpected(auth.error());
    }
    if (*auth == 0) {
        return found;
    }
    auto raw = beam::OwnedStruct::read(vm.memory(), *auth, reader->bytes());
    if (!raw) {
        return std::unexpected(raw.error());
    }
    const auto heap = reader->heap_of(raw->view());
    const auto text_of = [&](std::uint32_t index) -> std::optional<std::string> {
        auto text = atoms->text(index);
        return text ? std::optional(*text) : std::nullopt;
    };
    for (const auto& span : {heap.young, heap.old}) {
        if (span.words() > kAuthHeapWords) {
            continue;
        }
        if (auto part = beam::read_words(vm.bulk(), span.begin, span.words())) {
            found.cookies.take_auth_heap(*part, *words, text_of);
        }
    }
    return found;
}

}  // namespace beamdump::capture
