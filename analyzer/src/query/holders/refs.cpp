#include "query/holders/refs.h"

#include "query/memory/binary_records.h"
#include "query/process/process_binaries.h"
#include "query/process/process_names.h"
#include "query/tables/resource_types.h"

#include <libdump/base/return_if_error.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/owner_id.h>
#include <libdump/model/redaction.h>
#include <libdump/term/binary_content.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <ranges>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace beamdump::query {

namespace {

std::optional<std::uint64_t> number_in(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

/// A local reference, numbers highest first, as Erlang prints it.
std::string reference_text(const records::Monitor& monitor) {
    return fmt::format("#Ref<0.{}>",
                       fmt::join(std::ranges::reverse_view(monitor.reference()), "."));
}

/// Notes each place of one target in one process after the other.
class TargetVisitor final : public SweepVisitor {
  public:
    TargetVisitor(const RefTarget& target, const RefsOptions& options, RefsAnswer& answer)
        : target_(target), options_(options), answer_(answer) {}

    void begin(TermOwner owner) {
        owner_ = std::move(owner);
        places_ = 0;
        slices_.clear();
        referring_.clear();
        references_.clear();
    }
    [[nodiscard]] std::uint64_t places() const { return places_; }
    /// Objects found that refer to the binary themselves.
    [[nodiscard]] bool refers(std::uint64_t object) const {
        return referring_.contains(object) || references_.contains(object);
    }

    void note(TermPlace place, std::optional<BinarySlice> slice = std::nullopt) {
        ++places_;
        ++answer_.found;
        options_.found({owner_, std::move(place), slice});
    }

    Result<void> immediate(std::uint64_t word, std::span<const WalkLevel> path) override {
        if (is_target(scheme(), word)) {
            note(place(path));
        }
        return {};
    }

    [[nodiscard]] bool is_target(const TagScheme& scheme, std::uint64_t word) const {
        const WordKind kind = word_kind(scheme, word);
        if (target_.kind == RefTarget::Kind::kPid && kind == WordKind::kPid) {
            return (pid_serial(scheme, word) << 32U | pid_number(scheme, word)) == target_.number;
        }
        return target_.kind == RefTarget::Kind::kPort && kind == WordKind::kPort &&
               port_number(scheme, word) == target_.number;
    }

    Result<void> met(const HeapObject& object, std::span<const WalkLevel> path) override {
        if (target_.kind == RefTarget::Kind::kBinary) {
            met_binary(object, path);
            return {};
        }
        const bool external = object.kind == BoxedKind::kExternalPid ||
                              object.kind == BoxedKind::kExternalPort ||
                              object.kind == BoxedKind::kExternalReference;
        const bool candidate =
            (target_.kind == RefTarget::Kind::kExternal && external) ||
            (target_.kind == RefTarget::Kind::kReference && object.kind == BoxedKind::kReference);
        if (!object.is_cell && candidate && text_of(object) == target_.text) {
            note(place(path));
        }
        return {};
    }

    Result<void> again(std::uint64_t address, std::span<WalkLevel> path) override {
        if (const auto known = slices_.find(address); known != slices_.end() && !is_part(path)) {
            note(place(path), known->second);
        } else if (references_.contains(address)) {
            note(place(path));
        }
        return {};
    }

  private:
    [[nodiscard]] std::string text_of(const HeapObject& object) {
        constexpr std::size_t kLongestIdentifier = 1000;
        return text(word_to(scheme(), object.address, false), kLongestIdentifier);
    }

    /// Whether what was met is what a part of a binary refers to, which is noted itself.
    [[nodiscard]] bool is_part(std::span<const WalkLevel> path) const {
        if (path.empty()) {
            return false;
        }
        return path.back().kind == WalkLevel::Kind::kKept || slices_.contains(path.back().address);
    }

    void met_binary(const HeapObject& object, std::span<const WalkLevel> path) {
        if (object.is_cell) {
            return;
        }
        if (object.kind == BoxedKind::kReference) {
            if (magic_binary_of(object) == target_.number) {
                references_.insert(object.address);
                note(place(path));
            }
            return;
        }
        switch (object.kind) {
            case BoxedKind::kRefcBinary:
            case BoxedKind::kSubBinary:
            case BoxedKind::kSubBits:
            case BoxedKind::kMatchContext:
                break;
            default:
                return;
        }
        if (binary_of(object) == target_.number) {
            referring_.insert(object.address);
        }
        // From OTP 27 on, what refers to a binary is no term: parts of it are.
        BinaryContent content;
        if (BinaryContent::resolve(scheme(), words(), object.address, content) !=
                BinaryContent::Status::kFound ||
            content.binary() != target_.number) {
            return;
        }
        const BinarySlice slice{content.first_byte(), content.whole_bytes()};
        const bool part = is_part(path);
        slices_[object.address] = slice;
        if (!part) {
            note(place(path), slice);
        }
    }

    const RefTarget& target_;
    const RefsOptions& options_;
    RefsAnswer& answer_;
    TermOwner owner_;
    std::uint64_t places_ = 0;
    std::unordered_map<std::uint64_t, BinarySlice> slices_;  ///< of this process, by object
    std::unordered_set<std::uint64_t> referring_;
    std::unordered_set<std::uint64_t> references_;  ///< to the target, a magic binary
};

class HolderSearch {
  public:
    HolderSearch(Dump& dump, const RefTarget& target, const RefsOptions& options)
        : dump_(dump),
          target_(target),
          options_(options),
          sweep_(options.limits),
          visitor_(target, options, answer_),
          names_(dump) {}

    Result<RefsAnswer> run() {
        ASSIGN_OR_RETURN(answer_.read, visit_processes(dump_,
                                                       {.sensitive = options_.sensitive,
                                                        .use = HeapUse::kWhole,
                                                        .progress = options_.progress},
                                                       [this](OpenedProcess& process) {
                                                           return search(process);
                                                       }));
        answer_.undecoded_messages = sweep_.counts().undecoded_messages;
        NodeSweep node(options_.limits);
        visitor_.begin({});
        RETURN_IF_ERROR(node.rows(dump_, visitor_, [this](const TermOwner& owner) {
            answer_.tables += visitor_.places() != 0 ? 1 : 0;
            visitor_.begin(owner);
        }));
        answer_.tables += visitor_.places() != 0 ? 1 : 0;
        visitor_.begin({});
        RETURN_IF_ERROR(node.literals(dump_, visitor_, [this](const TermOwner& owner) {
            answer_.modules += visitor_.places() != 0 ? 1 : 0;
            visitor_.begin(owner);
        }));
        answer_.modules += visitor_.places() != 0 ? 1 : 0;
        visitor_.begin({});
        RETURN_IF_ERROR(node.persistent_terms(
            dump_, visitor_, [this](const TermOwner& owner) { visitor_.begin(owner); }));
        answer_.persistent_terms = visitor_.places() != 0;
        answer_.node = node.counts();
        answer_.unreadable = sweep_.counts().unreadable + answer_.node.unreadable;
        return answer_;
    }

  private:
    Result<void> search(OpenedProcess& process) {
        const bool binary = target_.kind == RefTarget::Kind::kBinary;
        std::vector<std::uint64_t> listed;  // objects that keep the binary
        if (binary && form_of(dump_).off_heap_lists) {
            const auto visit = [&](std::uint64_t object, std::uint64_t address) {
                if (address == target_.number) {
                    listed.push_back(object);
                }
            };
            RETURN_IF_ERROR(
                visit_off_heap_binaries(dump_, process, OffHeapLists::kWithMagic, visit));
            if (listed.empty()) {
                return {};
            }
        }
        names_.add_to(process);
        visitor_.begin({process.line, std::nullopt, std::nullopt});
        RETURN_IF_ERROR(sweep_.run(dump_, process, visitor_));
        if (!binary) {
            RETURN_IF_ERROR(search_relations(process));
        }
        for (const std::uint64_t object : listed) {
            answer_.garbage += visitor_.refers(object) ? 0 : 1;
        }
        answer_.processes += visitor_.places() != 0 ? 1 : 0;
        return {};
    }

    Result<void> search_relations(OpenedProcess& process) {
        for (const Pack& pack : process.run.directory.relations) {
            auto relations = dump_.reader().message_at<records::Relations>(
                pack.offset, format::RecordKind::kRelations);
            if (!relations) {
                return wrap("reading links and monitors", std::move(relations.error()));
            }
            for (const auto& link : relations->link()) {
                if (link.has_other_word() &&
                    visitor_.is_target(process.scheme, link.other_word())) {
                    visitor_.note({"link", {}});
                }
            }
            for (const auto& monitor : relations->monitor()) {
                const bool by_reference = target_.kind == RefTarget::Kind::kReference &&
                                          monitor.reference_size() != 0 &&
                                          reference_text(monitor) == target_.text;
                if (by_reference || (monitor.has_other_word() &&
                                     visitor_.is_target(process.scheme, monitor.other_word()))) {
                    visitor_.note({monitor.is_target() ? "monitored_by" : "monitor", {}});
                }
            }
        }
        return {};
    }

    Dump& dump_;
    const RefTarget& target_;
    const RefsOptions& options_;
    RefsAnswer answer_;
    ProcessSweep sweep_;
    TargetVisitor visitor_;
    ProcessNames names_;
};

}  // namespace

std::string_view target_kind_text(RefTarget::Kind kind) {
    switch (kind) {
        case RefTarget::Kind::kPid:
            return "pid";
        case RefTarget::Kind::kPort:
            return "port";
        case RefTarget::Kind::kReference:
            return "reference";
        case RefTarget::Kind::kExternal:
            return "external";
        case RefTarget::Kind::kBinary:
            break;
    }
    return "binary";
}

Result<RefTarget> parse_target(Dump& dump, std::string_view text) {
    const auto unknown = [text] {
        return fail(ErrorCode::kUsage,
                    fmt::format("\"{}\" is no pid, registered name, port (#Port<0.5>), reference "
                                "(#Ref<0.1.2.3>) or address of a binary (0x7f0012345678)",
                                text));
    };
    const auto is_identifier = [text](std::string_view begin) {
        return text.starts_with(begin) && text.ends_with('>') &&
               text.substr(begin.size()).find_first_not_of("0123456789.") ==
                   text.size() - begin.size() - 1;
    };
    if (text.starts_with("0x")) {
        const auto address = number_in(text.substr(2), 16);
        return address
                   ? RefTarget{RefTarget::Kind::kBinary, *address, fmt::format("{:#x}", *address)}
                   : Result<RefTarget>(unknown());
    }
    if (is_identifier("#Port<0.")) {
        const auto number = number_in(text.substr(8, text.size() - 9), 10);
        return number ? RefTarget{RefTarget::Kind::kPort, *number, std::string(text)}
                      : Result<RefTarget>(unknown());
    }
    if (is_identifier("#Ref<0.")) {
        return RefTarget{RefTarget::Kind::kReference, 0, std::string(text)};
    }
    if (is_identifier("#Ref<") || is_identifier("#Port<") ||
        (is_identifier("<") && !text.starts_with("<0."))) {
        return RefTarget{RefTarget::Kind::kExternal, 0, std::string(text)};
    }
    if (text.starts_with('#') && !text.starts_with("#PID<")) {
        return unknown();
    }
    // A pid may be held after its process has exited.
    const ProcessName name = parse_process_name(text);
    if (name.owner_id) {
        return RefTarget{RefTarget::Kind::kPid, *name.owner_id, pid_text(*name.owner_id)};
    }
    ASSIGN_OR_RETURN(const auto row, dump.find_process(text));
    return RefTarget{RefTarget::Kind::kPid, row.owner_id(), pid_text(row.owner_id())};
}

Result<RefTarget> resolve_target(Dump& dump, RefTarget target, const InputLimits& limits) {
    if (target.kind != RefTarget::Kind::kBinary) {
        return target;
    }
    ASSIGN_OR_RETURN(const bool known, dump.binaries().contains(target.number));
    if (known) {
        return target;
    }
    const auto asked = target.number;
    RETURN_IF_ERROR(
        visit_binaries(dump, limits, [&](const records::Binary& binary) -> Result<bool> {
            if (asked <= binary.address() || asked < binary.data_address() ||
                asked - binary.data_address() >= binary.size_bytes()) {
                return true;
            }
            target.number = binary.address();
            target.text = fmt::format("{:#x}", binary.address());
            target.inside = asked;
            return false;
        }));
    return target;
}

Result<CapturedBinary> CapturedBinary::open(Dump& dump, std::uint64_t address) {
    ASSIGN_OR_RETURN(auto record, dump.binaries().at(address));
    ASSIGN_OR_RETURN(const auto redaction, redaction_of(dump.reader()));
    return CapturedBinary(dump, std::move(record), redaction.has_value());
}

Result<BinaryBeginning> CapturedBinary::beginning(std::uint64_t most) const {
    BinaryBeginning beginning;
    if (record_->has_size_bytes()) {
        beginning.bytes = record_->size_bytes();
    }
    if (record_->has_references()) {
        beginning.references = record_->references();
    }
    if (record_->has_resource_type_address()) {
        ASSIGN_OR_RETURN(const auto types, resource_type_names(*dump_));
        if (const auto type = types.find(record_->resource_type_address()); type != types.end()) {
            beginning.resource = type->second;
        }
    }
    if (!redacted_) {
        beginning.captured = captured_bytes(*record_);
        ASSIGN_OR_RETURN(beginning.first, part(0, std::min(beginning.captured, most)));
    }
    return beginning;
}

Result<std::string> CapturedBinary::part(std::uint64_t first, std::uint64_t most) const {
    std::string bytes;
    if (redacted_) {
        return bytes;
    }
    bytes.resize(std::min(most, BinaryBeginning::kMostOfAll));
    ASSIGN_OR_RETURN(
        const auto got,
        dump_->binaries().bytes(*record_, first, std::as_writable_bytes(std::span(bytes))));
    bytes.resize(got);
    return bytes;
}

Result<RefsAnswer> find_holders(Dump& dump, const RefTarget& target, const RefsOptions& options) {
    auto answer = HolderSearch(dump, target, options).run();
    return answer ? std::move(answer) : wrap("searching the processes", std::move(answer.error()));
}

}  // namespace beamdump::query
