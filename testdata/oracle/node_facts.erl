%% Facts that the node reports about itself, for comparison with a dump: one per line, with fields
%% separated by tabs.
-module(node_facts).
-export([write/2]).

-define(FEW_ROWS, 1000).
-define(FEW_WORDS, 100000).
-define(CLASSES, 32).

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
%% Name, type, controller, and packets received and sent of each other node.
facts(<<"nodes">>) ->
    Controllers = maps:from_list(erlang:system_info(dist_ctrl)),
    [[atom_to_binary(Node), Type | connection(maps:get(Node, Controllers, none))]
     || {Type, Kind} <- [{"visible", visible}, {"hidden", hidden}], Node <- nodes(Kind)] ++
    [[atom_to_binary(Node), "not_connected" | connection(none)]
     || Node <- nodes(known) -- [node() | nodes(connected)]];
%% Processes that are suspended, but by no process.
facts(<<"suspended">>) ->
    ByProcesses = [Suspendee || Pid <- processes(), {suspending, All} <- [process_info(Pid, suspending)],
                                {Suspendee, _, _} <- All],
    [[pid_to_list(Pid)] || Pid <- processes() -- ByProcesses,
                           process_info(Pid, status) =:= {status, suspended}];
%% Reference, receiver and milliseconds left of each message timer of the workload.
facts(<<"timers">>) ->
    [[ref_to_list(Reference), receiver(Receiver), integer_to_list(Left)]
     || {Reference, Receiver, Left} <- timers:timers()];
