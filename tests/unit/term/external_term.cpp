#include "external_term.h"

#include <array>
#include <stdexcept>

namespace beamdump::testing {

namespace {

using Word = std::uint64_t;

class Decoder {
  public:
    Decoder(FakeTermContext& context, TermBuilder& builder, std::string_view bytes)
        : context_(context), builder_(builder), bytes_(bytes) {}

    Word term() {
        const unsigned tag = integer(1);
        switch (tag) {
            case 97:  // SMALL_INTEGER_EXT
                return TermBuilder::small(integer(1));
            case 98:  // INTEGER_EXT
                return TermBuilder::small(static_cast<std::int32_t>(integer(4)));
            case 70:  // NEW_FLOAT_EXT
                return builder_.floating(std::bit_cast<double>(integer64()));
            case 110:  // SMALL_BIG_EXT
                return big(integer(1));
            case 111:  // LARGE_BIG_EXT
                return big(integer(4));
            case 106:
                return TermBuilder::nil();
            case 107:  // STRING_EXT
                return builder_.string(take(integer(2)));
            case 108:
                return list();
            case 104:
                return builder_.tuple(terms(integer(1)));
            case 105:
                return builder_.tuple(terms(integer(4)));
            case 116:
                return map();
            case 109:
                return binary(take(integer(4)));
            case 77:
                return bit_string();
            case 100:  // ATOM_EXT, Latin-1
                return builder_.atom(from_latin1(take(integer(2))));
            case 115:  // SMALL_ATOM_EXT
                return builder_.atom(from_latin1(take(integer(1))));
            case 118:
                return builder_.atom(take(integer(2)));
            case 119:
                return builder_.atom(take(integer(1)));
            case 88:
                return pid();
            case 89:
                return port();
            case 90:
                return reference();
            case 112:
                return fun();
            case 113:
                return export_fun();
            default:
                throw std::runtime_error(fmt::format("external tag {}", tag));
        }
    }

  private:
    std::string_view take(std::size_t count) {
        if (count > bytes_.size()) {
            throw std::runtime_error("external term is cut short");
        }
        const auto taken = bytes_.substr(0, count);
        bytes_.remove_prefix(count);
        return taken;
    }
    std::uint32_t integer(std::size_t count) {
        std::uint32_t value = 0;
        for (const char c : take(count)) {
            value = value << 8U | static_cast<unsigned char>(c);
        }
        return value;
    }
    std::uint64_t integer64() {
        const std::uint64_t high = integer(4);
        return high << 32U | integer(4);
    }
    static std::string from_latin1(std::string_view latin1) {
        std::string utf8;
        for (const char c : latin1) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte < 0x80) {
                utf8.push_back(c);
            } else {
                utf8.push_back(static_cast<char>(0xC0U | byte >> 6U));
                utf8.push_back(static_cast<char>(0x80U | (byte & 0x3FU)));
            }
        }
        return utf8;
    }
    std::vector<Word> terms(std::size_t count) {
        std::vector<Word> all;
        all.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(term());
        }
        return all;
    }
    std::string atom_name() { return context_.atoms.at(term() >> 6U); }

    Word big(std::size_t bytes) {
        const bool negative = integer(1) != 0;
        std::vector<Word> magnitude((bytes + 7) / 8);
        const auto digits = take(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            magnitude[i / 8] |= Word{static_cast<unsigned char>(digits[i])} << (8 * (i % 8));
        }
        const bool fits = magnitude.size() == 1 && magnitude[0] < (Word{1} << 59U);
        if (fits) {
            const auto value = static_cast<std::int64_t>(magnitude[0]);
            return TermBuilder::small(negative ? -value : value);
        }
        if (negative && magnitude.size() == 1 && magnitude[0] == (Word{1} << 59U)) {
            return TermBuilder::small(-(std::int64_t{1} << 59U));
        }
        return builder_.big(magnitude, negative);
    }
    Word list() {
        const auto elements = terms(integer(4));
        return builder_.list(elements, term());
    }
    Word map() {
        std::vector<std::pair<Word, Word>> pairs;
        const std::size_t count = integer(4);
        if (count > otp25::kMaxFlatMapSize) {
            throw std::runtime_error("external format has no nodes of large maps");
        }
        for (std::size_t i = 0; i < count; ++i) {
            const Word key = term();
            pairs.emplace_back(key, term());
        }
        return builder_.flat_map(pairs);
    }
    Word binary(std::string_view content) {
        return content.size() <= 64 ? builder_.heap_binary(content) : builder_.refc_binary(content);
    }
    Word bit_string() {
        const std::size_t bytes = integer(4);
        const unsigned bits = integer(1);
        return builder_.sub_binary(binary(take(bytes)), 0, bytes - 1, 0, bits);
    }
    Word pid() {
        term();
        const Word number = integer(4);
        const Word serial = integer(4);
        integer(4);
        return TermBuilder::pid(number, serial);
    }
    Word port() {
        term();
        const Word number = integer(4);
        integer(4);
        return TermBuilder::port(number);
    }
    Word reference() {
        const std::size_t count = integer(2);
        term();
        integer(4);
        std::array<std::uint32_t, 3> numbers{};
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t number = integer(4);
            if (i < numbers.size()) {
                numbers[i] = number;
            }
        }
        // A process alias looks the same in this format but for one bit (erl_bif_unique.h,
        // ERTS_REF1_PID_MARKER_BIT__); on its own node it is the larger kind.
        constexpr std::uint32_t kAliasBit = 1U << 16U;
        return (numbers[1] & kAliasBit) == 0
                   ? builder_.reference(numbers)
                   : builder_.pid_reference(numbers, TermBuilder::pid(1, 0));
    }
    Word fun() {
        integer(4);
        integer(1);
        take(16);
        integer(4);
        const std::size_t free = integer(4);
        const std::string module = atom_name();
        const std::int64_t index = small_value(term());
        const std::int64_t uniq = small_value(term());
        term();
        return builder_.local_fun(module, static_cast<std::uint32_t>(index),
                                  static_cast<std::int32_t>(uniq), terms(free));
    }
    Word export_fun() {
        const std::string module = atom_name();
        const std::string name = atom_name();
        return builder_.export_fun(module, name, static_cast<std::uint32_t>(small_value(term())));
    }

    FakeTermContext& context_;
    TermBuilder& builder_;
    std::string_view bytes_;
};

}  // namespace

std::uint64_t build_external(FakeTermContext& context, TermBuilder& builder,
                             std::string_view bytes) {
    if (bytes.empty() || bytes.front() != '\x83') {
        throw std::runtime_error("not external term format");
    }
    return Decoder(context, builder, bytes.substr(1)).term();
}

std::string decode_base64(std::string_view text) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const auto digit = kDigits.find(c);
        if (digit == std::string_view::npos) {
            break;
        }
        bits = bits << 6U | static_cast<std::uint32_t>(digit);
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes.push_back(static_cast<char>(bits >> held));
        }
    }
    return bytes;
}

}  // namespace beamdump::testing
