#pragma once

#include <libdump/base/error.h>
#include <libdump/redact/address_ranges.h>
#include <libdump/redact/kept_terms.h>
#include <libdump/redact/moved_headers.h>
#include <libdump/redact/policy.h>
#include <libdump/write/record_filter.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <redaction_records.pb.h>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::redact {

/// Hides the values in a dump's records, in place: every record keeps its size. What is hidden and
/// what remains, by record kind and region kind, is in docs/redaction.md.
///
/// A record or a field that this version has no decision about is an error (kUnsupported). Memory:
/// a bit for each atom, 48 bytes for each page of literals, and KeptTerms'.
class Redactor final : public RecordFilter {
  public:
    /// `kept`: what the policy's lists of terms keep; null where it has none, else kUsage.
    /// kIo if the system has no random bytes.
    static Result<std::unique_ptr<Redactor>> create(const Policy& policy,
                                                    std::shared_ptr<const KeptTerms> kept = {});
    ~Redactor() override;

    /// Where the node's memory is. To be said before the first region: a word that points elsewhere
    /// is overwritten.
    void memory_at(std::uint64_t begin, std::uint64_t end);
    /// The scheme of the terms in records that are before the Node record, as in a conversion of a
    /// crash dump.
    void node_scheme(format::TermScheme id);
    /// An atom that names a module or a function. To be said before the atoms' texts.
    void code_atom(std::uint32_t index);
    /// The text of an atom that names a module in a section of a crash dump. To be said before
    /// those.
    void code_text(std::string_view text);
    [[nodiscard]] bool has_code_text(std::string_view text) const;
    /// Tells of the objects in the collected heaps that follow; null: it is not known which were
    /// moved, and all words of these are overwritten. `headers` must outlive what it is told for.
    void moved(MovedHeaders* headers);

    Result<void> record(format::RecordKind kind, std::span<std::byte> payload) override;

    /// Words of regions, other than the literals' free blocks, that were not what the VM puts
    /// there, and were overwritten.
    [[nodiscard]] std::uint64_t unread_words() const;

    /// A sentence about unread_words(); empty if there are none.
    [[nodiscard]] std::string unread() const;

    /// What the dump says of this redaction.
    [[nodiscard]] records::RedactionPolicy said(bool afterwards,
                                                std::string_view tool_version) const;

  private:
    class Impl;
    explicit Redactor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace beamdump::redact
