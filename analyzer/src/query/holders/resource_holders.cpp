#include "query/holders/resource_holders.h"

#include "query/facts/dump_facts.h"
#include "query/memory/binary_records.h"
#include "query/process/process_binaries.h"
#include "query/process/process_names.h"
#include "query/rows/fields.h"
#include "query/tables/resource_types.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

/// What one process, table, module or all persistent terms refer to.
struct ResourceHolderLine {
    std::optional<std::string> pid;
    std::optional<std::string> name;
    std::optional<std::string> held_in;
    std::uint64_t references = 0;
    std::uint64_t resources = 0;
};

constexpr auto kHolderFields = std::to_array<Field<ResourceHolderLine>>({
    field<&ResourceHolderLine::pid>(
        {.name = "pid",
         .title = "PID",
         .sentence = "The process that holds them, or the owner of the table; absent for literals "
                     "and persistent terms"}),
    field<&ResourceHolderLine::name>({.name = "name",
                                      .title = "NAME OR INITIAL CALL",
                                      .shrinks = true,
                                      .sentence = "Of that process"}),
    field<&ResourceHolderLine::held_in>(
        {.name = "held_in",
         .title = "HELD IN",
         .shrinks = true,
         .sentence = "ETS table NAME, literals of module NAME, or persistent terms; absent for the "
                     "terms of the process itself"}),
    field<&ResourceHolderLine::references>(
        {.name = "references",
         .title = "REFERENCES",
         .kind = ColumnKind::kCount,
         .sentence = "References to resources of the type, those of a process's garbage included"}),
    field<&ResourceHolderLine::resources>({.name = "resources",
                                           .title = "RESOURCES",
                                           .kind = ColumnKind::kCount,
                                           .sentence = "Different resources among them"}),
});
constexpr auto kHolderColumns = columns_of(kHolderFields);

/// The resources of one type, and which of them something refers to.
class ResourceCounts {
  public:
    explicit ResourceCounts(const InputLimits& limits) : budget_(limits) {}

    Result<void> add(std::uint64_t address) {
        constexpr std::uint64_t kResourceMemory = 48;
        budget_.use_memory(kResourceMemory);
        last_holder_.emplace(address, 0);
        return budget_.check_memory();
    }
    void begin_holder() {
        ++holder_;
        references_ = resources_ = 0;
    }
    /// Counts it if it is one of them.
    void meet(std::uint64_t address) {
        const auto known = last_holder_.find(address);
        if (known == last_holder_.end()) {
            return;
        }
        ++references_;
        referred_to_ += known->second == 0 ? 1 : 0;
        resources_ += std::exchange(known->second, holder_) == holder_ ? 0 : 1;
    }
    [[nodiscard]] std::uint64_t references() const { return references_; }
    [[nodiscard]] std::uint64_t resources() const { return resources_; }
    [[nodiscard]] std::uint64_t referred_to() const { return referred_to_; }

  private:
    Budget budget_;
    std::unordered_map<std::uint64_t, std::uint64_t> last_holder_;  ///< 0: none yet
    std::uint64_t holder_ = 0;
    std::uint64_t references_ = 0;
    std::uint64_t resources_ = 0;
    std::uint64_t referred_to_ = 0;
};

class ResourceVisitor final : public SweepVisitor {
  public:
    explicit ResourceVisitor(ResourceCounts& counts) : counts_(counts) {}
    [[nodiscard]] bool wants_immediates() const override { return false; }
    Result<void> met(const HeapObject& object, std::span<const WalkLevel> /*path*/) override {
        if (const auto address = magic_binary_of(object); address != 0) {
            counts_.meet(address);
        }
        return {};
    }

  private:
    ResourceCounts& counts_;
};

class ResourceHolderSearch {
  public:
    ResourceHolderSearch(Dump& dump, const InputLimits& limits, ResourceHolders& answer)
        : dump_(dump), limits_(limits), counts_(limits), names_(dump), answer_(answer) {}

