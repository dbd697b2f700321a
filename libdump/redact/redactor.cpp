#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/redact/atom_names.h>
#include <libdump/redact/field_rules.h>
#include <libdump/redact/literal_pass.h>
#include <libdump/redact/record_pass.h>
#include <libdump/redact/redactor.h>

#include <fmt/format.h>
#include <records.pb.h>

#include <algorithm>
#include <map>

namespace beamdump::redact {

using format::RecordKind;
using format::RegionHeader;

class Redactor::Impl {
  public:
    Impl(Policy policy, std::shared_ptr<const KeptTerms> kept, AtomNames atoms)
        : policy_(std::move(policy)), kept_(std::move(kept)), atoms_(std::move(atoms)) {}

    Result<void> record(RecordKind kind, std::span<std::byte> payload);
    void node_scheme(format::TermScheme id) { node_scheme_ = id; }
    void moved(MovedHeaders* headers) { moved_ = headers; }
    [[nodiscard]] std::uint64_t unread_words() const;

    AddressRanges& ranges() { return ranges_; }
    AtomNames& atoms() { return atoms_; }
    [[nodiscard]] const Policy& policy() const { return policy_; }

  private:
    /// The passes of one term scheme.
    struct Passes {
        explicit Passes(const WordPass& pass) : records(pass), regions(pass), literals(pass) {}
        WordPass records;
        WordPass regions;
        LiteralPass literals;
    };
    Result<Passes*> passes(format::TermScheme id);
    Result<void> region(std::span<std::byte> payload);
    Result<void> words(const RegionHeader& header, std::span<std::byte> data);

    Policy policy_;
    std::shared_ptr<const KeptTerms> kept_;  ///< null: none
    AtomNames atoms_;
    AddressRanges ranges_;
    std::map<format::TermScheme, Passes> passes_;
    MovedHeaders* moved_ = nullptr;
    bool is_crash_dump_ = false;  ///< the dump was converted from one
    std::optional<format::TermScheme> node_scheme_;
    std::optional<RegionHeader> last_;  ///< of the region whose further pieces may follow
};

/// At most one for each known scheme.
Result<Redactor::Impl::Passes*> Redactor::Impl::passes(format::TermScheme id) {
    auto found = passes_.find(id);
    if (found == passes_.end()) {
        ASSIGN_OR_RETURN(const auto scheme, scheme_of(id));
        found = passes_.emplace(id, WordPass(scheme, policy_.level, ranges_, kept_.get())).first;
    }
    return &found->second;
}

std::uint64_t Redactor::Impl::unread_words() const {
    std::uint64_t words = 0;
    for (const auto& [id, passes] : passes_) {
        words += passes.records.blanked() + passes.regions.blanked() + passes.literals.blanked();
    }
    return words;
}

Result<void> Redactor::Impl::record(RecordKind kind, std::span<std::byte> payload) {
    const auto decision = decision_of(kind);
    switch (decision.rule) {
        case KindRule::kZero:
            std::ranges::fill(payload, std::byte{0});
            return {};
        case KindRule::kRegion:
            return region(payload);
        case KindRule::kRefuse:
            return fail(ErrorCode::kUnsupported,
                        fmt::format("the dump has a record of kind {}, and this version of the "
                                    "program does not know what to hide in it",
                                    static_cast<unsigned>(kind)));
        case KindRule::kFields:
            break;
    }
    if (kind == RecordKind::kCapture) {
        constexpr std::uint32_t kMode = 2;
        ASSIGN_OR_RETURN(const auto mode, wire_number(payload, kMode));
        is_crash_dump_ = mode == records::CAPTURE_MODE_CRASH_DUMP;
        if (is_crash_dump_) {
            ranges_.add_made_up();
        }
    }
    if (kind == RecordKind::kNode) {
        constexpr std::uint32_t kTermScheme = 6;
        ASSIGN_OR_RETURN(const auto scheme, wire_number(payload, kTermScheme));
        node_scheme(static_cast<format::TermScheme>(scheme.value_or(0)));
    }
    WordPass* words = nullptr;
    if (node_scheme_) {
        ASSIGN_OR_RETURN(auto* const known, passes(*node_scheme_));
        words = &known->records;
        words->moved(moved_);
    }
    return RecordPass(atoms_, words).message(payload, *decision.message);
}

Result<void> Redactor::Impl::region(std::span<std::byte> payload) {
    const auto header = load<RegionHeader>(payload);
    if (!header) {
        return fail(ErrorCode::kCorrupt, "a region of the dump has no header");
    }
    store(payload, offsetof(RegionHeader, reserved), std::uint8_t{0});
    const auto data = payload.subspan(sizeof(RegionHeader));
    if (header->unit != format::RegionUnit::kWords) {
        hide(data);
        return {};
    }
    if (header->word_bytes != kWordBytes || header->count > data.size() / kWordBytes) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the region at {:#x} has {} words of {} bytes in {} bytes: it "
                                "cannot be redacted",
                                header->address, header->count, header->word_bytes, data.size()));
    }
    return words(*header, data);
}

