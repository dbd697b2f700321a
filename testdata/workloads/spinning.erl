%% Processes that never rest: as many as there are schedulers run Erlang code all the time, each alone
%% on its scheduler, and two are in code of a dirty scheduler that does not return. Their terms
%% {invariant, Counter, Sum, List, Binary} carry a proof of themselves, as those of busy.erl: in the
%% frames of their stacks, in their arguments and in their dictionaries.
-module(spinning).
-export([start/1, spinner/1, dirty/2]).

-define(DEPTH, 10).
-define(FOR_EVER, 100000000).

start(_Scale) ->
    [spawn(?MODULE, spinner, [N]) || N <- lists:seq(1, erlang:system_info(schedulers))],
    spawn(?MODULE, dirty, [dirty_io, 1]),
    spawn(?MODULE, dirty, [dirty_cpu, 2]),
    ok.

spinner(Number) ->
    register(list_to_atom("spinning_" ++ integer_to_list(Number)), self()),
    put(invariant, invariant(1000 + Number)),
    %% An end that the compiler does not know: else it would leave the frames out.
    put(last, 1 bsl 58),
    down(?DEPTH, invariant(1000000 * Number)).

down(0, State) -> spin(State, 0, get(last));
down(Depth, State) ->
    Below = down(Depth - 1, State),
    [State | Below].

spin(_, Last, Last) ->
    [];
spin(State, Turns, Last) when Turns rem 1000 =:= 999 ->
    {invariant, Counter, _, _, _} = State,
    spin(invariant(Counter + 1), Turns + 1, Last);
spin(State, Turns, Last) ->
    spin(State, Turns + 1, Last).

dirty(Kind, Number) ->
    register(list_to_atom(atom_to_list(Kind) ++ "_forever"), self()),
    State = invariant(1000 + Number),
    put(invariant, State),
    Done = wait(Kind),
    {Done, State}.

wait(dirty_io) -> erts_debug:dirty_io(wait, ?FOR_EVER);
wait(dirty_cpu) -> erts_debug:dirty_cpu(wait, ?FOR_EVER).

invariant(Counter) ->
    List = lists:seq(Counter, Counter - 10, -1),
    {invariant, Counter, lists:sum(List), List, binary:copy(<<255, Counter:32>>, 20)}.
