%% Incidents of customers' nodes in a small form, one at a time: tell(Name) makes one and answers with
%% the pid of its culprit, or `-`; tell(<<"end">>) ends it.
-module(incidents).
-behaviour(gen_server).
-behaviour(supervisor).
-behaviour(application).
-export([start/1, start/2, stop/1, tell/1, make/2, parked/0, worker/1, slow_child/1, init_child/1]).
-export([init/1, handle_call/3, handle_cast/2]).

-define(HOUR, 3600000).

start(_Scale) ->
    %% What an incident calls is loaded before: a capture is of the incident alone.
    _ = [code:ensure_loaded(Module) || Module <- [gen_tcp, inet_tcp, prim_inet, supervisor, timer]],
    ok.

tell(<<"end">>) ->
    case whereis(incident) of
        undefined -> ok;
        Pid ->
            Monitor = monitor(process, Pid),
            Pid ! stop,
            receive {'DOWN', Monitor, process, Pid, _} -> ok end
    end,
    wait_until(fun() -> [] =:= [Name || Name <- registered(), is_of_incident(Name)] end),
    resume(),
    wait_until(fun() -> at_rest(literal_collector(processes())) end),
    wait_until(fun() -> erlang:system_info(process_count) < 200 end),
    <<"ended">>;
tell(Name) ->
    Owner = self(),
    Pid = spawn(fun() ->
                        process_flag(priority, high),
                        Culprit = make(Name, Owner),
                        Owner ! {self(), Culprit},
                        receive stop -> ok end,
                        _ = [erlang:cancel_timer(Timer) || {timers, Timers} <- get(), Timer <- Timers],
                        exit(shutdown)
                end),
    true = register(incident, Pid),
    receive {Pid, Culprit} when is_pid(Culprit) -> pid_to_list(Culprit);
            {Pid, none} -> <<"-">>
    end.

is_of_incident(Name) ->
    lists:prefix("incident", atom_to_list(Name)).

resume() ->
    [catch erlang:resume_process(whereis(Name)) || Name <- [file_server_2]].

%% A registered process that dies with the incident.
new(Name, Fun) ->
    Owner = self(),
    Pid = spawn_link(fun() -> true = register(Name, self()), Fun(Owner) end),
    receive {Pid, ready} -> Pid end.

ready(Owner) ->
    Owner ! {self(), ready}.

parked() ->
    receive stop -> ok end.

make(<<"mailbox">>, _) ->
    Pid = new(incident_mailbox, fun(Owner) -> ready(Owner), parked() end),
    _ = [Pid ! {event, N} || N <- lists:seq(1, 12000)],
    Pid;
make(<<"selective_receive">>, _) ->
    Pid = new(incident_selective, fun(Owner) -> ready(Owner), selective() end),
    _ = [Pid ! {event, N} || N <- lists:seq(1, 12000)],
    Pid;
make(<<"processes_of_a_fun">>, _) ->
    _ = [spawn_link(fun() -> parked() end) || _ <- lists:seq(1, 1500)],
    timer:sleep(50),
    none;
make(<<"processes">>, _) ->
    _ = [spawn_link(?MODULE, parked, []) || _ <- lists:seq(1, 1500)],
    timer:sleep(50),
    none;
make(<<"table">>, _) ->
    incident_table = ets:new(incident_table, [named_table, public]),
    _ = [ets:insert(incident_table, {N, lists:seq(1, 40)}) || N <- lists:seq(1, 80000)],
    none;
make(<<"fixed_table">>, _) ->
    incident_fixed = ets:new(incident_fixed, [named_table, public]),
    true = ets:safe_fixtable(incident_fixed, true),
    _ = [begin ets:insert(incident_fixed, {N, lists:seq(1, 160)}), ets:delete(incident_fixed, N) end
         || N <- lists:seq(1, 20000)],
    none;
make(<<"dictionary">>, _) ->
    new(incident_dictionary, fun(Owner) ->
                                     _ = [put({session, N}, N) || N <- lists:seq(1, 12000)],
                                     ready(Owner),
                                     parked()
                             end);
make(<<"heap">>, _) ->
    new(incident_heap, fun(Owner) ->
                               State = lists:seq(1, 6000000),
                               ready(Owner),
                               receive stop -> State end
                       end);