Result<void> Redactor::Impl::words(const RegionHeader& header, std::span<std::byte> data) {
    ASSIGN_OR_RETURN(auto* const known, passes(header.term_scheme));
    // Those of a crash dump are objects only, without the allocator's blocks.
    const bool literals = header.region_kind == format::RegionKind::kLiterals && !is_crash_dump_;
    const bool follows = last_ && header.first != 0 && header.address == last_->address &&
                         header.region_kind == last_->region_kind &&
                         header.first == last_->first + last_->count;
    last_ = header;
    if (header.first != 0 && !follows) {
        // Without the words before it, it cannot be told what is an object.
        known->regions.start(WordLayout::kBlank, header.count);
        known->regions.run(data);
        return {};
    }
    if (literals) {
        if (header.first == 0) {
            known->literals.start(header.address, header.total);
        }
        known->literals.run(data);
        return {};
    }
    if (header.first == 0) {
        known->regions.start(layout_of(header.region_kind), header.total);
    }
    known->regions.moved(moved_);
    known->regions.at(header.address + header.first * kWordBytes);
    known->regions.run(data);
    return {};
}

Result<std::unique_ptr<Redactor>> Redactor::create(const Policy& policy,
                                                   std::shared_ptr<const KeptTerms> kept) {
    if (policy.has_term_lists() && kept == nullptr) {
        return fail(ErrorCode::kUsage,
                    "the policy has lists of modules, records, structs or keys, which need a whole "
                    "dump: capture with --redact structure, or without, and apply it with "
                    "beamdump-analyze redact");
    }
    ASSIGN_OR_RETURN(auto atoms, AtomNames::create(policy, kept));
    return std::unique_ptr<Redactor>(
        new Redactor(std::make_unique<Impl>(policy, std::move(kept), std::move(atoms))));
}

Redactor::Redactor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Redactor::~Redactor() = default;

void Redactor::memory_at(std::uint64_t begin, std::uint64_t end) {
    impl_->ranges().add(begin, end);
}

void Redactor::node_scheme(format::TermScheme id) {
    impl_->node_scheme(id);
}

void Redactor::code_atom(std::uint32_t index) {
    impl_->atoms().is_code(index);
}

void Redactor::code_text(std::string_view text) {
    impl_->atoms().is_code(text);
}

bool Redactor::has_code_text(std::string_view text) const {
    return impl_->atoms().has_code(text);
}

Result<void> Redactor::record(RecordKind kind, std::span<std::byte> payload) {
    return impl_->record(kind, payload);
}

void Redactor::moved(MovedHeaders* headers) {
    impl_->moved(headers);
}

std::uint64_t Redactor::unread_words() const {
    return impl_->unread_words();
}

std::string Redactor::unread() const {
    const auto words = impl_->unread_words();
    return words == 0 ? std::string()
                      : fmt::format(
                            "{} words of memory were not what the VM puts there, and are "
                            "overwritten by the redaction",
                            words);
}

records::RedactionPolicy Redactor::said(bool afterwards, std::string_view tool_version) const {
    records::RedactionPolicy said;
    said.set_policy(impl_->policy().name);
    said.set_afterwards(afterwards);
    said.set_tool_version(std::string(tool_version));
    return said;
}

}  // namespace beamdump::redact