%% What it is, and the number. Lengths of run queues: of all normal ones, then of the dirty ones.
%% File descriptor, local and remote address, port (module socket's have none), connected process; without
%% those of the answering process.
facts(<<"sockets">>) ->
    [[integer_to_list(Fd), address(inet:sockname(Port)), address(inet:peername(Port)),
      port_to_list(Port), pid_to_list(info(Port, connected))]
     || Port <- erlang:ports(), is_inet(erlang:port_info(Port, name)),
        info(Port, connected) =/= self(), {ok, Fd} <- [prim_inet:getfd(Port)]] ++
        [[integer_to_list(Fd), address(socket:sockname(Socket)), "", "", ""]
         || Socket <- socket:which_sockets(), {ok, Fd} <- [socket:getopt(Socket, otp, fd)]];
facts(<<"schedulers">>) ->
    Lengths = erlang:statistics(run_queue_lengths_all),
    {Normal, [DirtyCpu, DirtyIo]} = lists:split(erlang:system_info(schedulers), Lengths),
    [[atom_to_list(What), integer_to_list(Number)]
     || {What, Number} <- [{What, erlang:system_info(What)}
                           || What <- [schedulers, schedulers_online, dirty_cpu_schedulers,
                                       dirty_cpu_schedulers_online, dirty_io_schedulers]] ++
                          [{queues, lists:sum(Normal)}, {dirty_cpu_queue, DirtyCpu},
                           {dirty_io_queue, DirtyIo}]];
%% ITEM=VALUE of ets:info/1 and of ets:info(Table, fixed), in the order of ets:all/0.
facts(<<"tables">>) ->
    Infos = [ets:info(Table) || Table <- ets:all()],
    [table([{fixed, ets:info(proplists:get_value(id, Info), fixed)} | Info])
     || Info <- Infos, is_list(Info)];
%% Table and row, of the tables that others may read and that have few rows.
facts(<<"rows">>) ->
    [[ref_to_list(proplists:get_value(id, Info)), escaped(Row)]
     || Table <- ets:all(), Info <- [ets:info(Table)], has_few_rows(Info),
        Row <- ets:tab2list(Table)];
%% Key, value (of the one that is large: nothing), and words of both with their tuple; first, without
%% a key, what persistent_term:info/0 says.
facts(<<"persistent_terms">>) ->
    #{count := Count, memory := Memory} = persistent_term:info(),
    [["", integer_to_list(Count), integer_to_list(Memory)]
     | [[escaped(Key), value(Value), integer_to_list(words({Key, Value}))]
        || {Key, Value} <- persistent_term:get()]];
%% Of each carrier what instrument:carriers/1 says, which not every installation has: allocator, whether it
%% is in the pool, size, bytes that were not looked at (those behind 16,000 blocks), blocks in use, their
%% bytes (of a carrier of one block: the carrier's), and its free blocks of 16 bytes and more, of 32 and
%% more, of 64 and more...
facts(<<"carriers">>) ->
    [[atom_to_list(Name), atom_to_list(InPool), integer_to_list(Size), integer_to_list(Unscanned),
      integer_to_list(lists:sum([Blocks || {_, Blocks, _} <- Types])),
      integer_to_list(lists:sum([Bytes || {_, _, Bytes} <- Types])),
      lists:join($,, [integer_to_list(Count) || Count <- Free])]
     || Thread <- lists:seq(0, erts_internal:no_aux_work_threads() - 1),
        Name <- erlang:system_info(alloc_util_allocators),
        {{_, InPool, Size, Unscanned, Types, _}, Free} <- carriers(Name, Thread)].

%% With the smallest start, classes begin at powers of two, as sizes are multiples of eight; the first ones
%% are below any block (erl_alloc_util.c: gather_cinfo_scan()). From OTP 27 on with flags: there the tuple
%% without them is an error; before, the one with them is the node's end.
carriers(Name, Thread) ->
    Question = make_ref(),
    {Answers, Empty} =
        try {erts_internal:gather_carrier_info({Name, Thread, ?CLASSES, 1, Question}), 3}
        catch error:badarg ->
            {erts_internal:gather_carrier_info({Name, Thread, ?CLASSES, 1, 0, Question}), 5}
        end,
    [{Carrier, lists:nthtail(Empty, tuple_to_list(element(6, Carrier)))}
     || _ <- lists:seq(1, Answers), Carrier <- receive {Question, Carriers} -> Carriers end].

connection(none) ->
    ["", "", ""];
connection(Port) when is_port(Port) ->
    {ok, Counts} = inet:getstat(Port, [recv_cnt, send_cnt]),
    [port_to_list(Port) | [integer_to_list(Count) || {_, Count} <- Counts]].

has_few_rows(undefined) ->
    false;
has_few_rows(Info) ->
    proplists:get_value(protection, Info) =/= private
        andalso proplists:get_value(size, Info) =< ?FEW_ROWS
        andalso proplists:get_value(memory, Info) =< ?FEW_WORDS.

%% erts_debug:size/1 counts what is shared once, and is slow.
words({_, Value} = Term) when is_list(Value), length(Value) > 10000 -> erts_debug:flat_size(Term);
words(Term) -> erts_debug:size(Term).

value(Value) when is_list(Value), length(Value) > 100000 -> "";
value(Value) -> escaped(Value).

%% Texts may have tabs and newlines.
escaped(Term) ->
    binary:encode_hex(texts:display(Term)).

table(Info) ->
    [unicode:characters_to_binary(io_lib:format("~ts=~0tp", [Item, Value]))
     || {Item, Value} <- Info].

receiver(Name) when is_atom(Name) -> atom_to_binary(Name);
receiver(Pid) -> pid_to_list(Pid).

info(Port, What) ->
    {What, Value} = erlang:port_info(Port, What),
    Value.

is_inet({name, Name}) -> lists:suffix("_inet", Name).

address({ok, #{addr := Host, port := Number}}) -> address({ok, {Host, Number}});
address({ok, {Host, Number}}) when tuple_size(Host) =:= 4 -> [inet:ntoa(Host), $:, integer_to_list(Number)];
address({ok, {Host, Number}}) when tuple_size(Host) =:= 8 ->
    [$[, inet:ntoa(Host), "]:", integer_to_list(Number)];
address({ok, {local, Path}}) -> Path;
address(_) -> "".

name(Port) ->
    case erlang:port_info(Port, registered_name) of
        [] -> "";
        {registered_name, Name} -> atom_to_binary(Name)
    end.

os_pid(undefined) -> "";
os_pid(Pid) -> integer_to_list(Pid).
