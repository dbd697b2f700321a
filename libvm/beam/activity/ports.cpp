#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/ports.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/term_bits.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kSlotsAtOnce = 4096;
constexpr std::size_t kMaxNameBytes = 4096;  // longer names and command lines are cut
constexpr int kTries = 4;
constexpr std::string_view kInetSuffix = "_inet";  // of tcp_inet, udp_inet, sctp_inet

}  // namespace

PortReader::PortReader(Vm& vm, IdTable table, PidWords pids, AtomWords atoms, LayoutNames& names)
    : vm_(&vm),
      table_(table),
      pids_(pids),
      atoms_(atoms),
      lists_(vm, pids, names),
      registered_(names) {
    id_ = names.field(runtime::Port::common_id);
    state_ = names.field(runtime::Port::state);
    name_ = names.field(runtime::Port::name);
    driver_ = names.field(runtime::Port::drv_ptr);
    connected_ = names.field(runtime::Port::connected);
    registered_as_ = names.field(runtime::Port::common_reg);
    in_ = names.field(runtime::Port::bytes_in);
    out_ = names.field(runtime::Port::bytes_out);
    queued_ = names.field(runtime::Port::ioq_size);
    vectors_ = names.field(runtime::Port::ioq_v_head);
    vectors_end_ = names.field(runtime::Port::ioq_v_tail);
    queue_binaries_ = names.field(runtime::Port::ioq_b_head);
    binary_size_ = names.field(runtime::Binary::orig_size);
    os_pid_ = names.field(runtime::Port::os_pid);
    suspended_ = names.field(runtime::Port::suspended);
    task_flags_ = names.field(runtime::Port::sched_flags);
    driver_name_ = names.field(runtime::ErtsDriver::name);
    port_tag_ = names.constant(runtime::constant::port_tag);
    is_connected_ = names.constant(runtime::constant::port_state_connected);
    is_distribution_ = names.constant(runtime::constant::port_state_distribution);
    is_closing_ = names.constant(runtime::constant::port_state_closing) |
                  names.constant(runtime::constant::port_state_exiting);
    is_busy_ = names.constant(runtime::constant::port_task_busy);
    driver_data_ = names.field_if_any(runtime::Port::drv_data);
    bytes_ = names.bytes(runtime::Port::kName);
}

Result<PortReader> PortReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(const auto table, IdTable::ports(vm));
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(const auto scheme, port_scheme(vm));
    LayoutNames names(vm.layout());
    PortReader reader(vm, table, pids, atoms, names);
    RETURN_IF_ERROR(names.outcome());
    reader.scheme_ = scheme;
    return reader;
}

Result<PortReader::Left> PortReader::read(
    std::size_t most, const std::function<Result<void>(records::Ports&)>& page) {
    Left left;
    records::Ports ports;
    const auto flush = [&]() -> Result<void> {
        auto done = ports.port_size() == 0 ? Result<void>() : page(ports);
        ports.Clear();
        return done;
    };
    for (std::uint32_t first = 0; first < table_.slots(); first += kSlotsAtOnce) {
        ASSIGN_OR_RETURN(const auto used, table_.used(first, kSlotsAtOnce));
        for (const auto& slot : used) {
            Result<records::Port> read = port(slot.address, left);
            for (int tries = 1; !read && tries < kTries; ++tries) {
                read = port(slot.address, left);
            }
            if (read) {
                *ports.add_port() = std::move(*read);
            } else if (read.error().code == ErrorCode::kTargetDied) {
                return std::unexpected(read.error());
            } else if (table_.holds(slot).value_or(true)) {
                ++left.unreadable;
            }
            if (static_cast<std::size_t>(ports.port_size()) >= most) {
                RETURN_IF_ERROR(flush());
            }
        }
    }
    RETURN_IF_ERROR(flush());
    return left;
}

Result<records::Port> PortReader::port(Address address, Left& left) {
    ASSIGN_OR_RETURN(const auto before, OwnedStruct::read(vm_->bulk(), address, bytes_));
    ASSIGN_OR_RETURN(auto name, text(before.view().get(name_)));
    ASSIGN_OR_RETURN(auto driver, driver_name(before.view().get(driver_)));
    ASSIGN_OR_RETURN(const auto registered, registered_name(before.view().get(registered_as_)));
    // Most ports have no such list.
    auto list = before.view().get(suspended_) == 0 ? Result<ProcessListReader::Listed>()
                                                   : lists_.read(address + suspended_.offset);
    if (!list && list.error().code == ErrorCode::kTargetDied) {
        return std::unexpected(list.error());
    }
    records::Port port;
    const auto queue = queue_of(before.view());
    auto in_queue = read_queue(queue, port);
    if (!in_queue && in_queue.error().code == ErrorCode::kTargetDied) {
        return std::unexpected(in_queue.error());
    }
    ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), address, bytes_));
    const auto view = read.view();
    if (in_queue && queue_of(view) != queue) {
        in_queue = fail(ErrorCode::kImplausible,
                        fmt::format("the queue of the port at {:#x} changed meanwhile", address));
    }
    const auto id = view.get(id_);
    const bool same = std::ranges::all_of(
        std::initializer_list<Field>{id_, name_, driver_, registered_as_},
        [&](Field field) { return before.view().get(field) == view.get(field); });
    if (!same || (id & kImmediateTagMask) != (port_tag_ & kImmediateTagMask)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("port at {:#x}: expected a port's id, the same in two reads, found "
                                "{:#x} and {:#x}",
                                address, before.view().get(id_), id));
    }
    const auto state = view.u32(state_);
    port.set_number(port_number(scheme_, id));
    port.set_struct_address(address);
    port.set_state_bits(state);
    port.set_name(std::move(name));
    port.set_driver(std::move(driver));
    const auto connected = pids_.owner_id(view.get(connected_));
    if ((state & is_connected_) != 0 && connected) {
        port.set_connected_owner_id(*connected);
    }
    if (registered) {
        port.set_registered_name_atom(*registered);
    }
    port.set_input_bytes(view.get(in_));
    port.set_output_bytes(view.get(out_));
    port.set_queued_bytes(view.get(queued_));
    // -1: it controls no program.
    if (const auto pid = static_cast<std::int64_t>(view.get(os_pid_)); pid > 0) {
        port.set_os_pid(pid);
    }
    if (driver_data_ && port.driver().ends_with(kInetSuffix)) {
        if (const auto socket = file_descriptor(view.get(*driver_data_), address, id)) {
            port.set_file_descriptor(*socket);
        }
    }
    if (list) {
        port.set_suspended(list->count);
        port.mutable_suspended_owner_id()->Add(list->owner_ids.begin(), list->owner_ids.end());
    } else {
        ++left.suspended;
        left.why = left.why.empty() ? list.error().message : left.why;
    }
    if (!in_queue) {
        port.clear_queued_binaries();
        port.clear_queued_binary_bytes();
        port.clear_queued_binary_address();
        ++left.queues;
        left.why_queue = left.why_queue.empty() ? in_queue.error().message : left.why_queue;
    }
    port.set_busy((view.get(task_flags_) & is_busy_) != 0);
    port.set_distribution((state & is_distribution_) != 0);
    port.set_closing((state & is_closing_) != 0);
    return port;
}

