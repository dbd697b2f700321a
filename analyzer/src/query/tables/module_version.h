#pragma once

#include <libdump/model/dump.h>
#include <libdump/model/external_message.h>
#include <libdump/term/external_term.h>
#include <libdump/term/term_scheme.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::query {

/// Prints the versions that modules say of themselves. Not thread-safe.
class ModuleVersions {
  public:
    /// The dump must outlive it. Fails where the dump's terms have no known scheme.
    static Result<std::unique_ptr<ModuleVersions>> open(Dump& dump);

    /// The value of `vsn` in module_info(attributes) in external format: what the compiler makes
    /// of -vsn(), else a number made of the module's code. The element of a list of one; cut behind
    /// 200 bytes, with "..." then. Nothing where there is none, or where the bytes are malformed.
    std::optional<std::string> version(std::string_view attributes);

  private:
    ModuleVersions(Dump& dump, const TagScheme& scheme) : names_(dump), printer_(names_, scheme) {}

    DumpNames names_;
    ExternalTermPrinter printer_;
};

}  // namespace beamdump::query
