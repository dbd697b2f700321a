// The parts of ExternalTermPrinter that look ahead, and those that print terms without parts.

#include <libdump/term/big_integer.h>
#include <libdump/term/external_term.h>
#include <libdump/term/printable.h>
#include <libdump/term/term_dialect.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

constexpr std::uint64_t kLocalReferenceNumbers = 3;

}  // namespace

void ExternalTermPrinter::put_string_character(char character) {
    if (dialect_->elixir) {
        const auto octet = static_cast<std::uint8_t>(character);
        buffer_.put_characters(std::span(&octet, 1));
        return;
    }
    if (character == '\n') {
        buffer_.put("\\n");
        return;
    }
    if (character == '"') {
        buffer_.put('\\');
    }
    buffer_.put(character);
}

void ExternalTermPrinter::print_big(const ExternalItem& item) {
    std::vector<std::uint64_t> magnitude;
    std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
    for (std::uint64_t at = 0; at < item.count; at += bytes.size()) {
        bytes = {};
        const auto wanted = std::min<std::uint64_t>(bytes.size(), item.count - at);
        if (reader_.copy(item.content + at, std::span(bytes).first(wanted)) < wanted) {
            mark(ExternalStatus::kAbsent, item.content + at);
            return;
        }
        std::uint64_t word = 0;
        for (std::size_t i = bytes.size(); i-- > 0;) {
            word = word << 8U | bytes.at(i);
        }
        magnitude.push_back(word);
    }
    buffer_.put(decimal(magnitude, item.negative));
}

void ExternalTermPrinter::print_atom(const ExternalAtom& atom, bool elixir) {
    if (const auto text = elixir ? atoms_.name(atom) : atoms_.quoted(atom)) {
        buffer_.put(elixir ? elixir_atom(*text) : *text);
    } else if (atom.cached) {
        ++statistics_.absent;
        buffer_.put("#Absent<atom ");
        buffer_.put_unsigned(*atom.cached);
        buffer_.put('>');
    } else {
        std::uint8_t last = 0;
        const auto status = reader_.byte(atom.at + atom.bytes - 1, last);
        if (status != ExternalStatus::kHere) {
            fail(status, atom.at);
            return;
        }
        // Too long for an atom, but what follows it is known.
        mark(ExternalStatus::kMalformed, atom.at);
    }
}

void ExternalTermPrinter::print_channel(const ExternalAtom& node) {
    if (const auto channel = atoms_.channel(node)) {
        buffer_.put_unsigned(*channel);
    } else {
        ++statistics_.absent;
        buffer_.put('?');
    }
}

void ExternalTermPrinter::print_identifier(const ExternalItem& item) {
    buffer_.put(item.kind == ExternalKind::kPid    ? dialect_->pid
                : item.kind == ExternalKind::kPort ? "#Port<"
                                                   : dialect_->ref);
    print_channel(item.atom);
    if (item.kind == ExternalKind::kReference) {
        // The node's own references have three numbers, whatever was sent.
        const auto count = atoms_.channel(item.atom) == 0
                               ? std::max(item.count, kLocalReferenceNumbers)
                               : item.count;
        for (auto i = count; i-- > 0;) {
            buffer_.put('.');
            buffer_.put_unsigned(item.numbers.at(i));
        }
    } else {
        buffer_.put('.');
        buffer_.put_unsigned(item.numbers[0]);
    }
    if (item.kind == ExternalKind::kPid) {
        buffer_.put('.');
        buffer_.put_unsigned(item.numbers[1]);
    }
    buffer_.put('>');
}

void ExternalTermPrinter::print_fun_name(const ExternalItem& item) {
    if (dialect_->elixir) {
        // The format does not have the name of the function that it was written in.
        buffer_.put_fun_head(item.value, item.uniq, item.count);
        print_atom(item.atom, true);
        buffer_.put('>');
        return;
    }
    buffer_.put("#Fun<");
    if (const auto module = atoms_.name(item.atom)) {
        buffer_.put(*module);
    } else {
        print_atom(item.atom, false);
    }
    buffer_.put('.');
    buffer_.put_signed(item.value);
    buffer_.put('.');
    buffer_.put_signed(item.uniq);
    buffer_.put('>');
}

void ExternalTermPrinter::print_fun(const ExternalItem& item) {
    if (item.kind == ExternalKind::kExport) {
        buffer_.put(dialect_->elixir ? "&" : "fun ");
        print_atom(item.atom, dialect_->elixir);
        buffer_.put(dialect_->elixir ? '.' : ':');
        const auto name = atoms_.name(item.name);
        if (dialect_->elixir && name) {
            buffer_.put(elixir_function(*name));
        } else {
            print_atom(item.name, false);
        }
        buffer_.put('/');
        buffer_.put_unsigned(item.count);
        return;
    }
    print_fun_name(item);
    // Its creator and its free variables are not printed. No term has more items than bytes.
    auto items = reader_.size();
    for (std::uint64_t part = 0; part < item.parts; ++part) {
        const auto status = skip_external(reader_, at_, items);
        if (status != ExternalStatus::kHere) {
            fail(status, at_);
            return;
        }
    }
}

bool ExternalTermPrinter::is_in_string(std::uint64_t character) const {
    return dialect_->elixir ? is_charlist_character(character) : is_string_character(character);
}

/// Whether all elements of a list are printable characters, so that it prints as a string.
bool ExternalTermPrinter::is_printable_string(const ExternalItem& first) {
    ExternalItem list = first;
    for (;;) {
        const bool characters = list.kind == ExternalKind::kString;
        auto at = characters ? list.content : list.next;
        for (std::uint64_t i = 0; i < list.count; ++i) {
            std::uint8_t byte = 0;
            if (characters) {
                if (reader_.byte(at, byte) != ExternalStatus::kHere || !is_in_string(byte)) {
                    return false;
                }
                ++at;
                continue;
            }
            const auto item = read_external_item(reader_, at);
            if (item.status != ExternalStatus::kHere || item.kind != ExternalKind::kInteger ||
                item.value < 0 || item.value > 255 ||
                !is_in_string(static_cast<std::uint64_t>(item.value))) {
                return false;
            }
            at = item.next;
        }
        if (characters) {
            return true;
        }
        list = read_external_item(reader_, at);
        if (list.status != ExternalStatus::kHere) {
            return false;
        }
        if (list.kind != ExternalKind::kList && list.kind != ExternalKind::kString) {
            return list.kind == ExternalKind::kNil;
        }
    }
}

}  // namespace beamdump
