#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// By what the sender of a message is known.
enum class SenderSource : std::uint8_t {
    kVm,       ///< the VM noted it with the message (erl_message.h, ERL_MESSAGE_FROM; OTP 25 to 29)
    kNode,     ///< of another node, which the VM noted; the process is not known
    kMessage,  ///< what the message is says so: {'$gen_call',{Pid,_},_}, {'EXIT',Pid,_}, {Port,_}
    kGuess,    ///< the only pid of a tuple
};

/// vm, node, message or guess.
std::string_view sender_source_text(SenderSource source);

struct MessageSender {
    std::string name;  ///< a pid, a port, or a node
    SenderSource source = SenderSource::kVm;
};

/// Tells who sent a process's messages.
class MessageSenders {
  public:
    /// It must outlive this.
    explicit MessageSenders(OpenedProcess& process);

    /// Nothing where neither the VM nor the message tells.
    std::optional<MessageSender> sender(const records::Message& entry);

  private:
    std::optional<MessageSender> noted(std::uint64_t from);
    std::optional<MessageSender> of_term(std::uint64_t word);
    /// A pid's or a port's text.
    std::optional<std::string> identifier(std::uint64_t word);

    ProcessContext& context_;
    const TagScheme& scheme_;
};

struct SenderCount {
    std::string name;
    std::optional<std::string> registered_name = {};
    std::optional<std::string> display_name = {};  ///< shown_name()
    SenderSource source = SenderSource::kVm;
    std::uint64_t count = 0;
};

/// All of a process's messages by their senders, the most frequent first.
struct SenderHistogram {
    /// Limit of distinct senders, in the order of first occurrence; later ones are `other`.
    static constexpr std::size_t kMaxSenders = 10'000;

    std::vector<SenderCount> senders;
    std::uint64_t messages = 0;
    std::uint64_t other_signals = 0;
    std::uint64_t other = 0;
    std::uint64_t not_told = 0;
};

/// Reads all messages of a process, and of the index of processes the names of the senders.
/// `records_read` is set to the number of records of messages that were read.
Result<SenderHistogram> count_senders(Dump& dump, OpenedProcess& process,
                                      std::uint64_t& records_read);

}  // namespace beamdump::query
