#pragma once

#include "query/process/opened_process.h"

#include <libdump/model/external_message.h>

#include <cstdint>
#include <string>

namespace beamdump::query {

/// The shape of a message, to count similar ones: {timeout,_,_}, ping, integer().
///
///  - an atom, the empty list, the empty tuple and the empty map as themselves;
///  - a tuple by its first element, if that is an atom, else by its kind, and its size:
///    {reference(),_}. Beyond 8 elements: {tag,... 12 elements};
///  - a message wrapped by an OTP behaviour with the shape of its contents: {'$gen_cast',{add,_}},
///    {'$gen_call',_,{get,_}}, {notify,{log,_}};
///  - a map by its key '__struct__', which Elixir names a struct by: #{'__struct__'=>'Elixir.Job'};
///  - a native record by its module and name: #m:job{};
///  - everything else by its kind: list(), binary(), map(), pid()...
///
/// An unreadable message is "unreadable".
class MessageShapes {
  public:
    MessageShapes(Dump& dump, OpenedProcess& process);

    /// Reads only the words or bytes needed, not the whole message.
    Result<std::string> shape(const records::Message& entry);

  private:
    std::string of_word(std::uint64_t word, bool look_inside);
    std::string of_boxed(std::uint64_t address, bool look_inside);
    std::string of_tuple(std::uint64_t address, std::uint64_t arity, bool look_inside);
    std::string of_map(std::uint64_t address);
    std::string of_record(std::uint64_t address);
    std::string atom(std::uint64_t word);
    std::string of_external(std::uint64_t at, bool look_inside);
    std::string of_external_tuple(const ExternalItem& tuple, bool look_inside);
    std::string of_external_map(const ExternalItem& map);

    Dump& dump_;
    ProcessContext& context_;
    const TagScheme& scheme_;
    DumpNames names_;
    ExternalReader reader_;
    ExternalAtoms atoms_;
};

}  // namespace beamdump::query