make(<<"binaries">>, _) ->
    new(incident_binaries,
        fun(Owner) ->
                Parts = [binary:part(binary:copy(<<N:32>>, 4000), 100, 100)
                         || N <- lists:seq(1, 5000)],
                erlang:garbage_collect(),
                ready(Owner),
                receive stop -> Parts end
        end);
make(<<"table_of_binaries">>, _) ->
    incident_table = ets:new(incident_table, [named_table, public]),
    _ = [ets:insert(incident_table, {N, binary:copy(<<N:32>>, 4000)}) || N <- lists:seq(1, 5000)],
    erlang:garbage_collect(),
    none;
make(<<"deadlock">>, _) ->
    {ok, One} = gen_server:start_link({local, incident_one}, ?MODULE, server, []),
    {ok, Other} = gen_server:start_link({local, incident_other}, ?MODULE, server, []),
    gen_server:cast(One, {call, incident_other}),
    gen_server:cast(Other, {call, incident_one}),
    callers(One, 30),
    in_calls([One, Other]),
    One;
make(<<"stuck_server">>, _) ->
    {ok, Pid} = gen_server:start_link({local, incident_stuck}, ?MODULE, server, []),
    gen_server:cast(Pid, stick),
    callers(Pid, 30),
    Pid;
make(<<"stuck_process">>, _) ->
    Pid = spawn_link(fun() -> register(incident_plain, self()), receive never -> ok end end),
    wait_until(fun() -> whereis(incident_plain) =:= Pid end),
    _ = [spawn_link(fun() -> ask_without_gen(Pid) end) || _ <- lists:seq(1, 30)],
    wait_until(fun() -> {message_queue_len, 30} =:= process_info(Pid, message_queue_len) end),
    Pid;
make(<<"chain">>, _) ->
    {ok, Last} = gen_server:start_link({local, incident_last}, ?MODULE, server, []),
    {ok, First} = gen_server:start_link({local, incident_first}, ?MODULE, server, []),
    gen_server:cast(Last, stick),
    gen_server:cast(First, {call, incident_last}),
    callers(First, 30),
    in_calls([First]),
    Last;
make(<<"sleeping_server">>, _) ->
    {ok, Pid} = gen_server:start_link({local, incident_sleeping}, ?MODULE, server, []),
    gen_server:cast(Pid, sleep),
    callers(Pid, 30),
    Pid;
make(<<"application_start">>, _) ->
    application(start),
    Pid = await(incident_start),
    wait_until(fun() -> waits_in(Pid, {timer, sleep, 1}) end),
    Pid;
make(<<"application_child">>, _) ->
    application(with_child),
    Pid = await(incident_child),
    wait_until(fun() -> waits_in(Pid, {?MODULE, never, 0}) end),
    Pid;
make(<<"child_start">>, _) ->
    spawn_link(fun() -> supervisor:start_link(?MODULE, slow_child) end),
    Pid = await(incident_child),
    wait_until(fun() -> waits_in(Pid, {?MODULE, never, 0}) end),
    Pid;
make(<<"start_deadlock">>, _) ->
    spawn_link(fun() -> supervisor:start_link({local, incident_deadlock}, ?MODULE, asking_child) end),
    Pid = await(incident_child),
    in_calls([Pid]),
    Pid;
make(<<"global_lock">>, _) ->
    Pid = new(incident_holder, fun(Owner) ->
                                       true = global:set_lock({incident_lock, self()}, [node()]),
                                       ready(Owner),
                                       parked()
                               end),
    Waiters = [spawn_link(fun() -> global:trans({incident_lock, self()}, fun() -> ok end, [node()]) end)
               || _ <- lists:seq(1, 30)],
    %% The first sleep takes a quarter of a second at most, later ones up to eight.
    wait_until(fun() -> lists:all(fun(Waiter) -> waits_in(Waiter, {global, random_sleep, 1}) end,
                                  Waiters)
               end),
    Pid;
make(<<"mnesia_tables">>, _) ->
    %% As mnesia_controller without an answer: it has not loaded the table.
    Controller = spawn_link(fun() -> register(mnesia_controller, self()), receive stop -> ok end end),
    await(mnesia_controller),
    Pid = new(incident_loader, fun(Owner) ->
                                       ready(Owner),
                                       mnesia_controller:wait_for_tables([incident_accounts], infinity)
                               end),
    wait_until(fun() -> waits_in(Pid, {mnesia_controller, do_wait_for_tables, 2}) end),
    true = is_process_alive(Controller),
    Pid;
