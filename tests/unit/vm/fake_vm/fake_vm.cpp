#include "fake_vm/fake_vm.h"

#include <libdump/format/format.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace beamdump::test {
namespace {

constexpr std::size_t kPage = kLeastPageBytes;
constexpr std::size_t kHashSlots = 16;
constexpr std::uint64_t kHashShift = 60;  // hash.h: 2^(64 - shift) slots
constexpr std::size_t kSegments = 4;      // of an index table
constexpr std::uint64_t kCodeBytes = 64;  // of a function
constexpr std::size_t kLinesEach = 2;     // of a function

}  // namespace

std::string fake_erts(std::string_view release) {
    // Its first number is 12 less than that of OTP (erts/vsn.mk, from OTP 21 on).
    constexpr unsigned kBehind = 12;
    unsigned number = 0;
    std::from_chars(release.data(), release.data() + release.size(), number);
    return fmt::format("{}.99", number - std::min(number, kBehind));
}

FakeVm::FakeVm(beam::Layout layout, std::string release)
    : read_only(memory, "read only data", 0x400000, 4 * kPage),
      data(memory, "data", 0x420000, 16 * kPage),
      code(memory, "code", 0x7f0000000000, 64 * kPage),
      heap(memory, "heap", 0x7f1000000000, 1024 * kPage),
      literals(memory, "literals", 0x7f2000000000, 256 * kPage),
      layout_(std::move(layout)),
      release_(release.empty() ? layout_.release() : std::move(release)) {
    about.arguments = {"beam.smp", "--", "-root", "/usr/lib/erlang"};
    make_version();
    // A malloc'd block never begins at a page, where only mapped ranges (the literals) do.
    heap.place(16);
    globals_.atoms = symbols_["erts_atom_table"] = make_index("atom_tab", 1);
    for (const auto* text : {"false", "true", "_", "nonode@nohost", "$end_of_table", ""}) {
        atom(text);
    }
    globals_.nodes = symbols_["erts_node_table"] = make_hash("node_table");
    globals_.distribution = symbols_["erts_dist_table"] = make_hash("dist_table");
    globals_.registered = symbols_["process_reg"] = make_hash("process_reg");
    globals_.modules = symbols_["module_tables"] = make_index("module_code", beam::kCodeIndexes);
    const bool staged = has("FunTableEntry");
    globals_.exports = symbols_["export_tables"] =
        make_index(staged ? "export_staged_index" : "export_list", beam::kCodeIndexes);
    globals_.funs =
        staged ? make_index("fun_staged_index", beam::kCodeIndexes) : make_hash("fun_table");
    symbols_[staged ? "fun_tables" : "erts_fun_table"] = globals_.funs;
    globals_.processes = symbols_["erts_proc"] = make_id_table(constant("pid_tag"), kSlots);
    globals_.ports = symbols_["erts_port"] = make_id_table(constant("port_tag"), kSlots);
    make_catches();
    globals_.active_code_index = global("the_active_code_index", 4);
    memory.put(globals_.active_code_index, kActiveCode);
    memory.put(data.place(4, 4), kActiveCode + 1);  // the_staging_code_index
    this_node_ = add_node("me@here", 7);
    add_other_node("me@here");
    globals_.this_node = global_word("erts_this_node", this_node_);
    globals_.literals_start = global_word("erts_literals_start", literals.range().begin);
    globals_.literals_bytes = global_word("erts_literals_size", literals.range().bytes());
    make_schedulers();
    make_allocators();
    make_jit_list();
    make_persistent_terms();
}

std::unique_ptr<target::Target> FakeVm::open(Symbols symbols) {
    ImagePlan plan;
    plan.read_only = {read_only.range()};
    plan.writable = {data.range()};
    if (symbols == Symbols::kAll) {
        plan.symbols = symbols_;
    }
    std::vector<target::Mapping> mappings;
    std::vector<memory::AddressRange> present;
    for (const auto* arena : {&read_only, &data, &code, &heap, &literals}) {
        auto& mapping = mappings.emplace_back();
        mapping.range = arena->range();
        mapping.readable = true;
        mapping.writable = arena == &data || arena == &heap;
        mapping.executable = arena == &code || arena == &read_only;
        mapping.path = arena == &read_only ? "/usr/lib/erlang/beam.smp" : "";
        present.push_back(arena->range());
        if (about.absent && arena->range().contains(about.absent->begin)) {
            present.back().end = about.absent->begin;
            present.push_back({about.absent->end, arena->range().end});
        }
    }
    // Only a small part of the literals' range is ever touched.
    present.back().end = (literals.next() + kPage) / kPage * kPage;
    auto all = target::Mappings::of(std::move(mappings));
    return std::make_unique<FakeTarget>(memory, make_image(plan), all.value(), std::move(present),
                                        about);
}

