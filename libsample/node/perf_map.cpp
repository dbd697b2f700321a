#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libsample/node/perf_map.h>

#include <fmt/format.h>

namespace beamdump::sampler {
namespace {

constexpr std::uint32_t kFunctionsOfAPage = 4096;

struct MappedFunction {
    Address start = 0;
    std::string name;
};

void print(Output& output, const MappedFunction& function, Address end) {
    if (end > function.start) {
        output.write(perf_map_line(function.start, end, function.name));
    }
}

Result<void> map_module(ObservedNode& node, beam::ModuleReader& reader,
                        const beam::ModuleCode& code, Output& output) {
    std::optional<MappedFunction> last;
    for (std::uint32_t first = 0;; first += kFunctionsOfAPage) {
        ASSIGN_OR_RETURN(const auto page, reader.functions(code, first, kFunctionsOfAPage));
        for (int at = 0; at < page.start_address_size(); ++at) {
            MappedFunction next{page.start_address(at), node.function_text(beam::CodeMfa{
                                                            .module_atom = code.name_atom,
                                                            .function_atom = page.name_atom(at),
                                                            .arity = page.arity(at)})};
            if (last) {
                print(output, *last, next.start);
            }
            last = std::move(next);
        }
        if (page.start_address_size() < static_cast<int>(kFunctionsOfAPage)) {
            break;
        }
    }
    if (last) {
        ASSIGN_OR_RETURN(const auto end, reader.functions_end(code));
        print(output, *last, end);
    }
    return {};
}

}  // namespace

std::string perf_map_line(Address begin, Address end, std::string_view function) {
    return fmt::format("{:x} {:x} ${}\n", begin, end - begin, one_line(function));
}

Result<void> perf_map(ObservedNode& node, Output& output) {
    RETURN_IF_ERROR(node.check_machine_code());
    ASSIGN_OR_RETURN(auto reader, beam::ModuleReader::open(node.vm()));
    for (const auto& fragment : node.shared().fragments()) {
        print(output, {fragment.begin, fragment.name}, fragment.end);
    }
    for (const auto& code : node.code().modules()) {
        RETURN_IF_ERROR(map_module(node, reader, code, output));
    }
    return {};
}

}  // namespace beamdump::sampler
