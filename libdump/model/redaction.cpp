#include <libdump/base/return_if_error.h>
#include <libdump/model/redaction.h>

#include <redaction_records.pb.h>

namespace beamdump {

Result<std::optional<std::string>> redaction_of(DumpReader& reader) {
    if (!reader.trailer().has_capture_offset()) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto capture, reader.record_at(reader.trailer().capture_offset()));
    ASSIGN_OR_RETURN(const auto next, reader.next(capture));
    if (!next || next->kind != format::RecordKind::kRedactionPolicy) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto said, DumpReader::parse<records::RedactionPolicy>(
                                          *next, format::RecordKind::kRedactionPolicy));
    return said.policy() + (said.afterwards() ? ", afterwards" : ", while it was captured");
}

}  // namespace beamdump
