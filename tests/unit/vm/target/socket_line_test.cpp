#include <libvm/target/process/sockets.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

// Lines of Linux 6.18 on x86-64.
TEST(SocketLine, ReadsTcp) {
    const auto line = parse_socket_line(SocketTable::kTcp,
                                        "   1: 0100007F:1111 0B00000A:D6D8 08 00000010:00011170 "
                                        "01:00000014 00000000     0        0 "
                                        "4711 2 00000000c970cd57 20 4 30 10 -1");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->inode, 4711U);
    EXPECT_EQ(line->state, "CLOSE_WAIT");
    EXPECT_EQ(line->local, "127.0.0.1:4369");
    EXPECT_EQ(line->remote, "10.0.0.11:55000");
    EXPECT_EQ(line->send_bytes, 16U);
    EXPECT_EQ(line->receive_bytes, 70'000U);
    EXPECT_FALSE(line->waiting);
}

TEST(SocketLine, OneThatListensHasConnectionsInPlaceOfBytes) {
    const auto line = parse_socket_line(
        SocketTable::kTcp6,
        "   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A "
        "00000000:00000003 00:00000000 00000000     0        0 48 1 00000000c970cd57 100 0 0 10 0");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->state, "LISTEN");
    EXPECT_EQ(line->local, "[::1]:8080");
    EXPECT_EQ(line->remote, "");
    EXPECT_EQ(line->waiting, 3U);
    EXPECT_FALSE(line->receive_bytes || line->send_bytes);
}

TEST(SocketLine, ReadsUdp) {
    const auto line = parse_socket_line(SocketTable::kUdp,
                                        "12345: 00000000:0035 00000000:0000 07 00000000:00000300 "
                                        "00:00000000 00000000   101        0 "
                                        "99 2 00000000c970cd57 0");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->state, "UNCONNECTED");
    EXPECT_EQ(line->local, "0.0.0.0:53");
    EXPECT_EQ(line->receive_bytes, 768U);
}

TEST(SocketLine, ReadsUnix) {
    const auto line = parse_socket_line(
        SocketTable::kUnix,
        "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b.sock");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->inode, 12345U);
    EXPECT_EQ(line->state, "LISTEN");
    EXPECT_EQ(line->local, "/run/a b.sock");
    const auto pair = parse_socket_line(
        SocketTable::kUnix, "00000000f30f78c8: 00000003 00000000 00000000 0001 03    45");
    ASSERT_TRUE(pair);
    EXPECT_EQ(pair->state, "CONNECTED");
    EXPECT_EQ(pair->local, "");
}

TEST(SocketLine, HeadsAndBrokenLinesAreNone) {
    for (const auto table : {SocketTable::kTcp, SocketTable::kTcp6, SocketTable::kUnix}) {
        for (const auto* line :
             {"", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when",
              "Num       RefCount Protocol Flags    Type St Inode Path",
              "   1: 0100007F:1111 0B00000A:D6D8 08 00000010:00011170 01:00000014",
              "   1: 0100007F:11111 0B00000A:D6D8 08 00000010:00011170 01:0 0 0 0 4711",
              "   1: 0100007F 0B00000A:D6D8 08 00000010:00011170 01:0 0 0 0 4711"}) {
            EXPECT_FALSE(parse_socket_line(table, line)) << line;
        }
    }
}

class Sockets : public ::testing::Test {
  protected:
    Sockets() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
    ~Sockets() override { ::close(socket_); }
    int socket_;
};

TEST_F(Sockets, TheSocketsOfAProcessAreItsOwn) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    ASSERT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), bytes), 0);
    ASSERT_EQ(::listen(socket_, 1), 0);
    ASSERT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    const auto all = socket_descriptors(::getpid(), 100);
    ASSERT_TRUE(all);
    const auto own = std::ranges::find(all->sockets, static_cast<std::uint32_t>(socket_),
                                       &SocketDescriptor::descriptor);
    ASSERT_NE(own, all->sockets.end());
    std::string local;
    ASSERT_TRUE(each_socket_line(::getpid(), [&](SocketTable, const SocketLine& line) {
        if (line.inode == own->inode) {
            local = line.local;
        }
        return Result<void>();
    }));
    EXPECT_EQ(local, "127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
}

TEST_F(Sockets, AboveTheLimitAreCounted) {
    const auto none = socket_descriptors(::getpid(), 0);
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->sockets.empty());
    EXPECT_GE(none->left_out, 1U);
}

TEST(SocketsOfNoProcess, AreAnError) {
    const auto none = socket_descriptors(1 << 30, 1);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kTargetDied);
}

}  // namespace
}  // namespace beamdump::target
