#include "render/emulator.h"

#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

namespace beamdump::render {

namespace {

std::string pid_and_name(const query::ProcessLine& line) {
    return fmt::format("{} {}", line.pid, process_name(line));
}

std::string function_of(const query::ProcessLine& line) {
    return one_line(query::shown_function(line).value_or("?"));
}

std::string held_by(const query::PermissionLine& line) {
    if (!line.held) {
        return "nobody";
    }
    if (line.holder) {
        return pid_and_name(*line.holder);
    }
    return line.holder_stored ? "a job of the VM" : "not stored in this release";
}

void print_permissions(Output& output, const query::EmulatorReport& report) {
    if (report.permissions.empty()) {
        return;
    }
    print_title(output, "Permissions");
    Table table({{"PERMISSION"},
                 {"HELD BY", Align::kLeft, true},
                 {"WAITING", Align::kRight},
                 {"CURRENT FUNCTION", Align::kLeft, true}});
    for (const auto& line : report.permissions) {
        table.add({line.name, held_by(line), count_text(line.waiters),
                   line.holder ? function_of(*line.holder) : ""});
    }
    table.print(output, "  ");
    for (const auto& line : report.permissions) {
        for (const auto& process : line.may_hold) {
            output.print(
                "  {} may be held by {} in {}: it is suspended, and does not wait for it\n",
                line.name, pid_and_name(process), function_of(process));
        }
        for (const auto& process : line.waiting) {
            output.print("  {} waits for {} in {}\n", pid_and_name(process), line.name,
                         function_of(process));
        }
    }
}

std::string progress_text(const query::ProgressLine& line) {
    std::string text = line.state;
    if (line.leader) {
        text += ", leader";
    }
    if (line.held_up_for_us) {
        constexpr std::int64_t kNanoseconds = 1000;
        text += fmt::format(
            ", holds up all for at least {}",
            duration_text(static_cast<std::int64_t>(*line.held_up_for_us) * kNanoseconds));
    }
    if (line.blocking) {
        text += ", blocks all others";
    }
    return text;
}

void print_progress(Output& output, const query::EmulatorReport& report) {
    if (report.progress.empty()) {
        return;
    }
    print_title(output, "Thread progress");
    Table table({{"SCHEDULER", Align::kRight},
                 {"STATE"},
                 {"RUNS", Align::kLeft, true},
                 {"CURRENT FUNCTION", Align::kLeft, true}});
    for (const auto& line : report.progress) {
        table.add({count_text(line.scheduler), progress_text(line),
                   line.process ? pid_and_name(*line.process)
                   : line.port  ? *line.port
                   : line.frees ? fmt::format("frees {}, which has ended", *line.frees)
                                : std::string(),
                   line.process ? function_of(*line.process) : ""});
    }
    table.print(output, "  ");
    for (const auto& line : report.progress) {
        if (line.off_heap_circle) {
            output.print(
                "  scheduler {}: the list of off-heap objects of {} leads back into itself at "
                "{:#x}, over {}: it is walked for ever\n",
                line.scheduler, line.process ? line.process->pid : line.frees.value_or("a process"),
                line.off_heap_circle_address.value_or(0), counted(*line.off_heap_circle, "member"));
        }
    }
    if (report.other_thread) {
        output.print("  the leader waits for thread {}, which is no scheduler\n",
                     *report.other_thread);
    }
}

std::string task_text(const query::SystemTaskLine& task) {
    std::string text = task.kind;
    if (task.module) {
        text += " of " + one_line(*task.module);
    }
    if (task.dirty) {
        text += ", dirty";
    }
    if (task.requester) {
        text += " for " + *task.requester;
        if (task.display_name) {
            text += " " + one_line(*task.display_name);
        }
    } else {
        text += " for the VM";
    }
    return text;
}

void print_tasks(Output& output, const query::EmulatorReport& report) {
    if (report.tasked_total == 0) {
        return;
    }
    print_title(output, fmt::format("System tasks that wait, of {}",
                                    counted(report.tasked_total, "process", "processes")));
    for (const auto& tasked : report.tasked) {
        output.print("  {}  {}  {}\n", pid_and_name(tasked.process),
                     tasked.process.status.value_or("?"), function_of(tasked.process));
        if (!tasked.tasks) {
            output.write("    could not be read\n");
            continue;
        }
        if (tasked.tasks->empty()) {
            output.write("    none: it does one, or did them meanwhile\n");
        }
        for (const auto& task : *tasked.tasks) {
            output.print("    {}\n", task_text(task));
        }
    }
    print_rest(output, report.tasked.size(), report.tasked_total);
}

void print_suspended(Output& output, const query::EmulatorReport& report) {
    if (report.suspended_total == 0) {
        return;
    }
    print_title(output, fmt::format("Suspended ({})", count_text(report.suspended_total)));
    Table table({{"PID"},
                 {"NAME OR INITIAL CALL", Align::kLeft, true},
                 {"CURRENT FUNCTION", Align::kLeft, true},
                 {"WHY", Align::kLeft, true}});
    for (const auto& line : report.suspended) {
        std::string why;
        for (const auto& reason : line.reasons) {
            why += (why.empty() ? "" : "; ") + one_line(reason.text);
        }
        table.add({line.process.pid, process_name(line.process), function_of(line.process),
                   why.empty() ? "in none of the lists that the dump has" : why});
    }
    table.print(output, "  ");
    print_rest(output, report.suspended.size(), report.suspended_total);
}

void print_exiting(Output& output, const query::EmulatorReport& report) {
    if (report.exiting_total == 0) {
        return;
    }
    print_title(output, fmt::format("Exiting ({})", count_text(report.exiting_total)));
    for (const auto& line : report.exiting) {
        output.print("  {}\n", pid_and_name(line));
    }
    print_rest(output, report.exiting.size(), report.exiting_total);
}

std::string tracer_text(const query::TraceLine& line) {
    std::string text = line.tracer ? pid_and_name(*line.tracer) : line.port.value_or("");
    if (line.module) {
        text = fmt::format("{}{}{}", one_line(*line.module), text.empty() ? "" : ", ", text);
    }
    return text;
}

void print_traces(Output& output, const query::EmulatorReport& report) {
    if (report.traces.empty() && report.traced_total == 0) {
        return;
    }
    print_title(output,
                fmt::format("Traces, of {}", counted(report.traced_total, "process", "processes")));
    Table table({{"SESSION", Align::kLeft, true},
                 {"TRACER", Align::kLeft, true},
                 {"PROCESSES", Align::kRight},
                 {"FLAGS", Align::kLeft, true}});
    for (const auto& line : report.traces) {
        table.add({one_line(line.session.value_or("")), tracer_text(line),
                   count_text(line.processes), line.flags});
    }
    table.print(output, "  ");
    print_rest(output, report.traces.size(), report.trace_total);
    if (report.traced_unread != 0) {
        output.print("  of {} it could not be read who traces them\n",
                     counted(report.traced_unread, "process", "processes"));
    }
}

void print_traced_functions(Output& output, const query::EmulatorReport& report) {
    if (report.traced_functions.empty()) {
        return;
    }
    print_title(output, fmt::format("Functions whose calls are traced or counted ({})",
                                    count_text(report.traced_functions_total.value_or(0))));
    Table table({{"FUNCTION", Align::kLeft, true},
                 {"SESSION", Align::kLeft, true},
                 {"FLAGS", Align::kLeft, true}});
    std::set<std::string> shown;
    for (const auto& line : report.traced_functions) {
        shown.insert(line.function);
        table.add({one_line(line.function), one_line(line.session.value_or("")),
                   line.flags.value_or("could not be read")});
    }
    table.print(output, "  ");
    print_rest(output, shown.size(), report.traced_functions_total.value_or(0));
}

void write_lines(JsonWriter& json, std::string_view name,
                 const std::vector<query::ProcessLine>& lines) {
    write_objects(json, name, lines,
                  [&json](const query::ProcessLine& line) { write_process_members(json, line); });
}

void write_line(JsonWriter& json, std::string_view name, const query::ProcessLine& line) {
    json.begin_object(name);
    write_process_members(json, line);
    json.end_object();
}

}  // namespace

void emulator_text(Output& output, const query::EmulatorReport& report) {
    print_layout_notice(output, report.dump.layout);
    print_permissions(output, report);
    print_progress(output, report);
    print_tasks(output, report);
    print_suspended(output, report);
    print_exiting(output, report);
    print_traces(output, report);
    print_traced_functions(output, report);
    if (report.active_code_index && report.staging_code_index) {
        output.print("\nactive code index {}, staging {}\n", *report.active_code_index,
                     *report.staging_code_index);
    }
    if (report.collects_literals.value_or(false)) {
        output.write("a literal area of purged code or an erased term is being collected\n");
    }
    if (!report.untold.empty()) {
        output.write("\nnot known:\n");
    }
    for (const auto& sentence : report.untold) {
        output.print("  {}\n", one_line(sentence));
    }
}

void emulator_json(Output& output, const query::EmulatorReport& report) {
    JsonWriter json(output, "beamdump.emulator/1");
    write_dump(json, "dump", report.dump);
    write_objects(json, "permissions", report.permissions,
                  [&json](const query::PermissionLine& line) {
                      json.member("name", line.name);
                      json.member("held", line.held);
                      json.member("holder_stored", line.holder_stored);
                      if (line.holder) {
                          write_line(json, "holder", *line.holder);
                      }
                      write_lines(json, "may_hold", line.may_hold);
                      json.member("waiters", line.waiters);
                      json.member("waiting_jobs", line.waiting_jobs);
                      write_lines(json, "waiting", line.waiting);
                  });
    write_objects(json, "thread_progress", report.progress,
                  [&json](const query::ProgressLine& line) {
                      json.member("scheduler", line.scheduler);
                      json.member("state", line.state);
                      json.member("held_up_for_us", line.held_up_for_us);
                      json.member("frees", line.frees);
                      json.member("off_heap_circle", line.off_heap_circle);
                      if (line.off_heap_circle_address) {
                          json.member("off_heap_circle_address",
                                      fmt::format("{:#x}", *line.off_heap_circle_address));
                      }
                      json.member("leader", line.leader);
                      json.member("blocking", line.blocking);
                      if (line.process) {
                          write_line(json, "process", *line.process);
                      }
                      json.member("port", line.port);
                  });
    json.member("other_thread", report.other_thread);
    json.member("processes_with_system_tasks", report.tasked_total);
    write_objects(json, "system_tasks", report.tasked, [&json](const query::TaskedProcess& line) {
        write_line(json, "process", line.process);
        if (line.tasks) {
            write_objects(json, "tasks", *line.tasks, [&json](const query::SystemTaskLine& task) {
                json.member("kind", task.kind);
                json.member("module", task.module);
                json.member("priority", task.priority);
                json.member("dirty", task.dirty);
                json.member("requester", task.requester);
                json.member("display_name", task.display_name);
            });
        }
    });
    json.member("suspended_processes", report.suspended_total);
    write_objects(json, "suspended", report.suspended,
                  [&json](const query::SuspendedProcess& line) {
                      write_line(json, "process", line.process);
                      json.begin_array("reasons");
                      for (const auto& reason : line.reasons) {
                          json.value(reason.text);
                      }
                      json.end_array();
                  });
    json.member("exiting_processes", report.exiting_total);
    write_lines(json, "exiting", report.exiting);
    json.member("traced_processes", report.traced_total);
    json.member("traced_unread", report.traced_unread);
    write_objects(json, "traces", report.traces, [&json](const query::TraceLine& line) {
        json.member("session", line.session);
        if (line.tracer) {
            write_line(json, "tracer", *line.tracer);
        }
        json.member("port", line.port);
        json.member("module", line.module);
        json.member("processes", line.processes);
        json.member("flags", line.flags);
    });
    json.member("traced_functions", report.traced_functions_total);
    write_objects(json, "function_traces", report.traced_functions,
                  [&json](const query::TracedFunctionLine& line) {
                      json.member("function", line.function);
                      json.member("session", line.session);
                      json.member("flags", line.flags);
                  });
    json.member("active_code_index", report.active_code_index);
    json.member("staging_code_index", report.staging_code_index);
    json.member("collects_literals", report.collects_literals);
    json.begin_array("untold");
    for (const auto& sentence : report.untold) {
        json.value(sentence);
    }
    json.end_array();
    json.finish();
}

}  // namespace beamdump::render
