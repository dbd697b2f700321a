%% Timers: message timers to processes and names, within the wheel and far beyond it, many with the
%% same timeout, for a name that nobody has, and cancelled; processes in a receive with a timeout; and
%% timers that are set and cancelled all the time.
-module(timers).
-export([start/1, timers/0]).

-define(HOUR, 3600000).
%% Beyond the wheel (time.c: 16384 slots of 8192 ms): 49 days.
-define(FAR, 4200000000).
-define(CHANGING, 2000).

%% With a scale of 0 those that change, each with a message of 9 words.
start(Scale) when Scale == 0 ->
    _ = [spawn(fun() -> true = register(Name, self()), change(queue:new(), 0) end)
         || Name <- [timers_changing_1, timers_changing_2]],
    ok;
start(_Scale) ->
    Owner = self(),
    Holder = spawn_link(fun() -> holder(Owner) end),
    true = register(timers_holder, Holder),
    receive {Holder, ready} -> ok end.

%% Reference, receiver, and milliseconds left of each.
timers() ->
    timers_holder ! {timers, self()},
    receive {timers, Timers} -> [{Reference, Receiver, erlang:read_timer(Reference)}
                                 || {Reference, Receiver} <- Timers] end.

holder(Owner) ->
    [spawn_link(fun() -> receive never -> ok after ?HOUR -> ok end end) || _ <- lists:seq(1, 20)],
    [spawn_link(fun() -> receive never -> ok after ?FAR -> ok end end) || _ <- lists:seq(1, 5)],
    Waiting = spawn_link(fun() -> receive never -> ok end end),
    %% These go with their receivers.
    {Dead, Monitor} = spawn_monitor(fun() -> receive stop -> ok end end),
    [erlang:send_after(?HOUR, Dead, gone) || _ <- lists:seq(1, 10)],
    Dead ! stop,
    receive {'DOWN', Monitor, process, Dead, _} -> ok end,
    Timers =
        [{erlang:send_after(?HOUR + Number, Waiting, {message, Number}), Waiting}
         || Number <- lists:seq(1, 100)] ++
        [{erlang:start_timer(?FAR + Number, Waiting, lists:seq(1, Number)), Waiting}
         || Number <- lists:seq(1, 100)] ++
        %% One timeout for all: rings of timers.
        begin
            At = erlang:monotonic_time(millisecond) + ?FAR + ?HOUR,
            [{erlang:send_after(At, timers_holder, same, [{abs, true}]), timers_holder}
             || _ <- lists:seq(1, 50)]
        end ++
        [{erlang:send_after(?HOUR, timers_nobody, immediate), timers_nobody}
         || _ <- lists:seq(1, 30)],
    [erlang:cancel_timer(erlang:send_after(?FAR, self(), cancelled)) || _ <- lists:seq(1, 10)],
    Owner ! {self(), ready},
    serve(Timers).

change(Set, ?CHANGING) ->
    {{value, Oldest}, Others} = queue:out(Set),
    _ = erlang:cancel_timer(Oldest),
    change(Others, ?CHANGING - 1);
change(Set, Count) ->
    After = lists:nth(1 + Count rem 3, [?HOUR, ?HOUR + rand:uniform(?HOUR), ?FAR]),
    change(queue:in(erlang:send_after(After, self(), {changing, [1, 2, 3]}), Set), Count + 1).

serve(Timers) ->
    receive {timers, From} -> From ! {timers, Timers} end,
    serve(Timers).
