%% Relations with another node, and messages from there. Only where `-zoo NODE` names one that has
%% the zoo's modules.
-module(zoo_remote).
-export([start/0, host/1]).

start() ->
    case init:get_argument(zoo) of
        {ok, [[Peer]]} -> start(list_to_atom(Peer));
        error -> ok
    end.

start(Peer) ->
    ok = connect(Peer, 100),
    Owner = self(),
    Far = spawn(Peer, ?MODULE, host, [Owner]),
    zoo:await(Far),
    local(zoo_far_linked, fun() -> link(Far), process_flag(trap_exit, true) end),
    local(zoo_far_watcher, fun() -> [monitor(process, Far), monitor(process, {zoo_host, Peer}),
                                     monitor(process, Far, [{alias, demonitor}]),
                                     monitor_node(Peer, true), monitor_node(Peer, true)] end),
    local(zoo_nodes_watcher, fun() -> net_kernel:monitor_nodes(true, [nodedown_reason]) end),
    Near = local(zoo_far_watched, fun() -> Far end),
    local(zoo_far_terms, fun() -> {Far, erpc:call(Peer, erlang, make_ref, []),
                                   erpc:call(Peer, erlang, ports, []),
                                   erpc:call(Peer, zoo_terms, nested_funs, [3])} end),
    local(zoo_far_leader, fun() -> group_leader(Far, self()) end),
    true = register(zoo_far_caller, spawn(fun() -> gen_server:call(Far, question, infinity) end)),
    mail(Far, Near).

%% Retries: the peer may still be starting.
connect(Peer, Attempts) when Attempts > 0 ->
    case net_kernel:connect_node(Peer) of
        true -> ok;
        false -> timer:sleep(100), connect(Peer, Attempts - 1)
    end.

%% Half of the messages come to one that cannot take them: they stay as they came, undecoded.
mail(Far, Near) ->
    Far ! {watch, Near},
    zoo:await(Far),
    Far ! {send, Near, fetched},
    zoo:await(Far),
    Far ! {send, whereis(zoo_suspended_far), unfetched},
    zoo:await(Far),
    ok.

local(Name, Prepare) ->
    Owner = self(),
    zoo:await(spawn(fun() ->
                        true = register(Name, self()),
                        put(prepared, Prepare()),
                        Owner ! {self(), ready},
                        zoo:rest()
                    end)).

%% In the other node.
host(Owner) ->
    true = register(zoo_host, self()),
    Owner ! {self(), ready},
    serve(Owner).

serve(Owner) ->
    receive
        {watch, Pid} ->
            link(Pid),
            monitor(process, Pid),
            monitor(process, Pid);
        {send, Pid, What} ->
            [Pid ! {What, N, self(), make_ref(), <<"from afar">>, #{N => [far | "away"]}}
             || N <- lists:seq(1, 20)],
            Pid ! {What, binary:copy(<<"large">>, 1000), lists:seq(1, 3000), fun() -> Owner end}
    end,
    Owner ! {self(), ready},
    serve(Owner).
