#include <libdump/crash/import/words/element_parser.h>

#include <charconv>

namespace beamdump::crash {
namespace {

// 255 characters of four bytes at most (atom.h, MAX_ATOM_CHARACTERS).
constexpr std::uint64_t kLongestAtom = 1020;

std::optional<std::int64_t> take_signed(TextCursor& text) {
    constexpr std::size_t kLongestNumber = 24;
    const auto ahead = text.look(kLongestNumber);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(ahead.data(), ahead.data() + ahead.size(), value);
    if (error != std::errc()) {
        return std::nullopt;
    }
    text.skip(static_cast<std::size_t>(end - ahead.data()));
    return value;
}

bool ends_element(char next) {
    return next == ',' || next == '|' || next == ':' || next == '\n' || next == '\r' ||
           next == '\0';
}

}  // namespace

std::optional<std::string> take_atom(TextCursor& text, const TextFormat& format) {
    const auto length = text.take_hex();
    if (!length || *length > kLongestAtom || !text.take(':')) {
        return std::nullopt;
    }
    std::string name;
    while (name.size() < *length) {
        const auto ahead = text.look(2);
        if (ahead.empty()) {
            return std::nullopt;
        }
        text.skip(format.has_returns && ahead.starts_with("\r\n") ? 1 : 0);
        name += text.peek();
        text.skip(1);
    }
    return name;
}

std::optional<ParsedIdentifier> take_identifier(TextCursor& text) {
    constexpr std::size_t kLongestPrefix = 8;
    const auto open = text.look(kLongestPrefix).substr(0, kLongestPrefix).find('<');
    if (open == std::string_view::npos) {
        return std::nullopt;
    }
    text.skip(open + 1);
    ParsedIdentifier numbers;
    const auto channel = text.take_decimal();
    if (!channel || !text.take('.')) {
        return std::nullopt;
    }
    const auto number = text.take_decimal();
    if (!number) {
        return std::nullopt;
    }
    numbers.channel = *channel;
    numbers.number = *number;
    if (text.take('.')) {
        const auto serial = text.take_decimal();
        if (!serial) {
            return std::nullopt;
        }
        numbers.serial = *serial;
    }
    return text.take('>') ? std::optional(numbers) : std::nullopt;
}

std::optional<WordImage::Word> take_element(TextCursor& text, const TextFormat& format,
                                            Names& names) {
    using Word = WordImage::Word;
    const char tag = text.peek();
    if (ends_element(tag)) {
        return Word{format.words.scheme().non_value};
    }
    text.skip(1);
    switch (tag) {
        case 'H': {
            const auto address = text.take_hex();
            const auto place = format.place_of(address.value_or(1));
            return address && is_aligned(place) ? std::optional(Word{place, true}) : std::nullopt;
        }
        case 'N':
            return Word{format.words.nil()};
        case 'I': {
            const auto value = take_signed(text);
            return value && WordMaker::is_small(*value)
                       ? std::optional(Word{format.words.small(*value)})
                       : std::nullopt;
        }
        case 'A': {
            const auto name = take_atom(text, format);
            return name ? std::optional(Word{format.words.atom(names.atom(*name))}) : std::nullopt;
        }
        case 'P': {
            const auto pid = take_identifier(text);
            return pid ? std::optional(Word{format.words.pid(pid->number, pid->serial)})
                       : std::nullopt;
        }
        case 'p': {
            const auto port = take_identifier(text);
            return port ? std::optional(Word{format.words.port(port->number)}) : std::nullopt;
        }
        default:
            return std::nullopt;
    }
}

}  // namespace beamdump::crash