Result<std::unique_ptr<beam::Vm>> FakeVm::locate(Symbols symbols) {
    beam::LocateOptions options;
    options.layout = layout_;
    return beam::locate_vm(open(symbols), options);
}

std::unique_ptr<beam::Vm> FakeVm::located(Symbols symbols) {
    auto vm = locate(symbols);
    if (!vm) {
        throw std::logic_error(vm.error().message);
    }
    return std::move(*vm);
}

std::uint64_t FakeVm::constant(std::string_view name) const {
    return constant({name});
}

std::uint64_t FakeVm::constant(std::initializer_list<std::string_view> names) const {
    for (const auto name : names) {
        if (const auto found = layout_.constant(name)) {
            return *found;
        }
    }
    throw std::logic_error(fmt::format("{} lacks constant {}", layout_.name(), *names.begin()));
}

bool FakeVm::has(std::string_view structure) const {
    return layout_.structure(structure).has_value();
}

std::uint32_t FakeVm::bytes(const std::string& structure) const {
    return layout_.structure(structure).value()->bytes;
}

FakeStruct FakeVm::make(const std::string& structure, std::size_t more) {
    return at(structure, heap.place(bytes(structure) + more));
}

FakeStruct FakeVm::at(const std::string& structure, Address address) {
    return {memory, layout_, structure, address};
}

std::uint64_t FakeVm::header(std::uint64_t words, std::uint64_t subtag) const {
    return words << constant("header_arity_shift") | subtag;
}

std::uint64_t FakeVm::small(std::int64_t value) const {
    return static_cast<std::uint64_t>(value) << 4U | constant("small_tag");
}

std::uint32_t FakeVm::index_of(std::uint64_t atom) const {
    return static_cast<std::uint32_t>(atom >> constant("atom_shift"));
}

std::uint64_t FakeVm::atom(std::string_view text) {
    if (const auto known = atoms_.find(text); known != atoms_.end()) {
        return known->second;
    }
    auto entry = make("Atom");
    entry.set("index", atoms_.size()).set("len", text.size());
    if (entry.has("name")) {
        entry.set("name", heap.place_text(text));
    } else {
        // A binary on the literals' heap if it may be that long; else a part of a Binary.
        constexpr std::size_t kLongest = 64;
        if (text.size() <= kLongest) {
            const auto words = (text.size() + 7) / 8;
            const auto thing = literals.place(bytes("ErlHeapBits") + words * 8);
            at("ErlHeapBits", thing)
                .set("thing_word", header(words + 1, constant("heap_bits_subtag")))
                .set("size", text.size() * 8);
            memory.put_bytes(at("ErlHeapBits", thing).at("data"),
                             std::as_bytes(std::span(text.data(), text.size())));
            entry.set("u.bin", thing | kBoxed);
        } else {
            const auto thing = literals.place(bytes("ErlSubBits"));
            at("ErlSubBits", thing)
                .set("thing_word", header(bytes("ErlSubBits") / 8 - 1, constant("sub_bits_subtag")))
                .set("base_flags", at("Binary", add_binary(text)).at("orig_bytes"))
                .set("start", 0)
                .set("end", text.size() * 8);
            entry.set("u.bin", thing | kBoxed);
        }
    }
    const auto word = std::uint64_t{atoms_.size()} << constant("atom_shift") | constant("atom_tag");
    add_to_index(globals_.atoms, 1, entry.address());
    atoms_.emplace(text, word);
    return word;
}

// erl_term.h, erl_ptab.h: in OTP 25 the slot is the word's upper half; later its lowest data bits.
std::uint64_t FakeVm::identifier(std::uint32_t slot, std::uint64_t tag) const {
    constexpr std::uint64_t kDataBits = 28;
    const std::uint64_t bits =
        constant("pid_number_bits") >= kDataBits ? slot : std::uint64_t{slot} << 28U | slot;
    return bits << constant("pid_shift") | tag;
}

std::uint64_t FakeVm::pid(std::uint32_t slot) const {
    return identifier(slot, constant("pid_tag"));
}