make(<<"file_server">>, _) ->
    Pid = whereis(file_server_2),
    true = erlang:suspend_process(Pid),
    _ = [spawn_link(fun() -> file:get_cwd() end) || _ <- lists:seq(1, 30)],
    wait_until(fun() -> {message_queue_len, 30} =:= process_info(Pid, message_queue_len) end),
    Pid;
make(<<"busy_port">>, _) ->
    [First | Others] = [spawn_link(fun sender/0) || _ <- lists:seq(1, 15)],
    Port = open_port({spawn_executable, "/bin/sleep"}, [{args, ["1000"]}, binary]),
    %% A command that is queued before the port is busy is held by the port, and its sender waits in
    %% erlang:port_command/2 without being suspended: the others begin when the port is busy.
    First ! {port, Port},
    wait_until(fun() -> 1 =< length(suspended()) end),
    _ = [Pid ! {port, Port} || Pid <- Others],
    wait_until(fun() -> 15 =< length(suspended()) end),
    none;
make(<<"close_wait">>, _) ->
    {ok, Listener} = gen_tcp:listen(0, [{active, false}, {backlog, 200}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listener),
    _ = [begin
             {ok, Client} = gen_tcp:connect({127, 0, 0, 1}, Port, []),
             {ok, _Accepted} = gen_tcp:accept(Listener),
             ok = gen_tcp:close(Client)
         end || _ <- lists:seq(1, 120)],
    timer:sleep(100),
    none;
make(<<"not_accepted">>, _) ->
    {ok, Listener} = gen_tcp:listen(0, [{active, false}, {backlog, 200}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listener),
    _ = [{ok, _} = gen_tcp:connect({127, 0, 0, 1}, Port, []) || _ <- lists:seq(1, 120)],
    none;
make(<<"timers_of_nobody">>, _) ->
    put(timers, [erlang:send_after(?HOUR, incident_gone, tick) || _ <- lists:seq(1, 2000)]),
    none;
make(<<"timers_of_one">>, _) ->
    Pid = new(incident_timers, fun(Owner) -> ready(Owner), parked() end),
    _ = [erlang:send_after(?HOUR, Pid, tick) || _ <- lists:seq(1, 120000)],
    Pid;
make(<<"restart_loop">>, _) ->
    {ok, Pid} = supervisor:start_link({local, incident_supervisor}, ?MODULE, supervisor),
    wait_until(fun() -> restarts(Pid) >= 5 end),
    Pid;
make(<<"persistent_terms">>, _) ->
    Collector = literal_collector(processes()),
    {reductions, Before} = process_info(Collector, reductions),
    new(incident_putter, fun(Putter) -> ready(Putter), put_again(0) end),
    %% More than the rule's threshold.
    wait_until(fun() -> {reductions, Now} = process_info(Collector, reductions),
                        Now > Before + 3000000
               end),
    Collector;
%% What the commands of docs/symptoms.md name: no incident.
make(<<"symptoms">>, _) ->
    {ok, _} = gen_server:start_link({local, cart}, ?MODULE, server, []),
    Inbox = new(incident_inbox, fun(Owner) -> register_as(inbox), ready(Owner), selective() end),
    _ = [Inbox ! {event, N} || N <- lists:seq(1, 5)],
    sessions = ets:new(sessions, [named_table]),
    none;
make(<<"old_code">>, _) ->
    planted:run_old_code(),
    none;
make(<<"atoms">>, _) ->
    _ = [list_to_atom("incident_param_" ++ integer_to_list(N)) || N <- lists:seq(1, 22000)],
    none.

%% In place of the name that this process has.
register_as(Name) ->
    {registered_name, Old} = process_info(self(), registered_name),
    true = unregister(Old),
    true = register(Name, self()).

literal_collector([Pid | Pids]) ->
    case process_info(Pid, initial_call) of
        {initial_call, {erts_literal_area_collector, start, 0}} -> Pid;
        _ -> literal_collector(Pids)
    end.

put_again(N) ->
    persistent_term:put(incident_term, [N]),
    put_again(N + 1).

%% The collector of literals has nothing to do.
at_rest(Collector) ->
    {reductions, Before} = process_info(Collector, reductions),
    timer:sleep(50),
    {reductions, Before} =:= process_info(Collector, reductions).

selective() ->
    receive {wanted, _} -> ok end.

sender() ->
    receive {port, Port} -> send(Port) end.

suspended() ->
    [Pid || Pid <- processes(), {status, suspended} =:= process_info(Pid, status)].

%% Once the port is closed: quietly, for the logger would get the megabyte.
send(Port) ->
    case catch erlang:port_command(Port, binary:copy(<<0>>, 1000000)) of
        true -> send(Port);
        _ -> ok
    end.

%% Starts an application whose start/2 does not return.
application(Kind) ->
    _ = application:unload(incident_application),
    ok = application:load({application, incident_application,
                           [{vsn, "1"}, {modules, [?MODULE]}, {registered, []}, {applications, [kernel]},
                            {mod, {?MODULE, Kind}}]}),
    spawn(fun() -> application:start(incident_application) end),
    ok.

start(_Type, start) ->
    end_with_incident(),
    register(incident_start, self()),
    timer:sleep(infinity);
start(_Type, with_child) ->
    supervisor:start_link(?MODULE, slow_child).

stop(_) ->
    ok.

%% What starts this process is told of its end, and ends too.
end_with_incident() ->
    Pid = self(),
    spawn(fun() ->
                  Monitor = monitor(process, whereis(incident)),
                  receive {'DOWN', Monitor, process, _, _} -> exit(Pid, kill) end
          end).

slow_child(Kind) ->
    {ok, _} = proc_lib:start_link(?MODULE, init_child, [Kind]).

init_child(never) ->
    end_with_incident(),
    register(incident_child, self()),
    never();
init_child(asks) ->
    end_with_incident(),
    register(incident_child, self()),
    supervisor:which_children(incident_deadlock).

never() ->
    receive never -> ok end.

await(Name) ->
    wait_until(fun() -> is_pid(whereis(Name)) end),
    whereis(Name).

waits_in(Pid, Function) ->
    [{current_function, Function}, {status, waiting}] =:=
        process_info(Pid, [current_function, status]).

callers(Server, Count) ->
    _ = [spawn_link(fun() -> gen_server:call(Server, question, infinity) end)
         || _ <- lists:seq(1, Count)],
    wait_until(fun() -> {message_queue_len, Count} =< process_info(Server, message_queue_len) end).

%% As code does that is older than gen, or does not know it.
ask_without_gen(Pid) ->
    Monitor = monitor(process, Pid),
    Pid ! {self(), Monitor, question},
    receive {Monitor, Answer} -> Answer end.

in_calls(Pids) ->
    Calls = {current_function, {gen, do_call, 4}},
    wait_until(fun() -> lists:all(fun(Pid) -> process_info(Pid, current_function) =:= Calls end, Pids) end).

restarts(Supervisor) ->
    length(element(8, sys:get_state(Supervisor))).

wait_until(Fun) ->
    case Fun() of
        true -> ok;
        false -> timer:sleep(5), wait_until(Fun)
    end.

init(server) ->
    {ok, nothing};
init(supervisor) ->
    {ok, {#{intensity => 1000000, period => 3600},
          [#{id => worker, start => {?MODULE, worker, [self()]}}]}};
init(slow_child) ->
    {ok, {#{}, [#{id => child, start => {?MODULE, slow_child, [never]}}]}};
init(asking_child) ->
    {ok, {#{}, [#{id => child, start => {?MODULE, slow_child, [asks]}}]}}.

worker(_) ->
    {ok, spawn_link(fun() -> timer:sleep(10), exit(shutdown) end)}.

handle_call(question, _From, State) ->
    {reply, answer, State}.

handle_cast({call, Name}, State) ->
    timer:sleep(100),
    gen_server:call(Name, question, infinity),
    {noreply, State};
handle_cast(sleep, State) ->
    retry(),
    {noreply, State};
handle_cast(stick, State) ->
    receive never -> {noreply, State} end.

%% As code that asks something again and again until it has an answer.
retry() ->
    receive answer -> ok after 100 -> retry() end.
