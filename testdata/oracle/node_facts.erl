%% Facts that the node reports about itself, for comparison with a dump: one per line, with fields
%% separated by tabs.
-module(node_facts).
-export([write/2]).

%% Returns the number of lines.
write(File, What) ->
    Lines = facts(What),
    ok = file:write_file(File, [[lists:join($\t, Line), $\n] || Line <- Lines]),
    length(Lines).

%% Port, name, connected process, registered name, input, output, queue, OS pid; without those that
%% the answering process and its like own.
facts(<<"ports">>) ->
    [[port_to_list(Port), unicode:characters_to_binary(info(Port, name)),
      pid_to_list(info(Port, connected)), name(Port), integer_to_list(info(Port, input)),
      integer_to_list(info(Port, output)), integer_to_list(info(Port, queue_size)),
      os_pid(info(Port, os_pid))]
     || Port <- erlang:ports(), info(Port, connected) =/= self()];

%% What it is, and the number. Lengths of run queues: of all normal ones, then of the dirty ones.
facts(<<"schedulers">>) ->
    Lengths = erlang:statistics(run_queue_lengths_all),
    {Normal, [DirtyCpu, DirtyIo]} = lists:split(erlang:system_info(schedulers), Lengths),
    [[atom_to_list(What), integer_to_list(Number)]
     || {What, Number} <- [{What, erlang:system_info(What)}
                           || What <- [schedulers, schedulers_online, dirty_cpu_schedulers,
                                       dirty_cpu_schedulers_online, dirty_io_schedulers]] ++
                          [{queues, lists:sum(Normal)}, {dirty_cpu_queue, DirtyCpu},
                           {dirty_io_queue, DirtyIo}]].

info(Port, What) ->
    {What, Value} = erlang:port_info(Port, What),
    Value.

name(Port) ->
    case erlang:port_info(Port, registered_name) of
        [] -> "";
        {registered_name, Name} -> atom_to_binary(Name)
    end.

os_pid(undefined) -> "";
os_pid(Pid) -> integer_to_list(Pid).