FakeStruct FakeVm::add_port(std::uint32_t slot, std::string_view name, std::string_view driver) {
    auto entry = make("ErtsDriver");
    entry.set("name", read_only.place_text(driver));
    auto port = make("Port");
    port.set("common.id", identifier(slot, constant("port_tag")))
        .set("state", constant("port_state_connected"))
        .set("name", heap.place_text(name))
        .set("drv_ptr", entry.address())
        .set("os_pid", ~std::uint64_t{0});
    put_in(globals_.ports, slot, port.address());
    return port;
}

void FakeVm::register_name(std::string_view name, Address process) {
    auto entry = make("RegProc");
    entry.set("p", process).set("name", atom(name));
    add_to_hash(globals_.registered, entry.address());
    at("Process", process).set("common.reg", entry.address());
}

void FakeVm::put_in(Address id_table, std::uint32_t slot, Address element) {
    auto table = at("ErtsPTab", id_table);
    const auto place = table.get("tab") + std::uint64_t{slot} * 8;
    table.set("vola.count", table.get("vola.count") + (element != 0 ? 1 : 0));
    memory.put(place, element);
}

void FakeVm::put_slot(std::uint32_t slot, Address process) {
    put_in(globals_.processes, slot, process);
}

void FakeVm::put_lines(FakeModule& module, std::size_t functions) {
    const auto count = functions * kLinesEach;
    const auto table = code.place(bytes("BeamCodeLineTab") + functions * 8);
    std::vector<std::uint64_t> addresses;
    for (const auto function : module.functions) {
        for (std::size_t line = 0; line < kLinesEach; ++line) {
            addresses.push_back(function + line * 8);
        }
    }
    auto lines = at("BeamCodeLineTab", table);
    const auto first = code.place_words(addresses);
    for (std::size_t index = 0; index <= functions; ++index) {
        memory.put(lines.at("func_tab") + index * 8, first + index * kLinesEach * 8);
    }
    // Up to OTP 24 an atom (beam_ranges.c), then a string.
    lines.set("fname_ptr", code.place_words({is_otp_24() ? atom("a.erl") : kAString}));
    lines.set("loc_size", 2);
    lines.set("loc_tab", code.place(count * 2));
    for (std::size_t line = 0; line < count; ++line) {
        memory.put(lines.get("loc_tab") + line * 2, static_cast<std::uint16_t>(line + 10));
    }
    module.lines = table;
}

FakeModule FakeVm::add_module(std::string_view name, const std::vector<std::string>& functions) {
    FakeModule module;
    module.name = atom(name);
    module.header = code.place(bytes("BeamCodeHeader") + functions.size() * 8);
    auto head = at("BeamCodeHeader", module.header);
    for (std::size_t index = 0; index < functions.size(); ++index) {
        const auto info = code.place(bytes("ErtsCodeInfo"));
        at("ErtsCodeMFA", at("ErtsCodeInfo", info).at("mfa"))
            .set("module", module.name)
            .set("function", atom(functions[index]))
            .set("arity", index);
        module.infos.push_back(info);
        module.functions.push_back(code.place(kCodeBytes));
        memory.put(head.at("functions") + index * 8, info);
    }
    memory.put(head.at("functions") + functions.size() * 8, code.next());
    put_lines(module, functions.size());
    module.md5 = code.place(16);
    memory.put(module.md5, std::array<std::uint64_t, 2>{0x1122334455667788, 0x99});
    module.attributes = code.place(8);
    memory.put(module.attributes, std::uint64_t{0x42416A83});  // term_to_binary([]), and more
    module.end = code.next();

    module.literal_area = literals.place(at("ErtsLiteralArea", 0).at("start"));
    literals.place_words({header(1, 0), atom(name)});
    at("ErtsLiteralArea", module.literal_area).set("end", literals.next());
    head.set("num_functions", functions.size())
        .set("literal_area", module.literal_area)
        .set("line_table", module.lines)
        .set("md5_ptr", module.md5);
    at("CodeAttributes", module.header).set("attr_ptr", module.attributes).set("attr_size", 4);

    auto record = make("Module");
    record.set("module", index_of(module.name));
    at("ModuleInstance", record.at("curr"))
        .set("code_hdr", module.header)
        .set("code_length", module.end - module.header);
    // Behind the fields that are read an instance has addresses of what belongs to its code.
    memory.put(record.at("curr") + bytes("ModuleInstance") - 16, heap.range().begin);
    module.record = record.address();
    add_to_index(globals_.modules, beam::kCodeIndexes, module.record);
    add_range(module);
    return module;
}

