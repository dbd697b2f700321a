#include <libdump/base/return_if_error.h>
#include <libdump/base/utf8.h>
#include <libdump/beam/beam_records.h>
#include <libdump/term/external_item.h>
#include <libdump/term/external_tags.h>

#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zlib.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

namespace beamdump {

namespace {

/// Data of a .beam file unpacks to this at most.
constexpr std::uint64_t kMaxUnpacked = std::uint64_t{256} << 20U;

enum class BeamPacking : std::uint8_t { kGzip, kZlib };

/// Unpacks `packed`. kCorrupt: it is damaged; kLimit: there is more than kMaxUnpacked.
Result<std::vector<std::uint8_t>> unpack(std::span<const std::uint8_t> packed,
                                         BeamPacking packing) {
    namespace io = boost::iostreams;
    std::vector<std::uint8_t> unpacked;
    std::array<char, 1U << 16U> piece{};
    try {
        io::filtering_istream stream;
        if (packing == BeamPacking::kGzip) {
            stream.push(io::gzip_decompressor());
        } else {
            stream.push(io::zlib_decompressor());
        }
        stream.push(io::array_source(reinterpret_cast<const char*>(packed.data()), packed.size()));
        auto& buffer = *stream.rdbuf();
        for (;;) {
            const std::streamsize got = buffer.sgetn(piece.data(), piece.size());
            if (got <= 0) {
                return unpacked;
            }
            unpacked.insert(unpacked.end(), piece.begin(), piece.begin() + got);
            if (unpacked.size() > kMaxUnpacked) {
                return fail(ErrorCode::kLimit, "it unpacks to more than 256 MiB");
            }
        }
    } catch (const std::exception& error) {
        return fail(ErrorCode::kCorrupt, fmt::format("its data is damaged: {}", error.what()));
    }
}

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kChunkHead = 8;  // name and size
constexpr std::size_t kFileHead = 12;  // FOR1, size, BEAM
constexpr std::size_t kChunkAlignment = 4;
constexpr std::uint8_t kCompressedTerm = 80;
constexpr std::size_t kCompressedHead = 6;  // version, tag, size when unpacked
constexpr std::uint64_t kLongestAtom = 4 * 255;

std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint32_t big_endian(Bytes bytes) {
    std::uint32_t value = 0;
    for (const std::uint8_t byte : bytes.first(sizeof(value))) {
        value = value << 8U | byte;
    }
    return value;
}

/// The contents of a chunk; nullopt: the file does not have it.
Result<std::optional<Bytes>> find_chunk(Bytes file, std::string_view name) {
    for (Bytes rest = file.subspan(kFileHead); !rest.empty();) {
        if (rest.size() < kChunkHead) {
            return fail(ErrorCode::kCorrupt, "it breaks off between its chunks");
        }
        const std::size_t size = big_endian(rest.subspan(kChunkAlignment));
        const auto own = text_of(rest.first(kChunkAlignment));
        rest = rest.subspan(kChunkHead);
        if (size > rest.size()) {
            return fail(ErrorCode::kCorrupt, "it breaks off in a chunk");
        }
        if (own == name) {
            return rest.first(size);
        }
        const std::size_t padded = (size + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
        rest = rest.subspan(std::min(padded, rest.size()));
    }
    return std::nullopt;
}

/// Reads the abstract code of a module: one form after the other, no more than it is asked for.
class Forms {
  public:
    explicit Forms(ExternalSource& term) { reader_.open(term); }

    BeamRecords records() {
        BeamRecords found;
        const auto list = forms();
        if (!list) {
            return found;
        }
        found.has_information = true;
        auto at = list->next;
        for (std::uint64_t form = 0; form < list->count; ++form) {
            if (auto record = record_at(at)) {
                found.records.push_back(std::move(*record));
            }
            if (!skip(at)) {
                break;
            }
        }
        return found;
    }

  private:
    using Item = ExternalItem;

    /// The item at `at`, if it is of that kind (and has `count` parts).
    std::optional<Item> item(std::uint64_t at, ExternalKind kind,
                             std::optional<std::uint64_t> count = std::nullopt) {
        const auto found = read_external_item(reader_, at);
        const bool fits = found.status == ExternalStatus::kHere && found.kind == kind &&
                          (!count || found.count == *count);
        return fits ? std::optional(found) : std::nullopt;
    }

    bool skip(std::uint64_t& at) {
        auto items = reader_.size();
        return skip_external(reader_, at, items) == ExternalStatus::kHere;
    }

    std::optional<std::string> atom(std::uint64_t& at) {
        const auto found = item(at, ExternalKind::kAtom);
        if (!found || found->atom.cached || found->atom.bytes > kLongestAtom) {
            return std::nullopt;
        }
        std::string name(found->atom.bytes, '\0');
        const std::span into(reinterpret_cast<std::uint8_t*>(name.data()), name.size());
        if (reader_.copy(found->atom.at, into) < into.size()) {
            return std::nullopt;
        }
        at = found->next;
        return valid_utf8(name);
    }

    bool is_atom(std::uint64_t& at, std::string_view name) {
        const auto found = atom(at);
        return found && *found == name;
    }

    /// The list of forms: {debug_info_v1,erl_abstract_code,{Forms,Options}}, or
    /// {raw_abstract_v1,Forms}.
    std::optional<Item> forms() {
        if (const auto old = item(0, ExternalKind::kTuple, 2)) {
            auto at = old->next;
            return is_atom(at, "raw_abstract_v1") ? item(at, ExternalKind::kList) : std::nullopt;
        }
        const auto info = item(0, ExternalKind::kTuple, 3);
        if (!info) {
            return std::nullopt;
        }
        auto at = info->next;
        if (!is_atom(at, "debug_info_v1") || !is_atom(at, "erl_abstract_code")) {
            return std::nullopt;
        }
        const auto data = item(at, ExternalKind::kTuple, 2);
        return data ? item(data->next, ExternalKind::kList) : std::nullopt;
    }

    /// {attribute,Where,record,{Tag,Fields}}
    std::optional<RecordDefinition> record_at(std::uint64_t at) {
        const auto form = item(at, ExternalKind::kTuple, 4);
        if (!form) {
            return std::nullopt;
        }
        at = form->next;
        if (!is_atom(at, "attribute") || !skip(at) || !is_atom(at, "record")) {
            return std::nullopt;
        }
        const auto pair = item(at, ExternalKind::kTuple, 2);
        if (!pair) {
            return std::nullopt;
        }
        at = pair->next;
        auto tag = atom(at);
        if (!tag) {
            return std::nullopt;
        }
        RecordDefinition record{std::move(*tag), {}};
        if (item(at, ExternalKind::kNil)) {
            return record;
        }
        const auto fields = item(at, ExternalKind::kList);
        if (!fields) {
            return std::nullopt;
        }
        at = fields->next;
        for (std::uint64_t i = 0; i < fields->count; ++i) {
            auto name = field_at(at);
            if (!name || !skip(at)) {
                return std::nullopt;
            }
            record.fields.push_back(std::move(*name));
        }
        return record;
    }

    /// {record_field,Where,{atom,Where,Name}}, the same with a default, or
    /// {typed_record_field,F,T}.
    std::optional<std::string> field_at(std::uint64_t at) {
        auto field = item(at, ExternalKind::kTuple);
        auto inside = field ? field->next : at;
        if (field && field->count == 3 && is_atom(inside, "typed_record_field")) {
            field = item(inside, ExternalKind::kTuple);
        }
        if (!field || field->count < 3) {
            return std::nullopt;
        }
        at = field->next;
        if (!is_atom(at, "record_field") || !skip(at)) {
            return std::nullopt;
        }
        const auto name = item(at, ExternalKind::kTuple, 3);
        if (!name) {
            return std::nullopt;
        }
        at = name->next;
        return is_atom(at, "atom") && skip(at) ? atom(at) : std::nullopt;
    }

    ExternalReader reader_;
};

/// The records of a chunk's term.
Result<BeamRecords> records_of(Bytes chunk) {
    if (chunk.empty() || chunk[0] != kExternalVersion) {
        return BeamRecords{};
    }
    std::vector<std::uint8_t> unpacked;
    Bytes term = chunk.subspan(1);
    if (chunk.size() > kCompressedHead && chunk[1] == kCompressedTerm) {
        ASSIGN_OR_RETURN(unpacked, unpack(chunk.subspan(kCompressedHead), BeamPacking::kZlib));
        term = unpacked;
    }
    ExternalBytes source(term);
    return Forms(source).records();
}

}  // namespace

Result<BeamRecords> beam_records(Bytes file) {
    std::vector<std::uint8_t> unpacked;
    if (file.size() > 1 && file[0] == 0x1F && file[1] == 0x8B) {
        ASSIGN_OR_RETURN(unpacked, unpack(file, BeamPacking::kGzip));
        file = unpacked;
    }
    if (file.size() < kFileHead || text_of(file.first(4)) != "FOR1" ||
        text_of(file.subspan(8, 4)) != "BEAM") {
        return fail(ErrorCode::kCorrupt, "it is not a .beam file");
    }
    for (const std::string_view name : {"Dbgi", "Abst"}) {
        ASSIGN_OR_RETURN(const auto chunk, find_chunk(file, name));
        if (!chunk) {
            continue;
        }
        ASSIGN_OR_RETURN(auto records, records_of(*chunk));
        if (records.has_information) {
            return records;
        }
    }
    return BeamRecords{};
}

}  // namespace beamdump
