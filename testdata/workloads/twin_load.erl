%% A node that never rests, to make twins of: pairs that send lists to each other and collect garbage,
%% counters in a heap and in an ETS table, timers. Each SIGUSR2 adds a line to the file "signals".
-module(twin_load).
-behaviour(gen_event).
-export([start/1, pair/1, counter/2]).
-export([init/1, handle_event/2, handle_call/2]).

start(Scale) ->
    Count = max(1, round(8 * Scale)),
    twin_load = ets:new(twin_load, [named_table, public, set]),
    [spawn(?MODULE, pair, [lists:seq(1, 2000)]) || _ <- lists:seq(1, Count)],
    [spawn(?MODULE, counter, [N, []]) || N <- lists:seq(1, Count)],
    ok = gen_event:add_handler(erl_signal_server, ?MODULE, []),
    ok = os:set_signal(sigusr2, handle),
    %% Resident memory of some size, so that making a twin takes a moment.
    register(twin_load_ballast, spawn(fun() -> ballast(Count) end)),
    ok.

ballast(Count) ->
    State = [{N, integer_to_list(N), N * 1.5} || N <- lists:seq(1, 20000 * Count)],
    receive stop -> length(State) end.

pair(Numbers) ->
    Self = self(),
    Echo = spawn_link(fun() -> echo(Self) end),
    play(Echo, Numbers).

play(Echo, Numbers) ->
    Echo ! {Numbers, [N * 3 || N <- Numbers]},
    receive {Echo, Answer} -> ok end,
    receive after 1 -> play(Echo, Answer) end.

echo(To) ->
    receive {Numbers, Tripled} ->
        true = length(Numbers) =:= length(Tripled),
        To ! {self(), lists:reverse(Numbers)},
        echo(To)
    end.

counter(N, Kept) ->
    Total = ets:update_counter(twin_load, N, 1, {N, 0}),
    receive after 1 -> counter(N, lists:sublist([Total | Kept], 1000)) end.

init([]) ->
    {ok, 0}.

handle_event(sigusr2, Count) ->
    ok = file:write_file("signals", <<"sigusr2\n">>, [append]),
    {ok, Count + 1};
handle_event(_Signal, Count) ->
    {ok, Count}.

handle_call(_Request, Count) ->
    {ok, Count, Count}.
