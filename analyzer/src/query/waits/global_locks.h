#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::query {

/// The locks of the module global that are held on this node, as its table has them.
class GlobalLocks {
  public:
    /// Without locks where the dump does not have the table's rows. Memory: a text for each lock.
    static Result<GlobalLocks> read(Dump& dump);

    /// The lock that the text of an id ({Resource, Requester}, as Erlang prints it) is for.
    struct Lock {
        std::string_view resource;
        std::string_view holder;  ///< pid
    };
    [[nodiscard]] std::optional<Lock> of_id(std::string_view id) const;

  private:
    std::map<std::string, std::string, std::less<>> holders_;  ///< by resource
};

}  // namespace beamdump::query
