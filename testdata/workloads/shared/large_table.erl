%% One table (large_table) of 10,000,000 rows times the scale, of 200 bytes each, which prove
%% themselves: {N, {N, N, ...}}; ten of them are larger by one to ten elements. For `start large_table
%% SCALE` of a running node.
-module(large_table).
-export([start/1]).

-define(ROWS, 10000000).
-define(LENGTH, 17).

start(Scale) ->
    Owner = self(),
    Keeper = spawn_link(fun() ->
        large_table = ets:new(large_table, [named_table]),
        Rows = round(?ROWS * Scale),
        fill(Rows, Rows div 10),
        Owner ! {self(), ready},
        receive never -> ok end
    end),
    receive {Keeper, ready} -> true = unlink(Keeper), ok end.

fill(0, _) ->
    ok;
fill(N, Step) ->
    true = ets:insert(large_table, {N, erlang:make_tuple(?LENGTH + larger(N, Step), N)}),
    fill(N - 1, Step).

larger(N, Step) when N rem Step =:= 0 -> N div Step;
larger(_, _) -> 0.