    /// The structures of the type's name; a library that was loaded anew has made another one.
    Result<std::set<std::uint64_t>> find_type() {
        std::set<std::uint64_t> found;
        std::set<std::string> all;
        ASSIGN_OR_RETURN(const auto types, resource_types(dump_));
        if (types.empty()) {
            return not_in_dump(dump_, "types of NIF resources");
        }
        for (const auto& type : types) {
            const auto name = resource_type_name(dump_, type);
            all.insert(name);
            if (name == answer_.type) {
                found.insert(type.struct_address());
                if (type.has_living()) {
                    answer_.living = answer_.living.value_or(0) + type.living();
                }
            }
        }
        if (found.empty()) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("there is no type of NIF resources \"{}\" in the dump; there "
                                    "are: {}",
                                    answer_.type, fmt::join(all, ", ")));
        }
        return found;
    }

    Result<void> run(const std::set<std::uint64_t>& types, const ReadProgress& progress) {
        RETURN_IF_ERROR(
            visit_binaries(dump_, limits_, [&](const records::Binary& binary) -> Result<bool> {
                const auto added = types.contains(binary.resource_type_address())
                                       ? counts_.add(binary.address())
                                       : Result<void>();
                return added ? Result<bool>(true) : std::unexpected(added.error());
            }));
        // Which resources a process refers to is no content of it.
        ASSIGN_OR_RETURN(answer_.read,
                         visit_processes(dump_, {.sensitive = true, .progress = progress},
                                         [this](OpenedProcess& process) { return add(process); }));
        RETURN_IF_ERROR(add_node());
        answer_.referred_to = counts_.referred_to();
        return {};
    }

  private:
    Result<void> add(OpenedProcess& process) {
        counts_.begin_holder();
        RETURN_IF_ERROR(visit_off_heap_binaries(
            dump_, process, OffHeapLists::kWithMagic,
            [this](std::uint64_t, std::uint64_t binary) { counts_.meet(binary); }));
        if (counts_.references() != 0) {
            names_.add_to(process);
            tell({.process = process.line, .table = {}, .module = {}});
        }
        return {};
    }

    Result<void> add_node() {
        NodeSweep node(limits_);
        ResourceVisitor visitor(counts_);
        std::optional<TermOwner> owner;
        const auto begin_next = [&](const TermOwner& next) {
            if (owner && counts_.references() != 0) {
                tell(*owner);
            }
            counts_.begin_holder();
            owner = next;
        };
        counts_.begin_holder();
        RETURN_IF_ERROR(node.rows(dump_, visitor, begin_next));
        RETURN_IF_ERROR(node.literals(dump_, visitor, begin_next));
        RETURN_IF_ERROR(node.persistent_terms(dump_, visitor, begin_next));
        begin_next({});
        answer_.node = node.counts();
        answer_.unreadable = answer_.node.unreadable;
        return {};
    }

    void tell(const TermOwner& owner) {
        ResourceHolderLine line;
        if (!owner.process.pid.empty()) {
            line.pid = owner.process.pid;
            line.name = shown_name(owner.process);
        }
        if (auto place = holder_name(owner); !place.empty()) {
            line.held_in = std::move(place);
        }
        line.references = counts_.references();
        line.resources = counts_.resources();
        answer_.list.add(row_of(kHolderFields, line));
    }

    Dump& dump_;
    const InputLimits& limits_;
    ResourceCounts counts_;
    ProcessNames names_;
    ResourceHolders& answer_;
};

}  // namespace

std::span<const Column> resource_holder_columns() {
    return kHolderColumns;
}

Result<ResourceHolders> resource_holders(Dump& dump, const std::string& type, const RowQuery& query,
                                         const InputLimits& limits, const ReadProgress& progress) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kHolderColumns, query));
    ResourceHolders answer{.list = std::move(list), .type = type};
    ResourceHolderSearch search(dump, limits, answer);
    ASSIGN_OR_RETURN(const auto types, search.find_type());
    if (auto done = search.run(types, progress); !done) {
        return wrap("searching the processes", std::move(done.error()));
    }
    return answer;
}

}  // namespace beamdump::query
