#pragma once

#include "fake_vm/fake_image.h"
#include "fake_vm/fake_space.h"
#include "fake_vm/fake_target.h"

#include <libvm/beam/locate/locate.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::test {

/// Code of a module in a fake VM.
struct FakeModule {
    std::uint64_t name = 0;          ///< the atom's word
    Address header = 0;              ///< BeamCodeHeader
    Address end = 0;                 ///< of the code
    Address md5 = 0;                 ///< 16 bytes
    Address attributes = 0;          ///< 8 bytes, the last of the code
    Address lines = 0;               ///< BeamCodeLineTab
    Address literal_area = 0;        ///< ErtsLiteralArea
    Address record = 0;              ///< Module, the table's entry
    std::vector<Address> infos;      ///< ErtsCodeInfo of each function
    std::vector<Address> functions;  ///< where each function's code begins
};

/// The version of a release's runtime system, later than each patch of its layout.
std::string fake_erts(std::string_view release);

/// The address space of a node that exists only in a test, built with one of the program's layouts:
/// it matches a release as far as the layout does. It has all tables of the runtime, its own node
/// and atoms from the start; the rest is added (see also fake_process.h, fake_queue.h,
/// fake_relations.h, standard_node.h). Building mistakes throw.
class FakeVm {
  public:
    /// `release`: what its version says, where that is not the layout's.
    explicit FakeVm(beam::Layout layout, std::string release = {});
    FakeVm(const FakeVm&) = delete;
    FakeVm& operator=(const FakeVm&) = delete;
    ~FakeVm() = default;

    /// Locates it as the program would, in a stripped executable or by its symbols.
    enum class Symbols : std::uint8_t { kNone, kAll };
    Result<std::unique_ptr<beam::Vm>> locate(Symbols symbols = Symbols::kAll);
    /// The same; an error is the test's mistake and throws.
    std::unique_ptr<beam::Vm> located(Symbols symbols = Symbols::kAll);
    std::unique_ptr<target::Target> open(Symbols symbols = Symbols::kAll);

    [[nodiscard]] const beam::Layout& layout() const { return layout_; }
    [[nodiscard]] std::uint64_t constant(std::string_view name) const;
    /// The first of these that the layout has.
    [[nodiscard]] std::uint64_t constant(std::initializer_list<std::string_view> names) const;
    [[nodiscard]] bool has(std::string_view structure) const;
    [[nodiscard]] std::uint32_t bytes(const std::string& structure) const;

    /// A structure of zeros on the heap, with that many bytes after it.
    FakeStruct make(const std::string& structure, std::size_t more = 0);
    [[nodiscard]] FakeStruct at(const std::string& structure, Address address);

    std::uint64_t atom(std::string_view text);
    [[nodiscard]] std::uint32_t atom_index(std::string_view text) { return index_of(atom(text)); }
    [[nodiscard]] std::uint64_t pid(std::uint32_t slot) const;
    [[nodiscard]] std::uint64_t small(std::int64_t value) const;
    /// A header word for that many words after it.
    [[nodiscard]] std::uint64_t header(std::uint64_t words, std::uint64_t subtag) const;

    void register_name(std::string_view name, Address process);
    void put_slot(std::uint32_t slot, Address process);
    /// An open port with that id's number in that slot of the table of ports.
    FakeStruct add_port(std::uint32_t slot, std::string_view name, std::string_view driver);
    FakeModule add_module(std::string_view name, const std::vector<std::string>& functions);
    /// An ErlFunEntry. Gives its address.
    Address add_fun(const FakeModule& module, std::uint32_t index, std::uint32_t arity);
    /// An Export. Gives its address.
    Address add_export(const FakeModule& module, std::string_view function, std::uint32_t arity);
    Address add_node(std::string_view name, std::uint32_t creation);
    /// A node that is not connected, in the table of connections. Gives its DistEntry.
    FakeStruct add_other_node(std::string_view name);
    void add_catch(std::uint32_t index, Address code);
    /// A Binary with these bytes.
    Address add_binary(std::string_view bytes, std::uint64_t references = 1);
    /// A magic Binary; `data`: the first word that it keeps.
    Address add_magic_binary(std::uint64_t data);
    /// Adds an object to a hash table, or to index tables that are in a row.
    void add_to_hash(Address table, Address object);
    void add_to_index(Address table, std::size_t copies, Address object);