PortReader::Queue PortReader::queue_of(const StructView& port) const {
    return {.bytes = port.get(queued_),
            .vectors = port.get(vectors_),
            .vectors_end = port.get(vectors_end_),
            .binaries = port.get(queue_binaries_)};
}

/// ErtsIOQueue (erl_io_queue.h, OTP 25 to 29): pairs of address and length (SysIOVec), and for each
/// a driver binary, which begins with the field orig_size of its Binary (erl_binary.h).
Result<void> PortReader::read_queue(const Queue& queue, records::Port& port) {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    constexpr std::uint64_t kVectorWords = 2;
    port.set_queued_binaries(0);
    port.set_queued_binary_bytes(0);
    if (queue.bytes == 0) {
        return {};
    }
    const auto entries = (queue.vectors_end - queue.vectors) / (kVectorWords * kWord);
    if (queue.vectors_end < queue.vectors || entries > kMostQueueEntries) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("a port's queue at {:#x}: expected at most {} entries, found {}",
                                queue.vectors, kMostQueueEntries, entries));
    }
    auto& memory = vm_->bulk();
    const auto count = static_cast<std::uint32_t>(entries);
    ASSIGN_OR_RETURN(const auto vectors, read_words(memory, queue.vectors, kVectorWords * count));
    ASSIGN_OR_RETURN(auto binaries, read_words(memory, queue.binaries, count));
    std::uint64_t sum = 0;
    for (std::uint32_t at = 0; at < count; ++at) {
        sum += vectors[kVectorWords * at + 1];
    }
    if (sum != queue.bytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("a port's queue at {:#x}: expected {} bytes, the sum of its "
                                "entries, found {}",
                                queue.vectors, queue.bytes, sum));
    }
    std::ranges::sort(binaries);
    const auto same = std::ranges::unique(binaries);
    binaries.erase(same.begin(), same.end());
    std::uint64_t bytes = 0;
    for (const Address binary : binaries) {
        if (binary == 0) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto size, memory.word(binary));
        bytes += size;
        port.set_queued_binaries(port.queued_binaries() + 1);
        if (port.queued_binary_address_size() < kMostQueueAddresses) {
            port.add_queued_binary_address(binary - binary_size_.offset);
        }
    }
    port.set_queued_binary_bytes(bytes);
    return {};
}

Result<std::string> PortReader::text(Address address) {
    std::string text(kMaxNameBytes, '\0');
    ASSIGN_OR_RETURN(const auto read,
                     vm_->bulk().read_some(address, std::as_writable_bytes(std::span(text))));
    text.resize(read);
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

Result<std::string> PortReader::driver_name(Address driver) {
    const auto known = drivers_.find(driver);
    if (known != drivers_.end()) {
        return known->second;
    }
    ASSIGN_OR_RETURN(const auto at, vm_->bulk().word(driver + driver_name_.offset));
    ASSIGN_OR_RETURN(auto name, text(at));
    return drivers_.emplace(driver, std::move(name)).first->second;
}

Result<std::optional<std::uint32_t>> PortReader::registered_name(Address entry) {
    if (entry == 0) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), entry, registered_.bytes));
    return atoms_.index(read.view().get(registered_.name));
}

/// The socket of a port of inet_drv: its data begin with the socket, as int and as long, the events
/// that are waited for, the port, and its id (inet_descriptor, inet_drv.c, OTP 25 to 29). Nothing
/// where they are not so, and while the port has no socket.
std::optional<std::uint32_t> PortReader::file_descriptor(Address data, Address port,
                                                         std::uint64_t id) {
    enum Place : std::uint8_t { kSocket, kEvent, kEvents, kPort, kId, kPlaces };
    std::array<std::uint64_t, kPlaces> words{};
    if (data == 0 || !vm_->bulk().read(data, std::as_writable_bytes(std::span(words)))) {
        return std::nullopt;
    }
    const auto socket = static_cast<std::uint32_t>(words[kSocket]);
    constexpr std::uint32_t kMostDescriptors = 1U << 30U;
    return socket < kMostDescriptors && words[kEvent] == socket && words[kPort] == port &&
                   words[kId] == id
               ? std::optional(socket)
               : std::nullopt;
}

}  // namespace beamdump::beam
