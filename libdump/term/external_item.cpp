#include <libdump/term/external_item.h>
#include <libdump/term/external_tags.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace beamdump {

namespace {

namespace tags = external_tag;

constexpr std::uint64_t kFloatTextBytes = 31;
constexpr std::uint64_t kMaxReferenceNumbers = 5;  // ERTS_MAX_REF_NUMBERS
constexpr std::uint64_t kFunUniqBytes = 16;
/// The VM refuses larger big integers (big.h, BIG_ARITY_MAX words).
constexpr std::uint64_t kMaxBigBytes = ((std::uint64_t{1} << 19U) - 1) * 8;
/// A list without elements is its tail, and that may be such a list again.
constexpr unsigned kMaxEmptyLists = 64;
/// A small has 60 bits (erl_term.h).
constexpr std::uint64_t kSmallLimit = std::uint64_t{1} << 59U;

/// Reads one item, field after field. After a failure every further read fails, too.
class ItemParser {
  public:
    ItemParser(ExternalReader& reader, std::uint64_t at) : reader_(reader), at_(at) {
        item_.at = at;
    }

    ExternalItem parse() {
        item_.status = ExternalStatus::kHere;
        const auto tag = field(1);
        if (ok()) {
            by_tag(tag);
        }
        item_.next = at_;
        if (ok() && item_.parts > reader_.size() - at_) {
            malformed();
        }
        return item_;
    }

  private:
    [[nodiscard]] bool ok() const { return item_.status == ExternalStatus::kHere; }
    void malformed() { item_.status = ExternalStatus::kMalformed; }

    std::uint64_t field(unsigned bytes) {
        std::uint64_t value = 0;
        if (ok()) {
            item_.status = reader_.number(at_, bytes, value);
            at_ += bytes;
        }
        return ok() ? value : 0;
    }

    /// Skips bytes of the item; returns their position.
    std::uint64_t content(std::uint64_t bytes) {
        const auto begin = at_;
        if (ok() && bytes > reader_.size() - at_) {
            malformed();
        }
        at_ += ok() ? bytes : 0;
        return begin;
    }

    void container(ExternalKind kind, std::uint64_t count, std::uint64_t parts) {
        item_.kind = kind;
        item_.count = count;
        item_.parts = parts;
    }

    void by_tag(std::uint64_t tag) {
        switch (tag) {
            case tags::kSmallTuple:
            case tags::kLargeTuple: {
                const auto arity = field(tag == tags::kSmallTuple ? 1 : 4);
                return container(ExternalKind::kTuple, arity, arity);
            }
            case tags::kNil:
                item_.kind = ExternalKind::kNil;
                return;
            case tags::kList: {
                const auto count = field(4);
                return container(ExternalKind::kList, count, count + 1);
            }
            case tags::kMap: {
                const auto pairs = field(4);
                return container(ExternalKind::kMap, pairs, 2 * pairs);
            }
            case tags::kRecord:
                return record();
            case tags::kString:
                return bytes(ExternalKind::kString, field(2));
            case tags::kBinary:
                return bytes(ExternalKind::kBinary, field(4));
            case tags::kBitBinary:
                return bit_binary();
            default:
                return by_simple_tag(tag);
        }
    }