    /// An instance of an allocator (Allctr), of which most have kAllocatorInstances.
    [[nodiscard]] FakeStruct allocator(std::uint32_t number, std::uint32_t index);
    /// Sets what it counts as blocks that were requested from an allocator.
    void count_blocks(std::uint32_t number, std::uint32_t index, std::uint32_t requested,
                      std::uint64_t count, std::uint64_t size);
    /// A carrier that it counts; one in the pool of instance 1; a segment in mseg_alloc's cache.
    Address add_carrier(std::uint32_t number, std::uint32_t index, std::uint64_t size);
    Address add_pooled_carrier(std::uint32_t number, std::uint64_t size);
    Address add_cached_segment(std::uint32_t index, std::uint64_t size);

    /// By its scheme of terms: structures and lists of the JIT that only that release has so.
    [[nodiscard]] bool is_otp_24() const;

    /// The word of a module's file name; nothing is there.
    static constexpr std::uint64_t kAString = 0x7f20000000f1;
    static constexpr std::uint32_t kAllocatorInstances = 2;
    static constexpr std::uint32_t kSlots = 1024;
    static constexpr std::uint32_t kActiveCode = 1;
    static constexpr std::uint32_t kNormalExitOffset = 0x40;

    /// Where the globals are.
    struct Globals {
        Address processes, ports, atoms, modules, exports, funs, nodes, registered, catches;
        Address active_code_index, this_node, literals_start, literals_bytes, jit_descriptor;
        Address allocators, thread_allocators, segment_allocators, default_mapper, literal_mapper;
        Address code_ranges;
        Address schedulers;       ///< the normal ones' array
        Address scheduler_count;  ///< of the normal ones
        Address persistent_terms;
        Address distribution;
    };
    [[nodiscard]] const Globals& globals() const { return globals_; }
    [[nodiscard]] Address normal_exit() const { return shared_code_ + kNormalExitOffset; }
    [[nodiscard]] Address this_node() const { return this_node_; }

    FakeMemory memory;
    FakeTarget::About about;
    Arena read_only, data, code, heap, literals;

  private:
    [[nodiscard]] std::uint32_t index_of(std::uint64_t atom) const;
    Address make_hash(std::string_view name);
    Address make_index(std::string_view name, std::size_t copies);
    void fill_hash(Address table, std::string_view name);
    Address make_id_table(std::uint64_t tag, std::uint32_t slots);
    void put_in(Address id_table, std::uint32_t slot, Address element);
    [[nodiscard]] std::uint64_t identifier(std::uint32_t slot, std::uint64_t tag) const;
    void make_catches();
    void make_schedulers();
    void make_allocators();
    void make_persistent_terms();
    FakeStruct make_allocator(std::uint32_t number, std::uint32_t index);
    void make_fixed_sizes(FakeStruct& allocator);
    void make_segment_allocators();
    Address make_mapper(std::string name);
    void add_range(const FakeModule& module);
    void make_jit_list();
    void make_version();
    void put_lines(FakeModule& module, std::size_t functions);
    Address global(std::string name, std::size_t bytes);
    Address global_word(std::string name, std::uint64_t value);

    beam::Layout layout_;
    std::string release_;
    Globals globals_{};
    Address this_node_ = 0;
    Address shared_code_ = 0;
    std::map<std::string, std::uint64_t, std::less<>> atoms_;
    std::map<std::string, Address> symbols_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Address> allocators_;
};

}  // namespace beamdump::test
