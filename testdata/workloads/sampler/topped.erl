%% A node whose processes grow when they are told to: a mailbox, a heap; one burns reductions, one
%% keeps still, one has a name that controls terminals.
-module(topped).
-export([start/1, tell/1, full/0, grower/1, burner/0, still/0]).

start(_Scale) ->
    Ready = self(),
    register(topped_full, spawn(?MODULE, full, [])),
    register(topped_grower, spawn(?MODULE, grower, [[]])),
    register(topped_burner, spawn(?MODULE, burner, [])),
    Still = spawn(?MODULE, still, []),
    register(topped_still, Still),
    register(list_to_atom([27, $[, $2, $J, 16#202e, $x]), spawn(?MODULE, full, [])),
    Still ! {hold, Ready},
    receive held -> ok end.

%% "mailbox N": N more messages wait. "heap N": a list of N more elements is held. "info NAME":
%% reductions, bytes of the heap and waiting messages of a process, as the node says. "pid NAME".
tell([<<"mailbox">>, Count]) ->
    [topped_full ! waiting || _ <- lists:seq(1, binary_to_integer(Count))],
    <<"sent">>;
tell([<<"heap">>, Count]) ->
    topped_grower ! {grow, binary_to_integer(Count), self()},
    receive grown -> <<"grown">> end;
tell([<<"info">>, Name]) ->
    [{reductions, Reductions}, {total_heap_size, Words}, {message_queue_len, Length}] =
        erlang:process_info(whereis(binary_to_atom(Name)),
                            [reductions, total_heap_size, message_queue_len]),
    io_lib:format("~b ~b ~b", [Reductions, Words * erlang:system_info(wordsize), Length]);
tell([<<"pid">>, Name]) ->
    pid_to_list(whereis(binary_to_atom(Name))).

full() -> receive never -> ok end.

grower(Held) ->
    receive
        {grow, Count, To} ->
            More = lists:seq(1, Count),
            To ! grown,
            grower([More | Held])
    end.

burner() -> burner().

still() ->
    receive
        {hold, To} ->
            Held = lists:seq(1, 5000),
            To ! held,
            receive never -> Held end
    end.