bool FakeVm::is_otp_24() const {
    return constant("term_scheme") == static_cast<std::uint64_t>(format::TermScheme::kOtp24);
}

Address FakeVm::add_fun(const FakeModule& module, std::uint32_t index, std::uint32_t arity) {
    const bool staged = has("FunTableEntry");
    const bool contained = !staged && !is_otp_24();
    auto object = make(staged      ? "FunTableEntry"
                       : contained ? "ErlFunEntryContainer"
                                   : "ErlFunEntry");
    auto entry = staged      ? make("ErlFunEntry")
                 : contained ? at("ErlFunEntry", object.at("entry"))
                             : object;
    entry.set("module", module.name)
        .set("arity", arity)
        .set("index", index)
        .set("old_index", index)
        .set("old_uniq", 77)
        .set("uniq", 0xabcdef)
        .set_if_any("refc", 3);
    // erl_fun.h: up to OTP 24 one address for all code indexes.
    const auto indexes = contained || staged ? beam::kCodeIndexes : 1;
    for (std::size_t code_index = 0; code_index < indexes; ++code_index) {
        entry.set_word("dispatch", code_index, module.functions.front());
    }
    if (staged) {
        object.set("object", entry.address());
        add_to_index(globals_.funs, beam::kCodeIndexes, object.address());
    } else {
        add_to_hash(globals_.funs, object.address());
    }
    return entry.address();
}

Address FakeVm::add_export(const FakeModule& module, std::string_view function,
                           std::uint32_t arity) {
    auto exported = make("Export");
    exported.set_word("info.mfa", 0, module.name)
        .set_word("info.mfa", 1, atom(function))
        .set_word("info.mfa", 2, arity)
        .set_word("dispatch", kActiveCode, module.functions.front());
    auto entry = make("ExportEntry");
    entry.set("ep", exported.address());
    add_to_index(globals_.exports, beam::kCodeIndexes, entry.address());
    return exported.address();
}

Address FakeVm::add_node(std::string_view name, std::uint32_t creation) {
    auto node = make("ErlNode");
    node.set("sysname", atom(name)).set("creation", creation).set("refc", 2);
    add_to_hash(globals_.nodes, node.address());
    return node.address();
}

FakeStruct FakeVm::add_other_node(std::string_view name) {
    auto node = make("DistEntry");
    node.set("sysname", atom(name)).set("cid", constant("nil"));
    add_to_hash(globals_.distribution, node.address());
    return node;
}

Address FakeVm::add_binary(std::string_view content, std::uint64_t references) {
    auto binary = make("Binary", content.size());
    binary.set("refc", references).set("orig_size", content.size());
    memory.put_bytes(binary.at("orig_bytes"),
                     std::as_bytes(std::span(content.data(), content.size())));
    return binary.address();
}

Address FakeVm::add_magic_binary(std::uint64_t first_word) {
    auto binary = make("ErtsMagicBinary");
    at("Binary", binary.address())
        .set("flags", constant("binary_flag_magic"))
        .set("refc", 1)
        .set("orig_size", 8);
    memory.put(binary.at("refn"), std::array<std::uint32_t, 3>{11, 22, 33});
    memory.put(binary.at("unaligned_data"), first_word);
    return binary.address();
}

void FakeVm::add_to_hash(Address table, Address object) {
    auto hash = at("Hash", table);
    const auto objects = hash.get("nobjs");
    const auto bucket = hash.get("bucket") + objects % kHashSlots * 8;
    at("HashBucket", object).set("next", memory.word(bucket).value());
    memory.put(bucket, object);
    hash.set("nobjs", objects + 1);
}

void FakeVm::add_to_index(Address table, std::size_t copies, Address object) {
    const auto shift = constant("index_page_shift");
    auto first = at("IndexTable", table);
    const auto index = first.get("entries");
    const auto slot = first.get("seg_table") + (index >> shift) * 8;
    if (memory.word(slot).value() == 0) {
        memory.put(slot, heap.place(std::size_t{8} << shift));
    }
    const auto within = index & ((std::uint64_t{1} << shift) - 1);
    memory.put(memory.word(slot).value() + within * 8, object);
    for (std::size_t copy = 0; copy < copies; ++copy) {
        const auto here = table + copy * bytes("IndexTable");
        at("IndexTable", here).set("entries", index + 1).set("size", kSegments << shift);
        at("Hash", here).set("nobjs", index + 1);
    }
}

}  // namespace beamdump::test
