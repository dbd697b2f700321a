%% A node with known numbers of processes that wait at known places: gen_servers, processes in a receive
%% of this module, two calls deep, and others that wake every 200 ms.
-module(parked).
-behaviour(gen_server).
-export([start/1, tell/1, init/1, handle_call/3, handle_cast/2, deep/1, waking/0]).

start(Scale) ->
    Servers = [begin {ok, Pid} = gen_server:start(?MODULE, [], []), Pid end
               || _ <- lists:seq(1, round(40 * Scale))],
    Deep = [spawn(?MODULE, deep, [N]) || N <- lists:seq(1, round(300 * Scale))],
    Waking = [spawn(?MODULE, waking, []) || _ <- lists:seq(1, round(20 * Scale))],
    spawn(fun() ->
                  register(parked, self()),
                  persistent_term:put(?MODULE, [{servers, Servers}, {deep, Deep}, {waking, Waking}]),
                  receive stop -> ok end
          end),
    ok.

%% The node's own words: of each kind of processes how many have which current_stacktrace.
tell(<<Kind/binary>>) ->
    Pids = proplists:get_value(binary_to_existing_atom(Kind), persistent_term:get(?MODULE)),
    Stacks = [iolist_to_binary(lists:join(",", [io_lib:format("~w:~w/~w", [M, F, A])
                                                || {M, F, A, _} <- stack(Pid)])) || Pid <- Pids],
    iolist_to_binary(lists:join(" ", [[S, "=", integer_to_binary(length([S || T <- Stacks, T =:= S]))]
                                      || S <- lists:usort(Stacks)])).

stack(Pid) ->
    {current_stacktrace, Stack} = process_info(Pid, current_stacktrace),
    Stack.

init([]) -> {ok, none}.
handle_call(_, _, State) -> {reply, ok, State}.
handle_cast(_, State) -> {noreply, State}.

deep(N) ->
    {ok, _} = below(N),
    ok.

below(N) ->
    receive {stop, N} -> {ok, N} end.

waking() ->
    receive stop -> ok after 200 -> waking() end.
