#include <libdump/base/return_if_error.h>
#include <libdump/term/atom_text.h>
#include <libsample/node/observed_node.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/tables/node_tables.h>
#include <libvm/beam/vm/steady_read.h>
#include <libvm/fit/layout_check.h>
#include <libvm/target/live_target.h>

#include <fmt/format.h>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kKnownAtoms = 65536;
constexpr std::size_t kKeptFunctions = std::size_t{1} << 17U;
constexpr std::uint32_t kAtomsOfAPage = 4096;
constexpr std::size_t kPageTextBytes = std::size_t{1} << 20U;

std::optional<std::string> doubt_of(const fit::CheckedVm& checked) {
    if (checked.of_the_release()) {
        return std::nullopt;
    }
    return fmt::format("the layout {} was not made for OTP {}: {}", checked.vm->layout().name(),
                       checked.vm->facts().otp_release,
                       checked.inferred ? "it was inferred on this node" : "it was given");
}

}  // namespace

Result<std::unique_ptr<ObservedNode>> ObservedNode::open(pid_t pid, const beam::LocateOptions& how,
                                                         const std::atomic<bool>& cancelled) {
    const auto open_target = [pid] { return target::LiveTarget::open(pid); };
    ASSIGN_OR_RETURN(auto checked,
                     fit::locate_checked(open_target, how, beam::kCheckTries, cancelled));
    auto doubt = doubt_of(checked);
    std::unique_ptr<ObservedNode> node(new ObservedNode(std::move(checked.vm)));
    node->doubt_ = std::move(doubt);
    ASSIGN_OR_RETURN(auto atoms, beam::AtomReader::open(node->vm()));
    node->atoms_ = std::move(atoms);
    RETURN_IF_ERROR(node->refresh_code());
    ASSIGN_OR_RETURN(const auto self, beam::read_node_name(node->vm()));
    node->name_ = node->atoms_->text(self.atom).value_or("");
    if (node->vm().facts().jit) {
        ASSIGN_OR_RETURN(const auto search, beam::ImageSearch::read(node->vm().target()));
        ASSIGN_OR_RETURN(const auto jit, beam::find_jit_self(node->vm(), search));
        node->shared_ = SharedCode(jit, node->vm().tables().code_points);
    } else {
        node->shared_ = SharedCode(node->vm().tables().code_points);
    }
    return node;
}

Result<void> ObservedNode::check_samples() const {
    const auto erts = erts_version(vm_->facts().erts_version);
    return !erts.is_known() || erts >= ErtsVersion{{13}}
               ? Result<void>()
               : fail(ErrorCode::kUnsupported,
                      "this program cannot yet tell which function of OTP 24 or before a sample is "
                      "in; stacks, threads, off-cpu and top work on such a node");
}

Result<void> ObservedNode::check_machine_code() const {
    return vm_->facts().jit
               ? Result<void>()
               : fail(ErrorCode::kUnsupported,
                      "the emulator is the interpreter, whose functions have no machine code");
}

Result<void> ObservedNode::refresh_code() {
    const auto read = [this]() -> Result<beam::CodeLookup> {
        RETURN_IF_ERROR(vm_->refresh());
        return beam::CodeLookup::read(*vm_);
    };
    ASSIGN_OR_RETURN(auto code, beam::read_steadily([] { return true; }, *vm_, read));
    if (code_) {
        *code_ = std::move(code);
    } else {
        code_ = std::make_unique<beam::CodeLookup>(std::move(code));
    }
    return {};
}

std::optional<std::string> ObservedNode::place_at(Address pc) {
    if (const auto function = code_->function_at(pc)) {
        return function_text(*function);
    }
    if (const auto name = shared_.name_at(pc)) {
        return fmt::format("<{}>", *name);
    }
    return std::nullopt;
}

std::string ObservedNode::function_text(const beam::CodeMfa& function) {
    const auto text = [this](std::uint32_t index) { return atom(index).value_or("?"); };
    auto told = fmt::format("{}:{}/{}", text(function.module_atom), text(function.function_atom),
                            function.arity);
    if (functions_ && functions_->size() < kKeptFunctions) {
        functions_->emplace(told, function);
    }
    return told;
}

std::optional<beam::CodeMfa> ObservedNode::function_named(const std::string& text) const {
    if (!functions_) {
        return std::nullopt;
    }
    const auto found = functions_->find(text);
    return found == functions_->end() ? std::nullopt : std::optional(found->second);
}

std::string ObservedNode::function_text(const records::Mfa& function) {
    return function_text(
        beam::CodeMfa{function.module_atom(), function.function_atom(), function.arity()});
}

std::optional<std::string> ObservedNode::atom(std::uint32_t index) {
    const auto name = atom_name(index);
    return name ? std::optional(quoted_atom(*name)) : std::nullopt;
}

std::optional<std::string> ObservedNode::atom_name(std::uint32_t index) {
    if (const auto known = known_atoms_.find(index); known != known_atoms_.end()) {
        return known->second;
    }
    if (index >= atoms_->count()) {
        // Newer than what was read of the table.
        vm_->forget();
        auto again = beam::AtomReader::open(*vm_);
        if (!again) {
            return std::nullopt;
        }
        atoms_ = std::move(*again);
    }
    auto text = atoms_->text(index);
    if (!text) {
        return std::nullopt;
    }
    if (known_atoms_.size() >= kKnownAtoms) {
        known_atoms_.clear();
    }
    return known_atoms_.emplace(index, std::move(*text)).first->second;
}

Result<std::optional<std::uint32_t>> ObservedNode::find_atom(std::string_view name) {
    for (std::uint32_t first = 0; first < atoms_->count();) {
        ASSIGN_OR_RETURN(const auto page, atoms_->page(first, kAtomsOfAPage, kPageTextBytes));
        if (page.text_size() == 0) {
            break;
        }
        for (int at = 0; at < page.text_size(); ++at) {
            if (page.text(at) == name) {
                return first + static_cast<std::uint32_t>(at);
            }
        }
        first += static_cast<std::uint32_t>(page.text_size());
    }
    return std::nullopt;
}

}  // namespace beamdump::sampler
