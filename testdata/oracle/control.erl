%% Answers a test from inside a node, over a local socket, one line a question:
%%   ping          pong, after the node has scheduled, allocated, collected and sent
%%   release       the OTP release's number
%%   version       the version of OTP, as its installation says
%%   processes     the pids of all processes but the answering one, separated by spaces
%%   tables        the number of ETS tables
%%   oracle FILE   oracle:write(FILE), then the number of processes
%%   oracle FILE DIRECTORY  oracle:write(FILE, DIRECTORY), then the number of processes
%%   sizes FILE    zoo_sizes:write(FILE), then the number of lines
%%   facts FILE WHAT  node_facts:write(FILE, WHAT), then the number of lines
%%   rows FILE     tables:rows(FILE), then the number of rows
%%   watch         starts to watch for stops
%%   gap           the longest stop seen since watch, in microseconds
%%   memory        erlang:memory(total)
%%   node_memory   node_memory:describe(): all that the node says of its memory
%%   peak          node_memory:peak(): much memory, of which nothing is left
%%   start WORKLOAD SCALE  WORKLOAD:start(SCALE), beside what runs
%%   steady reset|report   steady:tell/1
%%   wedged wedge|end|sleeping|spinning  wedged:tell/1
%%   faults hang MILLISECONDS  faults:tell/1
%%   die HOW       dying:tell/1, with which the node ends
%%   crash HOW     crash:now/1, with which the node ends, unanswered
%%   planted FILE  planted:write(FILE)
%%   asked FILE    asked:write(FILE)
%%   ailing FILE  ailing:write(FILE)
%%   incident NAME  incidents:tell/1
%%   sampled stack NAME  sampled:tell/1
%%   parked servers|deep|waking  parked:tell/1
%%   profiled spent|rounds  profiled:tell/1
%%   allocating words|rounds  allocating:tell/1
%%   mixed time|words|rounds|mixed|regular  mixed:tell/1
%%   blamed sends  blamed:tell/1
%%   later spin    later:tell/1
%%   topped mailbox|heap|info|pid  topped:tell/1
%%   leaking load|KIND|COUNT  leaking:tell/1
%%   churn KIND    churn:tell/1
%%   storm start KIND ITEMS PROCESSES|rounds|memory|end  storm:tell/1
%%   serving served  serving:tell/1
%%   emulator hold FILE|lock|busy_port|leak COUNT SIZE|binaries COUNT SIZE|suspend|fix|delete_fixed ROWS DELETED|fixed|relations|related  emulator:tell/1
%%   emulator resources|monitors COUNT  emulator:tell/1
%%   starting some|go  starting:tell/1
%%   silent        starts a process of far:silent/0
%%   running APP   true if the application is started
-module(control).
-export([start/1, serve/2, answer/2, watch/1]).

%% For `-run control start PATH`. Returns when it can be asked.
start([Path]) ->
    %% Loads the code now, so that none has to be loaded between a capture and the questions.
    _ = iolist_to_binary(oracle:describe(self())),
    {module, texts} = code:ensure_loaded(texts),
    {module, node_memory} = code:ensure_loaded(node_memory),
    {ok, Device} = file:open("/dev/null", [write, raw, delayed_write]),
    ok = file:close(Device),
    {Server, Monitor} = spawn_monitor(?MODULE, serve, [Path, self()]),
    receive
        {Server, listening} -> true = demonitor(Monitor, [flush]), Server;
        {'DOWN', Monitor, process, Server, Reason} -> error({not_listening, Path, Reason})
    end.

