#pragma once

#include <libdump/crash/import/sections/section_reader.h>
#include <libdump/write/dump_writer.h>

#include <memory>

namespace beamdump::crash {

/// Ports: `=port` (print_port_info(), erl_bif_port.c and io.c, OTP 25 to 29).
std::unique_ptr<SectionReader> port_sections(Names& names, DumpWriter& writer,
                                             records::Trailer& trailer);
/// Message timers: `=timer` (btm_print(), erl_hl_timer.c, OTP 25 to 29; erl_bif_timer.c before).
/// What is left of each is on a clock that stands at 0.
std::unique_ptr<SectionReader> timer_sections(Names& names, DumpWriter& writer,
                                              records::Trailer& trailer);
/// Schedulers and run queues (erts_print_scheduler_info(), erl_process.c, OTP 25 to 29).
std::unique_ptr<SectionReader> scheduler_sections(DumpWriter& writer, records::Trailer& trailer);
/// Other nodes: `=visible_node`, `=hidden_node`, `=not_connected` (info_dist_entry(), dist.c, OTP
/// 25 to 29).
std::unique_ptr<SectionReader> node_sections(Names& names, DumpWriter& writer,
                                             records::Trailer& trailer);

}  // namespace beamdump::crash
