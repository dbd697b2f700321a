#include <libdump/base/return_if_error.h>
#include <libvm/beam/locate/locate.h>
#include <libvm/beam/locate/symbols.h>
#include <libvm/beam/locate/vm_finder.h>

#include <fmt/format.h>

#include <builtin_layouts.h>
#include <utility>

namespace beamdump::beam {
namespace {

Result<Layout> choose_layout(const RuntimeVersion& version, Architecture architecture,
                             const LocateOptions& options) {
    if (options.layout && options.layout->architecture() != architecture) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("layout {} does not fit this node: expected one of {}, it is of {}",
                                options.layout->name(), name_of(architecture),
                                name_of(options.layout->architecture())));
    }
    if (options.layout) {
        return options.layout->at(erts_version(version.erts_version));
    }
    ASSIGN_OR_RETURN(const auto layouts, known_layouts(options, architecture));
    std::string known;
    for (const auto& layout : layouts) {
        if (layout.release() == version.otp_release) {
            return layout.at(erts_version(version.erts_version));
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", layout.release());
    }
    return fail(
        ErrorCode::kNoLayout,
        fmt::format("no layout for OTP {} on {} (known: {}); give one with --layout FILE",
                    version.otp_release, name_of(architecture), known.empty() ? "none" : known));
}

}  // namespace

Result<std::vector<Layout>> known_layouts(const LocateOptions& options, Architecture architecture) {
    auto layouts = options.layouts;
    for (const auto& builtin : builtin_layouts()) {
        if (!options.layouts.empty()) {
            break;
        }
        ASSIGN_OR_RETURN(auto layout, Layout::parse(builtin.json));
        layouts.push_back(std::move(layout));
    }
    std::erase_if(layouts, [architecture](const Layout& layout) {
        return layout.architecture() != architecture;
    });
    return layouts;
}

Result<std::string> find_release(target::Target& target, const LocateOptions& options) {
    const auto symbols = Symbols::of(target, options.no_symbols);
    ASSIGN_OR_RETURN(const auto search, ImageSearch::read(target));
    auto version = find_version(target, symbols, search);
    return version ? Result<std::string>(std::move(version->otp_release))
                   : std::unexpected(version.error());
}

Result<std::unique_ptr<Vm>> locate_vm(std::unique_ptr<target::Target> target,
                                      const LocateOptions& options) {
    target->set_debug_folder(options.debug_folder);
    const auto symbols = Symbols::of(*target, options.no_symbols);
    ASSIGN_OR_RETURN(const auto search, ImageSearch::read(*target));
    ASSIGN_OR_RETURN(const auto version, find_version(*target, symbols, search));
    ASSIGN_OR_RETURN(auto layout, choose_layout(version, target->image().architecture(), options));
    auto vm = std::make_unique<Vm>(std::move(target), std::move(layout), options.sizes);
    VmFinder finder(*vm, symbols, search);
    RETURN_IF_ERROR(finder.find(version));
    return vm;
}

}  // namespace beamdump::beam