serve(Path, Owner) ->
    {ok, Listener} = gen_tcp:listen(0, [{ifaddr, {local, Path}}, binary, {packet, line},
                                        {active, false}]),
    Owner ! {self(), listening},
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Server = spawn(fun() -> receive go -> conversation(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Server),
    Server ! go,
    accept(Listener).

conversation(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Line} ->
            Words = string:lexemes(string:trim(Line), " "),
            ok = gen_tcp:send(Socket, [reply(Words), $\n]),
            conversation(Socket);
        {error, closed} ->
            ok
    end.

reply([<<"ping">>]) ->
    {Pid, Monitor} = spawn_monitor(?MODULE, answer, [self(), 1000]),
    receive
        {Pid, 500500} ->
            receive {'DOWN', Monitor, process, Pid, normal} -> <<"pong">> end
    after 10000 ->
        <<"no answer">>
    end;
reply([<<"release">>]) ->
    erlang:system_info(otp_release);
reply([<<"version">>]) ->
    {ok, Version} = file:read_file(filename:join([code:root_dir(), "releases",
                                                  erlang:system_info(otp_release),
                                                  "OTP_VERSION"])),
    string:trim(Version);
reply([<<"processes">>]) ->
    lists:join($\s, [pid_to_list(Pid) || Pid <- processes() -- [self()]]);
reply([<<"tables">>]) ->
    integer_to_binary(erlang:system_info(ets_count));
reply([<<"oracle">>, File]) ->
    integer_to_binary(oracle:write(File));
reply([<<"oracle">>, File, Directory]) ->
    integer_to_binary(oracle:write(File, Directory));
reply([<<"facts">>, File, What]) ->
    integer_to_binary(node_facts:write(File, What));
reply([<<"sizes">>, File]) ->
    integer_to_binary(zoo_sizes:write(File));
reply([<<"rows">>, File]) ->
    integer_to_binary(tables:rows(File));
reply([<<"watch">>]) ->
    stop_watching(),
    true = register(control_watch, spawn(?MODULE, watch, [0])),
    <<"watching">>;
reply([<<"gap">>]) ->
    control_watch ! {gap, self()},
    receive {gap, Microseconds} -> integer_to_binary(Microseconds) end;
reply([<<"memory">>]) ->
    integer_to_binary(erlang:memory(total));
reply([<<"node_memory">>]) ->
    node_memory:describe();
reply([<<"peak">>]) ->
    ok = node_memory:peak(),
    <<"done">>;
reply([<<"start">>, Workload, Scale]) ->
    ok = (binary_to_atom(Workload)):start(binary_to_float(Scale)),
    <<"started">>;
reply([<<"steady">>, What]) ->
    steady:tell(What);
reply([<<"wedged">>, What]) ->
    wedged:tell(What);
reply([<<"faults">> | What]) ->
    faults:tell(What);
reply([<<"die">>, How]) ->
    dying:tell(How);
reply([<<"crash">>, How]) ->
    crash:now(How);
reply([<<"planted">>, File]) ->
    planted:write(File);
reply([<<"asked">>, File]) ->
    asked:write(File);
reply([<<"leaking">>, What]) ->
    leaking:tell(What);
reply([<<"filling">>, Kind]) ->
    filling:tell(Kind);
reply([<<"serving">>, What]) ->
    serving:tell(What);
reply([<<"emulator">> | What]) ->
    emulator:tell(What);
reply([<<"starting">>, What]) ->
    starting:tell(What);
reply([<<"churn">>, Kind]) ->
    churn:tell(Kind);
reply([<<"ailing">>, File]) ->
    ailing:write(File);
reply([<<"incident">>, Name]) ->
    incidents:tell(Name);
reply([<<"parked">>, Kind]) ->
    parked:tell(Kind);
reply([<<"sampled">> | What]) ->
    sampled:tell(iolist_to_binary(lists:join(" ", What)));
reply([<<"profiled">>, What]) ->
    profiled:tell(What);
reply([<<"allocating">>, What]) ->
    allocating:tell(What);
reply([<<"mixed">>, What]) ->
    mixed:tell(What);
reply([<<"blamed">>, What]) ->
    blamed:tell(What);
reply([<<"topped">> | What]) ->
    topped:tell(What);
reply([<<"threaded">>, What]) ->
    threaded:tell(What);
reply([<<"later">>, What]) ->
    later:tell(What);
reply([<<"storm">> | What]) ->
    storm:tell(What);
reply([<<"silent">>]) ->
    pid_to_list(far:silent());
reply([<<"running">>, Application]) ->
    atom_to_binary(lists:keymember(binary_to_atom(Application), 1,
                                   application:which_applications())).

answer(To, Count) ->
    Numbers = lists:seq(1, Count),
    erlang:garbage_collect(),
    To ! {self(), lists:sum(Numbers)}.

stop_watching() ->
    case whereis(control_watch) of
        undefined -> ok;
        Pid ->
            Monitor = monitor(process, Pid),
            exit(Pid, kill),
            receive {'DOWN', Monitor, process, Pid, _} -> ok end
    end.

%% Sleeps a millisecond at a time and keeps the longest time that one took.
watch(Longest) ->
    Before = erlang:monotonic_time(microsecond),
    receive
        {gap, To} -> To ! {gap, Longest}, watch(Longest)
    after 1 ->
        watch(max(Longest, erlang:monotonic_time(microsecond) - Before))
    end.
