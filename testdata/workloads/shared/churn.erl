%% A node whose tables change as fast as it can, one kind at a time (tell/1). For `-run churn far NODE`:
%% another node, which connects to that one and disconnects, without end.
-module(churn).
-export([start/1, tell/1, far/1, churn/1]).

-define(MOST_ATOMS, 800000).
-define(MODULES, [churned_one, churned_two]).
-define(PAUSE_EVERY, 500).

%% Nothing churns at first.
start(_Scale) ->
    Owner = self(),
    spawn(fun() ->
        true = register(churn, self()),
        Owner ! ready,
        serve([])
    end),
    receive ready -> ok end.

tell(Kind) ->
    Monitor = monitor(process, churn),
    churn ! {self(), Monitor, binary_to_atom(Kind)},
    receive
        {Monitor, Told} -> demonitor(Monitor, [flush]), Told;
        {'DOWN', Monitor, process, _, Reason} -> iolist_to_binary(io_lib:format("~p", [Reason]))
    end.

serve(Churning) ->
    receive
        {From, Tag, Kind} ->
            [exit(Pid, kill) || Pid <- Churning],
            [receive {'DOWN', _, process, Pid, _} -> ok end || Pid <- Churning],
            Started = [element(1, spawn_monitor(?MODULE, churn, [One])) || One <- churners(Kind)],
            From ! {Tag, <<"churning">>},
            serve(Started);
        {'DOWN', _, process, Pid, Reason} ->
            exit({Pid, Reason})
    end.

churners(rest) -> [];
churners(distribution) -> [];  % the other node does it
churners(all) -> [monitors, links, atoms, processes, timers, ets];
churners(monitors) -> [monitors, monitors, monitors];
churners(links) -> [links, links, links];
churners(processes) -> [processes, processes];
churners(Kind) -> [Kind].

churn(monitors) ->
    {_, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, process, _, _} -> churn(monitors) end;
churn(links) ->
    process_flag(trap_exit, true),
    links();
churn(code) ->
    load([{Module, compiled(Module)} || Module <- ?MODULES]);
churn(atoms) ->
    atoms(erlang:system_info(atom_count));
churn(processes) ->
    Owner = self(),
    [spawn(fun() -> ok end) || _ <- lists:seq(1, 50)],
    Last = spawn(fun() -> Owner ! {self(), last} end),
    receive {Last, last} -> churn(processes) end;
churn(ports) ->
    {ok, Socket} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}]),
    Port = open_port({spawn_driver, "ram_file_drv"}, []),
    true = port_close(Port),
    ok = gen_udp:close(Socket),
    churn(ports);
churn(timers) ->
    Timers = [erlang:start_timer(N, self(), {fired, N}) || N <- [1, 10, 1000, 100000]],
    _ = [erlang:cancel_timer(Timer) || Timer <- Timers],
    receive {timeout, _, _} -> ok after 0 -> ok end,
    churn(timers);
churn(ets) ->
    Tables = [ets:new(churned, Options) || Options <- [[set], [ordered_set, public], [bag],
                                                       [set, public, {write_concurrency, true}]]],
    [ets:insert(Table, [{N, [N]} || N <- lists:seq(1, 100)]) || Table <- Tables],
    [true = ets:delete(Table) || Table <- Tables],
    churn(ets);
churn(persistent) ->
    persistent(1).

links() ->
    Pid = spawn_link(fun() -> ok end),
    receive {'EXIT', Pid, _} -> links() end.

%% Each version is loaded over the one before, which is purged.
load(Modules) ->
    [{module, Module} = code:load_binary(Module, "churned.erl", Code) || {Module, Code} <- Modules],
    [code:purge(Module) || {Module, _} <- Modules],
    [true = code:delete(Module) || {Module, _} <- Modules],
    [code:purge(Module) || {Module, _} <- Modules],
    load(Modules).

%% A module with functions, literals, a catch and a fun.
compiled(Module) ->
    Line = erl_anno:new(1),
    Clause = fun(Body) -> [{clause, Line, [], [], [Body]}] end,
    Literal = erl_parse:abstract({Module, lists:seq(1, 50)}),
    Catch = {'catch', Line, {call, Line, {atom, Line, literal}, []}},
    Fun = {'fun', Line, {clauses, [{clause, Line, [{var, Line, 'X'}], [], [{var, Line, 'X'}]}]}},
    Forms = [{attribute, Line, module, Module},
             {attribute, Line, export, [{literal, 0}, {caught, 0}, {a_fun, 0}]},
             {function, Line, literal, 0, Clause(Literal)},
             {function, Line, caught, 0, Clause(Catch)},
             {function, Line, a_fun, 0, Clause(Fun)}],
    {ok, Module, Code} = compile:forms(Forms, []),
    Code.

%% The table of atoms only grows: it is never filled.
atoms(N) when N > ?MOST_ATOMS ->
    receive never -> ok end;
atoms(N) ->
    _ = binary_to_atom(<<"churned_", (integer_to_binary(N))/binary>>),
    _ = [receive after 1 -> ok end || N rem 10 =:= 0],
    atoms(N + 1).

%% Without any pause the runtime would not free the literals' memory as fast.
persistent(N) ->
    persistent_term:put({churned, N rem 5}, {N}),
    _ = [persistent_term:erase({churned, N rem 5}) || N rem 7 =:= 0],
    _ = [receive after 10 -> ok end || N rem ?PAUSE_EVERY =:= 0],
    persistent(N + 1).

far([Node]) ->
    up_and_down(list_to_atom(Node)).

up_and_down(Node) ->
    _ = net_kernel:connect_node(Node),
    _ = [spawn(Node, erlang, node, []) || _ <- lists:seq(1, 3)],
    _ = erlang:disconnect_node(Node),
    up_and_down(Node).
