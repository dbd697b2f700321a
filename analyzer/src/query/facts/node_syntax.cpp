#include "query/facts/node_syntax.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/elixir_text.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace beamdump::query {

namespace {

constexpr std::string_view kQuotedAlias = "'Elixir.";

/// The next alias from `from` on that is not within a text in double quotes: what a node's text
/// says stays as it is. npos: there is none.
std::size_t alias_outside_texts(std::string_view text, std::size_t from) {
    bool in_text = false;
    for (auto at = from; at < text.size(); ++at) {
        if (text[at] == '"') {
            in_text = !in_text;
        } else if (in_text) {
            at += text[at] == '\\' ? 1 : 0;
        } else if (text.substr(at).starts_with(kQuotedAlias)) {
            return at;
        }
    }
    return std::string_view::npos;
}

}  // namespace

Result<TermSyntax> syntax_of_node(Dump& dump) {
    // Where a crash dump lacks its sections of modules, stacks alone would tell, so that each
    // process had its own syntax.
    if (is_of_crash_dump(dump) && !dump.trailer().totals().has_modules()) {
        return TermSyntax::kErlang;
    }
    ASSIGN_OR_RETURN(const auto* instances, dump.code().instances());
    std::vector<std::uint32_t> names;
    for (const auto& instance : *instances) {
        names.push_back(instance.name_atom);
    }
    std::ranges::sort(names);  // so that each page of atoms is read once
    for (const std::uint32_t name : names) {
        ASSIGN_OR_RETURN(const auto text, dump.atoms().find(name));
        if (text == "elixir") {
            return TermSyntax::kElixir;
        }
    }
    return TermSyntax::kErlang;
}

bool NodeNames::elixir() const {
    if (!elixir_) {
        const auto& style = dump_->term_style();
        elixir_ = (style ? style->syntax : syntax_of_node(*dump_).value_or(TermSyntax::kErlang)) ==
                  TermSyntax::kElixir;
    }
    return *elixir_;
}

std::string NodeNames::shown(const std::string& name) const {
    if (dump_ == nullptr || !name.contains(kQuotedAlias) || !elixir()) {
        return name;
    }
    // Of a supervisor the initial call has its module in place of the function.
    return name.starts_with(kQuotedAlias) ? elixir_name(name) : sentence(name);
}

std::string NodeNames::sentence(const std::string& text) const {
    if (dump_ == nullptr || !text.contains(kQuotedAlias) || !elixir()) {
        return text;
    }
    std::string shown;
    std::size_t done = 0;
    for (auto at = alias_outside_texts(text, 0); at != std::string::npos;
         at = alias_outside_texts(text, done)) {
        auto end = text.find('\'', at + 1);
        if (end == std::string::npos) {
            break;
        }
        ++end;
        // A function's name and arity follow up to the first that is no digit behind the slash.
        const auto slash = text.find('/', end);
        const auto space = std::min(text.find(' ', end), text.size());
        if (end < text.size() && text[end] == ':' && slash < space) {
            end = std::min(text.find_first_not_of("0123456789", slash + 1), text.size());
        }
        shown += text.substr(done, at - done) + elixir_name(text.substr(at, end - at));
        done = end;
    }
    return shown + text.substr(done);
}

}  // namespace beamdump::query
