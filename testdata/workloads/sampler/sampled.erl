%% A node for looking at stacks from outside: workers whose stack always follows a rule, under full
%% load, and processes that wait at a known depth.
%%
%% A worker is in loop/1, below that in functions whose names number their depth: loop/1 calls a1 or
%% b1, each aN or bN calls a(N+1) or b(N+1), the last ones call leaf/2. Nothing is skipped, and no
%% depth is there twice. The functions keep different numbers of variables, so that their frames have
%% different sizes and a new frame lies over what older ones left behind.
-module(sampled).
-export([start/1, tell/1, loop/1, waiter/1, labelled/0]).

-define(DEPTH, 12).

start(Scale) ->
    [spawn(?MODULE, loop, [N]) || N <- lists:seq(1, max(1, round(2 * Scale)))],
    spawn(?MODULE, waiter, [?DEPTH]),
    proc_lib:start(?MODULE, labelled, []),
    ok.

%% The node's own words: the functions of the backtrace of a process that waits, innermost first.
tell(<<"stack ", Name/binary>>) ->
    {backtrace, Text} = process_info(whereis(binary_to_existing_atom(Name)), backtrace),
    {match, Found} = re:run(Text, "(?:Program counter:|Return addr) 0x[0-9a-f]+ \\((\\S+) \\+",
                            [global, {capture, all_but_first, binary}]),
    iolist_to_binary(lists:join(" ", [Function || [Function] <- Found])).

waiter(Depth) ->
    register(sampled_waiter, self()),
    {ok, _} = deeper(Depth, []),
    ok.

deeper(0, Seen) ->
    receive {stop, Answer} -> {Answer, Seen} end;
deeper(Depth, Seen) ->
    {Answer, Below} = deeper(Depth - 1, [Depth | Seen]),
    {Answer, [Depth | Below]}.

labelled() ->
    register(sampled_labelled, self()),
    case erlang:function_exported(proc_lib, set_label, 1) of
        true -> apply(proc_lib, set_label, [{worker, "north", 7}]);
        false -> ok
    end,
    proc_lib:init_ack(ok),
    receive stop -> ok end.

loop(N) ->
    case N band 1 of
        0 -> {_, _} = a1(N + 1, N bsr 1);
        1 -> [_ | _] = b1(N + 2, N bsr 1)
    end,
    loop((N * 1103515245 + 12345) band 16#3fffffff).

a1(X, N) ->
    R = case N band 1 of 0 -> a2(X, N bsr 1); 1 -> b2(X + 1, N bsr 1) end,
    {R, N}.

b1(X, N) ->
    P = {X, N}, Q = [X],
    R = case N band 1 of 0 -> b2(X, N bsr 1); 1 -> a2(X + 1, N bsr 1) end,
    S = case R of {_, _} -> a2(X, N bsr 2); _ -> b2(X, N bsr 3) end,
    [P, Q, R, S].

a2(X, N) ->
    P = {N}, Q = {X}, T = [N],
    R = case N band 1 of 0 -> a3(X, N bsr 1); 1 -> b3(X + 1, N bsr 1) end,
    {{P, Q, T}, R}.

b2(X, N) ->
    R = case N band 1 of 0 -> b3(X, N bsr 1); 1 -> a3(X + 1, N bsr 1) end,
    [R | N].

a3(X, N) ->
    P = [X, N],
    R = case N band 1 of 0 -> leaf(X, N); 1 -> b4(X + 1, N bsr 1) end,
    {P, R}.

b3(X, N) ->
    P = {X}, Q = {N}, T = [X | N], U = {P, Q}, V = [T],
    R = case N band 1 of 0 -> a4(X, N bsr 1); 1 -> b4(X + 1, N bsr 1) end,
    S = leaf(X, N),
    [P, Q, T, U, V, R | S].

a4(X, N) -> {leaf(X, N), leaf(N, X)}.

b4(X, N) ->
    P = {X, N}, Q = [P, X],
    R = leaf(X, N),
    [P, Q, R, leaf(X + 1, N)].

%% A little of what Erlang code and what native code does.
leaf(X, N) ->
    H = erlang:phash2({X, N}),
    L = [X, N, H | lists:seq(1, N band 7)],
    {length(L), binary_part(term_to_binary(L), 0, 4)}.
