%% What the node itself says of its processes, one JSON object a line: the answers that a dump taken
%% just before is compared with. Atoms and functions are in Erlang's own spelling. Asking makes a
%% process run, so always capture first.
-module(oracle).
-export([write/1, describe/1]).

%% Writes all processes but the asking one to File. Returns how many.
write(File) ->
    {ok, Device} = file:open(File, [write, raw, delayed_write]),
    Pids = processes() -- [self()],
    Known = lists:filter(fun(Pid) -> write_process(Device, Pid) end, Pids),
    ok = file:close(Device),
    length(Known).

items() ->
    [registered_name, current_function, initial_call, status, message_queue_len,
     total_heap_size, heap_size, stack_size, reductions, links, monitors, monitored_by,
     priority, trap_exit, group_leader, memory].

%% False if the process has ended since the list of processes was made.
write_process(Device, Pid) ->
    case describe(Pid) of
        undefined -> false;
        Line -> ok = file:write(Device, Line), true
    end.

describe(Pid) ->
    case process_info(Pid, items()) of
        undefined -> undefined;
        Info -> [object([{pid, Pid} | Info]), $\n]
    end.

object(Members) ->
    [${, lists:join($,, [[string(atom_to_binary(Key)), $:, value(Key, Value)]
                         || {Key, Value} <- Members]), $}].

value(registered_name, []) -> <<"null">>;
value(registered_name, Name) -> string(term(Name));
value(current_function, undefined) -> <<"null">>;
value(Key, {M, F, A}) when Key =:= current_function; Key =:= initial_call ->
    string(unicode:characters_to_binary(io_lib:format("~tp:~tp/~b", [M, F, A])));
value(Key, Value) when Key =:= status; Key =:= priority -> string(atom_to_binary(Value));
value(trap_exit, Value) -> atom_to_binary(Value);
value(pid, Pid) -> identifier(Pid);
value(group_leader, Pid) -> identifier(Pid);
value(monitors, Monitors) -> array([monitor_target(Target) || {_, Target} <- Monitors]);
value(links, List) -> array([identifier(Other) || Other <- List]);
%% A native resource that monitors shows as a reference of its own making: left out.
value(monitored_by, List) -> array([identifier(Other) || Other <- List, not is_reference(Other)]);
value(_, Number) when is_integer(Number) -> integer_to_binary(Number).

%% Somebody monitored by registered name is {Name, Node}.
monitor_target({Name, Node}) -> string(term({Name, Node}));
monitor_target(Other) -> identifier(Other).

identifier(Pid) when is_pid(Pid) -> string(list_to_binary(pid_to_list(Pid)));
identifier(Port) when is_port(Port) -> string(list_to_binary(port_to_list(Port))).

%% As the shell prints it.
term(Term) -> unicode:characters_to_binary(io_lib:format("~tp", [Term])).

array(Elements) -> [$[, lists:join($,, Elements), $]].

string(Text) -> [$", << <<(escape(C))/binary>> || <<C/utf8>> <= Text >>, $"].

escape($") -> <<"\\\"">>;
escape($\\) -> <<"\\\\">>;
escape(C) when C < 32 -> list_to_binary(io_lib:format("\\u~4.16.0b", [C]));
escape(C) -> <<C/utf8>>.
