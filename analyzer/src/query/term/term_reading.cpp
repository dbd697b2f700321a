#include "query/term/term_reading.h"

#include <libdump/base/return_if_error.h>

#include <utility>

namespace beamdump::query {

TermReading::TermReading(Dump& dump, const std::string& file,
                         std::shared_ptr<OpenedProcess> process, const TermQuery& query)
    : dump_(dump),
      facts_(query::dump_facts(dump, file)),
      process_(std::move(process)),
      query_(query),
      withheld_(terms_withheld(process_->run, query.sensitive)),
      space_({.max_memory_bytes = query.limits.memory,
              .max_file_bytes = query.limits.temporary_bytes()}),
      finder_(process_->context(), process_->scheme),
      printer_(process_->context(), process_->scheme),
      sizer_(process_->scheme, finder_.reader(), &space_) {}

Result<std::unique_ptr<TermReading>> TermReading::open(Dump& dump, const std::string& file,
                                                       std::string_view process,
                                                       const TermQuery& query) {
    ASSIGN_OR_RETURN(auto opened, open_process(dump, process));
    std::unique_ptr<TermReading> reading(new TermReading(dump, file, std::move(opened), query));
    if (reading->withheld_ == Withheld::kNo && !query.path.empty()) {
        RETURN_IF_ERROR(reading->find());
    }
    return reading;
}

Result<void> TermReading::find() {
    std::string_view rest = query_.path;
    ASSIGN_OR_RETURN(root_, find_root(dump_, *process_, finder_, rest));
    finder_.forget();
    path_ = {root_->text};
    ASSIGN_OR_RETURN(auto found, finder_.follow(root_->word, root_->text, rest));
    word_ = found.word;
    path_.insert(path_.end(), found.steps.begin(), found.steps.end());
    ASSIGN_OR_RETURN(term_, line_of(word_, path_.back()));
    return {};
}

std::optional<std::uint64_t> TermReading::count_of(std::uint64_t word, std::string_view kind) {
    if (kind != "list" && kind != "tuple" && kind != "map" && kind != "fun" &&
        kind != "native_record") {
        return std::nullopt;
    }
    std::uint64_t count = 0;
    const bool whole = query::each_part(process_->scheme, finder_.reader(), word, Parts::kShown,
                                        [&count](const TermPart&) {
                                            ++count;
                                            return true;
                                        });
    return whole ? std::optional(count) : std::nullopt;
}

Result<TermPartLine> TermReading::line_of(std::uint64_t word, std::string step) {
    TermPartLine line;
    line.step = std::move(step);
    line.kind = term_kind_text(process_->scheme, finder_.reader(), word);
    line.count = count_of(word, line.kind);
    ASSIGN_OR_RETURN(line.sizes, sizer_.sizes(word));
    unreadable_ += line.sizes.unreadable;
    return line;
}

/// The name of an element of a record whose fields are known.
std::optional<std::string> TermReading::field_of(std::uint64_t whole, const TermPart& part) {
    const auto fields = finder_.fields_of(whole);
    return fields != nullptr && part.step.kind == WalkLevel::Kind::kTuple && part.step.index != 0
               ? std::optional(fields->at(part.step.index - 1))
               : std::nullopt;
}

Result<void> TermReading::visit_part(std::uint64_t word, TermPartLine line,
                                     const Visitor& visitor) {
    line.text = term_text(printer_, word, query_.part_bytes);
    visitor.begin(line);
    std::uint64_t omitted = 0;
    if (line.depth < query_.depth) {
        ASSIGN_OR_RETURN(omitted, parts_of(word, line.depth + 1, visitor));
    }
    visitor.end(line, omitted);
    return {};
}

Result<std::uint64_t> TermReading::parts_of(std::uint64_t word, std::uint64_t depth,
                                            const Visitor& visitor) {
    std::uint64_t seen = 0;
    Result<void> failed;
    query::each_part(process_->scheme, finder_.reader(), word, Parts::kShown,
                     [&](const TermPart& part) {
                         if (query_.limit != 0 && seen >= query_.limit) {
                             ++seen;
                             return true;
                         }
                         ++seen;
                         auto line = line_of(part.word, finder_.step_text(part.step));
                         if (!line) {
                             failed = std::unexpected(std::move(line.error()));
                             return false;
                         }
                         line->field = field_of(word, part);
                         line->depth = depth;
                         failed = visit_part(part.word, std::move(*line), visitor);
                         return failed.has_value();
                     });
    RETURN_IF_ERROR(std::move(failed));
    return query_.limit != 0 && seen > query_.limit ? seen - query_.limit : 0;
}

Result<std::uint64_t> TermReading::each_part(const Visitor& visitor) {
    if (withheld_ != Withheld::kNo) {
        return 0;
    }
    if (term_) {
        return parts_of(word_, 1, visitor);
    }
    std::uint64_t roots = 0;
    RETURN_IF_ERROR(visit_roots(
        dump_, *process_,
        [&](const HeapRoot& root) -> Result<void> {
            if (query_.limit != 0 && roots++ >= query_.limit) {
                return {};
            }
            // Messages may have different words at the same addresses.
            finder_.forget();
            printer_.forget();
            ASSIGN_OR_RETURN(auto line, line_of(root.word, root_name(root, finder_)));
            line.depth = 1;
            return visit_part(root.word, std::move(line), visitor);
        },
        RootWords::kAll));
    return query_.limit != 0 && roots > query_.limit ? roots - query_.limit : 0;
}

TermPrinter& TermReading::start_text() {
    printer_.forget();
    printer_.start(word_);
    return printer_;
}

}  // namespace beamdump::query
