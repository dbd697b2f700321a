%% A node that makes and drops binaries, persistent terms and modules all the time.
-module(churning).
-export([start/1]).

start(Scale) ->
    [spawn(fun() -> binaries(rand:seed(exsss, Number), []) end)
     || Number <- lists:seq(1, round(40 * Scale))],
    spawn(fun() -> persistent(0) end),
    spawn(fun() -> modules(0) end),
    ok.

%% Up to 50 binaries of different sizes; a collection frees those that were dropped.
binaries(State, Held) ->
    {Size, Next} = rand:uniform_s(4000, State),
    Kept = lists:sublist([binary:copy(<<Size:16>>, 50 + Size) | Held], 50),
    _ = erlang:garbage_collect(),
    receive after 1 -> binaries(Next, Kept) end.

persistent(N) ->
    persistent_term:put({churning, N rem 20}, N),
    _ = persistent_term:erase({churning, (N + 10) rem 20}),
    receive after 1 -> persistent(N + 1) end.

modules(N) ->
    Name = list_to_atom("churning_" ++ integer_to_list(N rem 10)),
    Functions = [{function, 1, f, 1, [{clause, 1, [{var, 1, '_'}], [], [{integer, 1, Number}]}]}
                 || Number <- [N]],
    {ok, Name, Code} = compile:forms([{attribute, 1, module, Name},
                                      {attribute, 1, export, [{f, 1}]} | Functions]),
    _ = code:purge(Name),
    {module, Name} = code:load_binary(Name, "churning", Code),
    receive after 5 -> modules(N + 1) end.
