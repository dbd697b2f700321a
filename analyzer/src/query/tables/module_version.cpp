#include "query/tables/module_version.h"

#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>
#include <libdump/term/external_item.h>
#include <libdump/term/external_tags.h>

#include <algorithm>
#include <span>

namespace beamdump::query {

namespace {

constexpr std::size_t kMostText = 200;

using Bytes = std::span<const std::uint8_t>;

/// Where a term lies in the bytes.
struct ByteRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

class Attributes {
  public:
    explicit Attributes(Bytes bytes) : bytes_(bytes), source_(bytes) { reader_.open(source_); }

    /// The value of a key in a list of pairs. Every item of the bytes is passed once.
    std::optional<ByteRange> value(std::string_view key) {
        const auto list = read_external_item(reader_, 1);
        if (bytes_.empty() || bytes_.front() != kExternalVersion ||
            list.status != ExternalStatus::kHere || list.kind != ExternalKind::kList) {
            return std::nullopt;
        }
        std::uint64_t at = list.next;
        for (std::uint64_t i = 0; i < list.count; ++i) {
            const auto pair = read_external_item(reader_, at);
            if (pair.status == ExternalStatus::kHere && pair.kind == ExternalKind::kTuple &&
                pair.count == 2) {
                const auto name = read_external_item(reader_, pair.next);
                if (is_atom(name, key)) {
                    return place(name.next);
                }
            }
            if (!skip(at)) {
                return std::nullopt;
            }
        }
        return std::nullopt;
    }

    /// What a list of one holds; any other term itself. In external format a list of small numbers
    /// is a string.
    std::optional<ByteRange> only_element(ByteRange list) {
        const auto item = read_external_item(reader_, list.begin);
        if (item.kind != ExternalKind::kList || item.count != 1) {
            return list;
        }
        const auto element = place(item.next);
        const bool is_proper =
            element && read_external_item(reader_, element->end).kind == ExternalKind::kNil;
        return is_proper ? element : list;
    }

    /// The number that a string of one byte stands for.
    std::optional<std::uint8_t> only_byte(ByteRange string) {
        const auto item = read_external_item(reader_, string.begin);
        return item.kind == ExternalKind::kString && item.count == 1
                   ? std::optional(bytes_[item.content])
                   : std::nullopt;
    }

  private:
    bool skip(std::uint64_t& at) {
        return skip_external(reader_, at, budget_) == ExternalStatus::kHere;
    }

    std::optional<ByteRange> place(std::uint64_t begin) {
        std::uint64_t end = begin;
        return skip(end) ? std::optional(ByteRange{begin, end}) : std::nullopt;
    }

    bool is_atom(const ExternalItem& item, std::string_view text) {
        if (item.status != ExternalStatus::kHere || item.kind != ExternalKind::kAtom ||
            item.atom.cached || item.atom.bytes != text.size()) {
            return false;
        }
        const auto name = bytes_.subspan(item.atom.at, item.atom.bytes);
        return std::ranges::equal(name, text, {}, {},
                                  [](char c) { return static_cast<std::uint8_t>(c); });
    }

    Bytes bytes_;
    ExternalBytes source_;
    ExternalReader reader_;
    std::uint64_t budget_ = bytes_.size();
};

}  // namespace

Result<std::unique_ptr<ModuleVersions>> ModuleVersions::open(Dump& dump) {
    ASSIGN_OR_RETURN(const auto scheme, node_scheme(dump));
    return std::unique_ptr<ModuleVersions>(new ModuleVersions(dump, scheme));
}

std::optional<std::string> ModuleVersions::version(std::string_view attributes) {
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(attributes.data()), attributes.size());
    Attributes found(bytes);
    const auto value = found.value("vsn");
    if (!value) {
        return std::nullopt;
    }
    const auto shown = found.only_element(*value);
    if (const auto byte = found.only_byte(*shown)) {
        return std::to_string(*byte);
    }
    ExternalBytes term(bytes.subspan(shown->begin, shown->end - shown->begin));
    printer_.start({.source = &term});
    auto text = drain_text(printer_, kMostText);
    return text.cut ? text.text + "..." : std::move(text.text);
}

}  // namespace beamdump::query