    void by_simple_tag(std::uint64_t tag) {
        switch (tag) {
            case tags::kSmallInteger:
                return integer(static_cast<std::int64_t>(field(1)));
            case tags::kInteger:
                return integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(field(4))));
            case tags::kSmallBig:
                return big(field(1));
            case tags::kLargeBig:
                return big(field(4));
            case tags::kNewFloat:
                return floating(std::bit_cast<double>(field(8)));
            case tags::kFloat:
                return float_text();
            case tags::kPid:
            case tags::kNewPid:
                return pid(tag == tags::kPid ? 1 : 4);
            case tags::kPort:
                return port(4, 1);
            case tags::kNewPort:
                return port(4, 4);
            case tags::kV4Port:
                return port(8, 4);
            case tags::kReference:
                return old_reference();
            case tags::kNewReference:
                return reference(1);
            case tags::kNewerReference:
                return reference(4);
            case tags::kNewFun:
                return fun();
            case tags::kExport:
                return export_fun();
            default:
                --at_;
                item_.kind = ExternalKind::kAtom;
                item_.atom = atom();
        }
    }

    void bytes(ExternalKind kind, std::uint64_t count) {
        item_.kind = kind;
        item_.count = count;
        item_.content = content(count);
    }

    void bit_binary() {
        const auto count = field(4);
        const auto bits = field(1);
        if (ok() && ((bits == 0) != (count == 0) || bits > 8)) {
            malformed();
        }
        item_.last_bits = count == 0 ? 8 : static_cast<std::uint8_t>(bits);
        bytes(ExternalKind::kBinary, count);
    }

    void integer(std::int64_t value) {
        item_.kind = ExternalKind::kInteger;
        item_.value = value;
    }

    void big(std::uint64_t count) {
        item_.negative = field(1) != 0;
        if (ok() && count > kMaxBigBytes) {
            malformed();
        }
        bytes(ExternalKind::kBig, count);
        // Some senders write small integers as big ones, or with leading zeros.
        std::uint8_t last = 0;
        while (ok() && item_.count > 0 &&
               reader_.byte(item_.content + item_.count - 1, last) == ExternalStatus::kHere &&
               last == 0) {
            --item_.count;
        }
        std::uint64_t magnitude = 0;
        if (!ok() || item_.count > 8) {
            return;
        }
        for (auto i = item_.count; i-- > 0;) {
            if (reader_.byte(item_.content + i, last) != ExternalStatus::kHere) {
                return;
            }
            magnitude = magnitude << 8U | last;
        }
        if (magnitude < kSmallLimit || (item_.negative && magnitude == kSmallLimit)) {
            integer(item_.negative ? -static_cast<std::int64_t>(magnitude)
                                   : static_cast<std::int64_t>(magnitude));
        }
    }

    void floating(double value) {
        item_.kind = ExternalKind::kFloat;
        item_.number = value;
        if (ok() && !std::isfinite(value)) {
            malformed();
        }
    }

    void float_text() {
        std::array<std::uint8_t, kFloatTextBytes> text{};
        const auto begin = content(text.size());
        if (ok() && reader_.copy(begin, text) < text.size()) {
            item_.status = ExternalStatus::kAbsent;
        }
        const auto* first = reinterpret_cast<const char*>(text.data());
        double value = 0;
        const auto parsed = std::from_chars(first, first + text.size(), value);
        if (ok() && (parsed.ec != std::errc() ||
                     (parsed.ptr != first + text.size() && *parsed.ptr != '\0'))) {
            malformed();
        }
        floating(value);
    }

    ExternalAtom atom() {
        ExternalAtom atom;
        const auto tag = field(1);
        if (!ok()) {
            return atom;
        }
        switch (tag) {
            case tags::kAtomCacheRef:
                atom.cached = static_cast<std::uint8_t>(field(1));
                return atom;
            case tags::kAtom:
            case tags::kAtomUtf8:
                atom.bytes = static_cast<std::uint32_t>(field(2));
                break;
            case tags::kSmallAtom:
            case tags::kSmallAtomUtf8:
                atom.bytes = static_cast<std::uint32_t>(field(1));
                break;
            default:
                malformed();
                return atom;
        }
        atom.latin1 = tag == tags::kAtom || tag == tags::kSmallAtom;
        atom.at = content(atom.bytes);
        return atom;
    }

    void pid(unsigned creation_bytes) {
        item_.kind = ExternalKind::kPid;
        item_.atom = atom();
        item_.numbers[0] = field(4);
        item_.numbers[1] = field(4);
        item_.creation = field(creation_bytes);
    }

    void port(unsigned number_bytes, unsigned creation_bytes) {
        item_.kind = ExternalKind::kPort;
        item_.atom = atom();
        item_.numbers[0] = field(number_bytes);
        item_.creation = field(creation_bytes);
    }

    void old_reference() {
        item_.kind = ExternalKind::kReference;
        item_.count = 1;
        item_.atom = atom();
        item_.numbers[0] = field(4);
        item_.creation = field(1);
    }

    void reference(unsigned creation_bytes) {
        item_.kind = ExternalKind::kReference;
        item_.count = field(2);
        item_.atom = atom();
        item_.creation = field(creation_bytes);
        if (ok() && (item_.count == 0 || item_.count > kMaxReferenceNumbers)) {
            malformed();
        }
        for (std::uint64_t i = 0; ok() && i < item_.count; ++i) {
            item_.numbers.at(i) = field(4);
        }
    }

    /// A number that is a term.
    std::int64_t integer_term() {
        if (!ok()) {
            return 0;
        }
        const auto tag = field(1);
        if (tag == tags::kSmallInteger) {
            return static_cast<std::int64_t>(field(1));
        }
        if (tag == tags::kInteger) {
            return static_cast<std::int32_t>(static_cast<std::uint32_t>(field(4)));
        }
        if (ok()) {
            malformed();
        }
        return 0;
    }

    void fun() {
        constexpr std::uint64_t kCreator = 1;
        item_.kind = ExternalKind::kFun;
        field(4);  // bytes in all
        field(1);  // arity
        content(kFunUniqBytes);
        field(4);  // index
        const auto free_variables = field(4);
        item_.atom = atom();
        item_.value = integer_term();
        item_.uniq = integer_term();
        item_.parts = kCreator + free_variables;
    }

    void export_fun() {
        item_.kind = ExternalKind::kExport;
        item_.atom = atom();
        item_.name = atom();
        const auto arity = integer_term();
        if (ok() && arity < 0) {
            malformed();
        }
        item_.count = static_cast<std::uint64_t>(arity);
    }

    void record() {
        const auto fields = field(4);
        item_.value = static_cast<std::int64_t>(field(1));
        if (ok() && item_.value > 1) {
            malformed();
        }
        item_.atom = atom();
        item_.name = atom();
        container(ExternalKind::kRecord, fields, 2 * fields);
    }

    ExternalReader& reader_;
    std::uint64_t at_;
    ExternalItem item_;
};

}  // namespace

