#pragma once

#include <libvm/beam/ets/ets_walk.h>

namespace beamdump::beam {

/// Rows of an ordered_set: of an AVL tree (erl_db_tree.c), and of a contention adapting tree
/// (erl_db_catree.c), whose base nodes each hold one and have locks of their own.
class EtsTreeWalk {
  public:
    explicit EtsTreeWalk(EtsWalk& walk) : walk_(walk) {}
    Result<void> tree();
    Result<void> ca_tree();

  private:
    struct Node {
        EtsLink link;  ///< leads to it
        std::size_t depth = 0;
    };
    Result<bool> rows(const std::vector<EtsLink>& way, const EtsLink& root, Address lock);
    Result<void> flush();
    bool ca_node(const Node& node, std::vector<EtsLink>& way, std::vector<Node>& stack);
    std::optional<EtsLink> link(Address structure, const Field& field);
    void broken() { walk_.leave_out(EtsGroupReader::Outcome::kUnreadable, 1); }

    EtsWalk& walk_;
    EtsGroup group_;
    std::uint64_t seen_ = 0;
};

}  // namespace beamdump::beam
