#include "capture/node/socket_capture.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/record_pages.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::capture {
namespace {

records::Socket socket_of(const target::SocketDescriptor& found,
                          const Result<target::SocketDescriptors>& before) {
    records::Socket socket;
    socket.set_file_descriptor(found.descriptor);
    socket.set_inode(found.inode);
    if (before && before->left_out == 0) {
        socket.set_open_before(std::ranges::binary_search(before->sockets, found));
    }
    return socket;
}

void add_facts(records::Socket& socket, target::SocketTable table, const target::SocketLine& line) {
    socket.set_protocol(std::string(name_of(table)));
    const auto text = [](const auto& value, auto&& set) {
        if (!value.empty()) {
            set(std::string(value));
        }
    };
    text(line.state, [&](std::string value) { socket.set_state(std::move(value)); });
    text(line.local, [&](std::string value) { socket.set_local(std::move(value)); });
    text(line.remote, [&](std::string value) { socket.set_remote(std::move(value)); });
    if (line.receive_bytes) {
        socket.set_receive_queue_bytes(*line.receive_bytes);
    }
    if (line.send_bytes) {
        socket.set_send_queue_bytes(*line.send_bytes);
    }
    if (line.waiting) {
        socket.set_waiting(*line.waiting);
    }
}

}  // namespace

Result<void> write_sockets(pid_t pid, const Result<target::SocketDescriptors>& before,
                           DumpWriter& writer, records::Trailer& trailer) {
    const auto now = target::socket_descriptors(pid, kMostSockets);
    if (!now) {
        trailer.add_warning("sockets: " + now.error().message);
        return {};
    }
    const auto& sockets = now->sockets;
    std::vector<bool> told(sockets.size());
    RecordPages<records::Sockets> pages(writer, format::RecordKind::kSockets,
                                        *trailer.mutable_sockets_offset());
    const auto put = [](records::Socket socket) {
        return
            [socket = std::move(socket)](records::Sockets& page) { *page.add_socket() = socket; };
    };
    std::optional<Error> not_written;
    const auto read = target::each_socket_line(
        pid, [&](target::SocketTable table, const target::SocketLine& line) -> Result<void> {
            for (const auto& found : std::ranges::equal_range(sockets, line.inode, {},
                                                              &target::SocketDescriptor::inode)) {
                const auto place = static_cast<std::size_t>(&found - sockets.data());
                if (told[place]) {
                    continue;
                }
                told[place] = true;
                auto socket = socket_of(found, before);
                add_facts(socket, table, line);
                if (auto done = pages.add(put(std::move(socket))); !done) {
                    not_written = done.error();
                    return done;
                }
            }
            return {};
        });
    if (not_written) {
        return std::unexpected(std::move(*not_written));
    }
    if (!read) {
        trailer.add_warning("sockets: " + read.error().message);
    }
    for (std::size_t place = 0; place < sockets.size(); ++place) {
        if (!told[place]) {
            RETURN_IF_ERROR(pages.add(put(socket_of(sockets[place], before))));
        }
    }
    if (now->left_out != 0) {
        trailer.add_warning(fmt::format("{} sockets are left out: a dump has at most {}",
                                        now->left_out, kMostSockets));
    }
    return pages.finish(true);
}

}  // namespace beamdump::capture
