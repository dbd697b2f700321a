#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/this_node.h>
#include <libvm/beam/tables/index_table.h>

#include <unordered_set>

namespace beamdump::beam {

Result<Address> find_this_node(Vm& vm, const ImageSearch& search) {
    const auto nodes = hash_objects(vm, vm.tables().nodes);
    if (!nodes) {
        return wrap("node table", nodes.error());
    }
    const std::unordered_set<Address> members(nodes->begin(), nodes->end());
    return only_one("erts_this_node", "one word that points to a member of the node table",
                    search.matching(sizeof(Address), [&](Address, std::span<const std::byte> word) {
                        return members.contains(StructView(word).word({}, 0));
                    }));
}

}  // namespace beamdump::beam
