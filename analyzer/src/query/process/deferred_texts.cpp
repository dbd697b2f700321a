#include "query/process/deferred_texts.h"

#include <libdump/base/return_if_error.h>

#include <utility>

namespace beamdump::query {

std::shared_ptr<DeferredTexts> DeferredTexts::make(Dump& dump,
                                                   std::shared_ptr<OpenedProcess> process,
                                                   std::size_t max_bytes) {
    return std::shared_ptr<DeferredTexts>(new DeferredTexts(dump, std::move(process), max_bytes));
}

DeferredTexts::DeferredTexts(Dump& dump, std::shared_ptr<OpenedProcess> process,
                             std::size_t max_bytes)
    : process_(std::move(process)),
      max_bytes_(max_bytes),
      printer_(process_->context(), process_->scheme),
      messages_(dump, *process_),
      walker_(dump.reader(), process_->run) {}

std::size_t DeferredTexts::held() const {
    const std::size_t room = std::clamp(left_, kLeastHeld, kHeldText);
    return max_bytes_ == 0 ? room : std::min(max_bytes_, room);
}

TermText DeferredTexts::word(std::uint64_t word, std::optional<std::uint64_t> message) {
    const auto before = placeholders();
    return with_rest(term_text(printer_, word, held()), {message, word}, before);
}

Result<TermText> DeferredTexts::message(const records::Message& entry, std::uint64_t index) {
    const auto before = placeholders();
    auto text = messages_.text(entry, held());
    return text ? with_rest(std::move(*text), {index, std::nullopt}, before) : std::move(text);
}

TermText DeferredTexts::with_rest(TermText text, Source source, std::uint64_t placeholders_before) {
    if (text.cut && held() != max_bytes_) {
        text.cut = false;
        text.more = [self = shared_from_this(), source, from = text.text.size(),
                     counted = placeholders() - placeholders_before](const TextSink& sink) {
            self->counted_twice_ += counted;
            auto cut = self->give_rest(source, from, sink);
            self->process_->context().set_message(nullptr);
            self->failed_ += cut ? 0 : 1;
            return cut.value_or(true);
        };
    }
    left_ -= std::min(left_, text.text.size());
    return text;
}

Result<bool> DeferredTexts::give_rest(Source source, std::size_t from, const TextSink& sink) {
    const records::Message* entry = nullptr;
    if (source.message) {
        walker_.seek(*source.message);
        ASSIGN_OR_RETURN(auto found, walker_.next());
        entry = found;
    }
    TermText text;
    if (source.word) {
        process_->context().set_message(entry);
        printer_.forget();
        printer_.start(*source.word);
        text = drain_in_pieces(printer_, max_bytes_);
    } else if (entry != nullptr) {
        ASSIGN_OR_RETURN(auto printed, messages_.text_in_pieces(*entry, max_bytes_));
        text = std::move(printed);
    }
    const auto rest = std::string_view(text.text).substr(std::min(from, text.text.size()));
    if (!sink(rest)) {
        return true;
    }
    return text.more ? text.more(sink) : text.cut;
}

std::uint64_t DeferredTexts::placeholders() const {
    return query::placeholders(printer_.statistics()) + messages_.placeholders() - counted_twice_ +
           failed_;
}

}  // namespace beamdump::query
