#include <libdump/base/return_if_error.h>
#include <libsample/node/live_terms.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/tables/id_table.h>

namespace beamdump::sampler {
namespace {

/// Terms of one heap fit into this.
constexpr std::uint64_t kRegionBytes = std::uint64_t{1} << 40U;
/// As large as a label gets that anybody reads.
constexpr std::int64_t kTermLimit = 1000;

}  // namespace

class LiveTerms::Context final : public TermContext {
  public:
    explicit Context(ObservedNode& node) : node_(node) {}

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override {
        ASSIGN_OR_RETURN(const auto bytes,
                         node_.vm().memory().read_some(address, std::as_writable_bytes(into)));
        if (bytes < kWordBytes) {
            return fail(ErrorCode::kUnmapped, "less than a word is mapped");
        }
        return bytes / kWordBytes;
    }
    [[nodiscard]] std::uint64_t region_bytes_bound() const override { return kRegionBytes; }
    AtomText atom(std::uint32_t index) override { return node_.atom_name(index); }
    std::optional<FunctionName> export_at(std::uint64_t /*address*/) override { return {}; }
    std::optional<FunInfo> fun_entry_at(std::uint64_t /*address*/) override { return {}; }
    std::optional<NodeInfo> node_at(std::uint64_t /*address*/) override { return {}; }
    std::optional<std::uint64_t> catch_address(std::uint32_t /*index*/) override { return {}; }
    std::optional<CodeLocation> code_at(std::uint64_t /*address*/) override { return {}; }
    Result<BinaryInfo> binary_at(std::uint64_t /*address*/) override { return absent(); }
    std::optional<std::array<std::uint32_t, 3>> magic_reference(
        std::uint64_t /*address*/) override {
        return {};
    }
    Result<std::size_t> binary_bytes(std::uint64_t /*binary*/, std::uint64_t /*from*/,
                                     std::span<std::byte> /*into*/) override {
        return absent();
    }

  private:
    static std::unexpected<Error> absent() { return fail(ErrorCode::kAbsent, "not looked up"); }

    ObservedNode& node_;
};

LiveTerms::LiveTerms(std::shared_ptr<Context> context, const TagScheme& scheme)
    : context_(std::move(context)),
      printer_(std::make_shared<TermPrinter>(*context_, scheme, kTermLimit)) {}

Result<LiveTerms> LiveTerms::open(ObservedNode& node) {
    auto& vm = node.vm();
    ASSIGN_OR_RETURN(const auto number, vm.layout().constant(beam::runtime::constant::term_scheme));
    ASSIGN_OR_RETURN(auto scheme, scheme_of(static_cast<format::TermScheme>(number)));
    ASSIGN_OR_RETURN(const auto processes, beam::IdTable::processes(vm));
    ASSIGN_OR_RETURN(const auto ports, beam::IdTable::ports(vm));
    scheme.pid_slots = scheme.slots_in_identifiers ? processes.slots() : 0;
    scheme.port_slots = scheme.slots_in_identifiers ? ports.slots() : 0;
    return LiveTerms(std::make_shared<Context>(node), scheme);
}

std::string LiveTerms::text(std::uint64_t word, std::size_t most_bytes) {
    printer_->forget();
    printer_->start(word);
    std::string text;
    while (!printer_->done() && text.size() < most_bytes) {
        if (printer_->next(most_bytes - text.size(), text) == 0) {
            break;
        }
    }
    return text;
}

}  // namespace beamdump::sampler
