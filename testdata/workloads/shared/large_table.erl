%% One table (large_table) of 10,000,000 rows times the scale, of 200 bytes each, which prove
%% themselves: {N, {N, N, ...}}. For `start large_table SCALE` of a running node.
-module(large_table).
-export([start/1]).

-define(ROWS, 10000000).
-define(LENGTH, 17).

start(Scale) ->
    Owner = self(),
    Keeper = spawn_link(fun() ->
        large_table = ets:new(large_table, [named_table]),
        fill(round(?ROWS * Scale)),
        Owner ! {self(), ready},
        receive never -> ok end
    end),
    receive {Keeper, ready} -> true = unlink(Keeper), ok end.

fill(0) ->
    ok;
fill(N) ->
    true = ets:insert(large_table, {N, erlang:make_tuple(?LENGTH, N)}),
    fill(N - 1).
