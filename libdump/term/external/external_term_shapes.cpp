// The parts of ExternalTermPrinter for what has a notation of its own in Elixir, keyword lists and
// structs, and for records whose fields are known.
#include <libdump/term/external_term.h>
#include <libdump/term/term_dialect.h>

namespace beamdump {

/// A pair at `at` whose key is an atom that can be one of a keyword list. `next`: behind it.
bool ExternalTermPrinter::is_keyword_pair(std::uint64_t at, std::uint64_t& next) {
    constexpr std::uint64_t kPairElements = 2;
    const auto pair = read_external_item(reader_, at);
    if (pair.status != ExternalStatus::kHere || pair.kind != ExternalKind::kTuple ||
        pair.count != kPairElements) {
        return false;
    }
    const auto key = read_external_item(reader_, pair.next);
    if (key.status != ExternalStatus::kHere || key.kind != ExternalKind::kAtom) {
        return false;
    }
    const auto name = atoms_.name(key.atom);
    next = key.next;
    return name && is_elixir_keyword(*name) &&
           skip_external(reader_, next, look_ahead_) == ExternalStatus::kHere;
}

bool ExternalTermPrinter::is_keyword_list(const ExternalItem& first) {
    ExternalItem list = first;
    while (list.status == ExternalStatus::kHere && list.kind == ExternalKind::kList) {
        auto at = list.next;
        for (std::uint64_t i = 0; i < list.count; ++i) {
            if (!is_keyword_pair(at, at)) {
                return false;
            }
        }
        list = read_external_item(reader_, at);
    }
    return list.status == ExternalStatus::kHere && list.kind == ExternalKind::kNil;
}

/// The next element of a keyword list. False: it is none, and nothing was printed.
bool ExternalTermPrinter::print_keyword_pair() {
    const auto pair = read_external_item(reader_, at_);
    if (pair.status != ExternalStatus::kHere || pair.kind != ExternalKind::kTuple) {
        return false;
    }
    const auto key = read_external_item(reader_, pair.next);
    const auto name = key.status == ExternalStatus::kHere && key.kind == ExternalKind::kAtom
                          ? atoms_.name(key.atom)
                          : std::nullopt;
    if (!name) {
        return false;
    }
    buffer_.put(elixir_key(*name));
    buffer_.put(' ');
    at_ = key.next;
    print();
    return true;
}

/// Looks at the keys of a map, as far as looking ahead reaches.
ExternalTermPrinter::MapShape ExternalTermPrinter::map_shape(const ExternalItem& item) {
    MapShape shape;
    auto at = item.next;
    for (std::uint64_t pair = 0; pair < item.count; ++pair) {
        const auto key = read_external_item(reader_, at);
        if (key.status != ExternalStatus::kHere || key.kind != ExternalKind::kAtom) {
            return {};
        }
        const auto name = atoms_.name(key.atom);
        if (!name || !is_elixir_keyword(*name)) {
            return {};
        }
        at = key.next;
        if (*name == "__struct__") {
            const auto value = read_external_item(reader_, at);
            const auto module =
                value.status == ExternalStatus::kHere && value.kind == ExternalKind::kAtom
                    ? atoms_.name(value.atom)
                    : std::nullopt;
            if (module && is_elixir_alias(*module)) {
                shape.structure = elixir_atom(*module);
            }
        }
        if (skip_external(reader_, at, look_ahead_) != ExternalStatus::kHere) {
            return {};
        }
    }
    shape.keyword = item.count != 0;
    return shape;
}

/// Whether the key that follows is one of a struct's that is not printed; `at_` is then behind its
/// value.
bool ExternalTermPrinter::hides_next() {
    const auto key = read_external_item(reader_, at_);
    const auto name = atoms_.name(key.atom);
    if (!name || !is_hidden_field(*name)) {
        return false;
    }
    at_ = key.next;
    auto items = reader_.size();
    return skip_external(reader_, at_, items) == ExternalStatus::kHere;
}

void ExternalTermPrinter::print_key(const Frame& frame) {
    const auto key = read_external_item(reader_, at_);
    const bool atom = key.status == ExternalStatus::kHere && key.kind == ExternalKind::kAtom;
    const auto name = atom && frame.keyword ? atoms_.name(key.atom) : std::nullopt;
    if (name) {
        at_ = key.next;
        buffer_.put(elixir_key(*name));
    } else if (atom && frame.record) {
        at_ = key.next;
        print_atom(key.atom, false);
    } else {
        print(key);
    }
}

/// A tuple that is a record whose fields are known.
bool ExternalTermPrinter::print_named_tuple(const ExternalItem& item) {
    const auto tag = read_external_item(reader_, item.next);
    if (item.count == 0 || tag.status != ExternalStatus::kHere || tag.kind != ExternalKind::kAtom) {
        return false;
    }
    const auto name = atoms_.name(tag.atom);
    const auto* fields = name ? style_.records->find(*name, item.count) : nullptr;
    if (fields == nullptr) {
        return false;
    }
    at_ = tag.next;
    buffer_.put('#');
    print_atom(tag.atom, false);
    buffer_.open("{");
    frames_.push_back({.left = fields->size(), .kind = FrameKind::kTuple, .named = true});
    open_records_.push_back(fields);
    return true;
}

}  // namespace beamdump
