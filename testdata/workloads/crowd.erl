%% A node with 300,000 processes that wait, each with a little in its dictionary.
-module(crowd).
-export([start/1, waiting/1]).

start(Scale) ->
    Count = max(1, round(300000 * Scale)),
    [spawn(?MODULE, waiting, [N]) || N <- lists:seq(1, Count)],
    ok.

waiting(N) ->
    put(number, N),
    receive {done, N} -> ok end.
