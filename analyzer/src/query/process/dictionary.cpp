#include "query/process/dictionary.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/process_dictionary.h>

#include <fmt/format.h>

#include <utility>

namespace beamdump::query {

Result<std::unique_ptr<DictionaryListing>> DictionaryListing::open(
    Dump& dump, const std::string& file, std::string_view name, const DictionaryOptions& options) {
    ASSIGN_OR_RETURN(auto process, open_process(dump, name));
    return std::unique_ptr<DictionaryListing>(
        new DictionaryListing(dump, file, std::move(process), options));
}

DictionaryListing::DictionaryListing(Dump& dump, const std::string& file,
                                     std::unique_ptr<OpenedProcess> process,
                                     const DictionaryOptions& options)
    : facts_(query::dump_facts(dump, file)),
      process_(std::move(process)),
      options_(options),
      withheld_(terms_withheld(process_->run, options.sensitive)) {}

std::optional<std::uint64_t> DictionaryListing::entries() const {
    const auto& process = process_->run.process;
    return process.has_dictionary_entries() ? std::optional(process.dictionary_entries())
                                            : std::nullopt;
}

LostEntry lost_entry(TermPrinter& printer, std::uint64_t word) {
    constexpr std::size_t kLongestPlaceholder = 100;
    const auto before = placeholders(printer.statistics());
    auto text = term_text(printer, word, kLongestPlaceholder);
    if (placeholders(printer.statistics()) != before) {
        return {std::move(text), false};
    }
    text.text = fmt::format("#Unreadable<{:#018x}>", word);
    text.cut = false;
    return {std::move(text), true};
}

Result<void> DictionaryListing::each(
    const std::function<void(std::uint64_t, const DictionaryLine&)>& show) {
    // One each, as the key's text may be incomplete when the value's begins.
    TermPrinter keys(process_->context(), process_->scheme);
    TermPrinter values(process_->context(), process_->scheme);
    const auto text = [this](TermPrinter& printer, std::uint64_t word) {
        printer.start(word);
        return drain_in_pieces(printer, options_.term_bytes);
    };
    std::uint64_t index = 0;
    std::uint64_t shown = 0;
    const auto visit = [&](std::uint64_t key, std::uint64_t value) {
        if (index++ < options_.from) {
            return true;
        }
        show(index - 1, {text(keys, key), text(values, value)});
        return ++shown != options_.limit;
    };
    std::uint64_t no_tuples = 0;
    const auto lost = [&](std::uint64_t word) {
        if (index++ < options_.from) {
            return true;
        }
        const auto entry = lost_entry(keys, word);
        no_tuples += entry.is_term ? 1 : 0;
        show(index - 1, {entry.text, entry.text});
        return ++shown != options_.limit;
    };
    auto read = walk_dictionary(process_->context(), process_->run, process_->scheme, visit, lost);
    if (!read) {
        return wrap("reading the dictionary", std::move(read.error()));
    }
    placeholders_ = no_tuples + query::placeholders(keys.statistics()) +
                    query::placeholders(values.statistics());
    return {};
}

}  // namespace beamdump::query
