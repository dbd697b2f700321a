#include <libdump/base/terminal_text.h>
#include <libvm/fit/layout_text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beamdump::fit {
namespace {

std::string origin_text(const LayoutFit& fit) {
    if (fit.inferred) {
        return fmt::format("inferred on this node from {}",
                           one_line(fmt::format("{}", fmt::join(fit.inferred->from, " and "))));
    }
    if (fit.layout_given) {
        return "given by --layout";
    }
    return fit.layout_release == fit.otp_release ? "made for this release"
                                                 : "made for OTP " + one_line(fit.layout_release);
}

}  // namespace

std::string fields_text(const std::vector<std::string>& names) {
    constexpr std::string_view kIndent = "    ";
    constexpr std::size_t kLineWidth = 88;
    std::string text;
    std::string line;
    std::string_view structure;
    const auto end_line = [&] {
        text += line.empty() ? "" : line + '\n';
        line.clear();
    };
    for (const std::string_view name : names) {
        const auto dot = name.find('.');
        if (name.substr(0, dot) != structure) {
            end_line();
            structure = name.substr(0, dot);
            line = fmt::format("{}{}:", kIndent, one_line(structure));
        }
        const auto field = one_line(name.substr(dot + 1));
        if (line.size() + 1 + field.size() > kLineWidth) {
            end_line();
            line = fmt::format("{} ", kIndent);
        }
        line += fmt::format(" {}", field);
    }
    end_line();
    return text;
}

std::string layout_text(const LayoutFit& fit) {
    const auto& checks = fit.checks;
    auto text = fmt::format("Layout {}, {}\n", one_line(fit.layout_name), origin_text(fit));
    if (fit.inferred && !fit.inferred->left_out.empty()) {
        text += fmt::format("  left out, no check could find them: {}\n",
                            one_line(fmt::format("{}", fmt::join(fit.inferred->left_out, ", "))));
    }
    text += fmt::format(
        "  it fits: {} atoms, {} functions of {} modules, {} processes with {} heap bounds and {} "
        "return addresses\n",
        checks.atoms, checks.functions, checks.modules, checks.processes, checks.heap_bounds,
        checks.return_addresses);
    text += fmt::format(
        "  {} dictionary slots, {} links, {} monitors; {} objects on heaps, of them {} binaries "
        "and "
        "{} funs\n",
        checks.dictionary_slots, checks.links, checks.monitors, checks.terms, checks.binaries,
        checks.funs);
    if (!fit.probed) {
        return text;
    }
    text += fmt::format(
        "  {} of its {} fields are verified here: a shift of 8 bytes is noticed. Not noticed:\n",
        fit.fields.seen.size(), fit.fields.seen.size() + fit.fields.unseen.size());
    return text + fields_text(fit.fields.unseen);
}

}  // namespace beamdump::fit
