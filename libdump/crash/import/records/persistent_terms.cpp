#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/records/persistent_terms.h>
#include <libdump/crash/import/words/word_regions.h>
#include <libdump/write/append.h>

namespace beamdump::crash {
namespace {

constexpr int kTermsOfAPage = 4096;

bool take_term(TextCursor& text, NodeTerms& terms, records::PersistentTerm& term) {
    const Objects objects{terms.literals, terms.literals, terms.names};
    const auto key = take_element(text, terms.format, terms.names);
    if (!key || !text.take('|')) {
        return false;
    }
    const auto value = take_element(text, terms.format, terms.names);
    if (!value || !text.take_line_end()) {
        return false;
    }
    term.set_key_word(final_word(*key, objects, terms.format.words));
    term.set_value_word(final_word(*value, objects, terms.format.words));
    return true;
}

}  // namespace

Result<void> write_persistent_terms(const CrashDump& dump, NodeTerms& terms, DumpWriter& writer,
                                    records::Trailer& trailer) {
    if (!dump.persistent_terms()) {
        return {};
    }
    TextCursor text(dump.text(), dump.persistent_terms()->begin, dump.persistent_terms()->end);
    records::PersistentTerms page;
    page.set_first_index(0);
    std::uint64_t malformed = 0;
    const auto flush = [&]() -> Result<void> {
        const auto next = page.first_index() + static_cast<std::uint64_t>(page.term_size());
        RETURN_IF_ERROR(append_noted(writer, format::RecordKind::kPersistentTerms, page,
                                     *trailer.mutable_persistent_terms_offset()));
        page.Clear();
        page.set_first_index(next);
        return {};
    };
    while (!text.at_end()) {
        RETURN_IF_ERROR(terms.names.check());
        records::PersistentTerm term;
        if (!take_term(text, terms, term)) {
            ++malformed;
            text.skip_line();
            continue;
        }
        *page.add_term() = std::move(term);
        if (page.term_size() >= kTermsOfAPage) {
            RETURN_IF_ERROR(flush());
        }
    }
    if (text.error()) {
        return std::unexpected(*text.error());
    }
    page.set_last(true);
    page.set_unreadable(malformed);
    return flush();
}

}  // namespace beamdump::crash
