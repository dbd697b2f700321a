%% A node with 1,000,000 processes (times scale) that wait, each with a list of 300 words.
-module(small_processes).
-export([start/1, waiting/1]).

start(Scale) ->
    Count = max(1, round(1_000_000 * Scale)),
    [spawn(?MODULE, waiting, [N]) || N <- lists:seq(1, Count)],
    ok.

waiting(N) ->
    Numbers = lists:seq(N, N + 149),
    receive {done, Numbers} -> ok end.