ExternalItem read_external_item(ExternalReader& reader, std::uint64_t at) {
    ExternalItem item;
    item.at = item.next = at;
    for (unsigned empty = 0; empty < kMaxEmptyLists && at < reader.size(); ++empty) {
        item = ItemParser(reader, at).parse();
        if (item.status != ExternalStatus::kHere) {
            return item;
        }
        if (item.kind == ExternalKind::kString && item.count == 0) {
            item.kind = ExternalKind::kNil;
        }
        if (item.kind != ExternalKind::kList || item.count != 0) {
            return item;
        }
        at = item.next;
    }
    item.status = ExternalStatus::kMalformed;
    return item;
}

ExternalStatus skip_external(ExternalReader& reader, std::uint64_t& at, std::uint64_t& budget) {
    // The format is depth first, so a count of the remaining terms is sufficient. It is bounded, as
    // no item has more parts than there are bytes.
    for (std::uint64_t left = 1; left > 0; --left) {
        if (budget == 0) {
            return ExternalStatus::kMalformed;
        }
        --budget;
        const auto item = read_external_item(reader, at);
        at = item.status == ExternalStatus::kHere ? item.next : item.at;
        if (item.status != ExternalStatus::kHere) {
            return item.status;
        }
        left += item.parts;
        if (left - 1 > reader.size() - at) {
            return ExternalStatus::kMalformed;
        }
    }
    return ExternalStatus::kHere;
}

}  // namespace beamdump
