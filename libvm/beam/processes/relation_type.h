#pragma once

#include <libvm/beam/layout/struct_view.h>

namespace beamdump::beam {

/// The type of a link or monitor (erl_monitor_link.h, ErtsMonLnkNode): a field up to OTP 28, bits
/// of its flags from 29 on.
class RelationType {
  public:
    static RelationType resolve(LayoutNames& names) {
        RelationType type;
        type.field_ = names.field_if_any("ErtsMonLnkNode", "type");
        if (!type.field_) {
            type.flags_ = names.field("ErtsMonLnkNode", "flags");
            type.mask_ = names.constant("relation_type_mask");
            type.shift_ = names.constant("relation_type_shift");
        }
        return type;
    }
    [[nodiscard]] std::uint64_t of(const StructView& node) const {
        return field_ ? node.get(*field_) : (node.get(flags_) & mask_) >> shift_;
    }

  private:
    std::optional<Field> field_;
    Field flags_;
    std::uint64_t mask_ = 0;
    std::uint64_t shift_ = 0;
};

}  // namespace beamdump::beam
