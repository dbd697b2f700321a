%% A healthy server under load: 60 connections of loopback ask for orders, each as soon as it has its
%% answer, after a millisecond at most. Each request runs in a process of its own, which calls one of
%% 16 servers, reads and writes a table, sets a timer, and answers with 4 KiB.
%% tell(<<"served">>) answers with the number of answers so far.
-module(serving).
-behaviour(gen_server).
-behaviour(supervisor).
-export([start/1, tell/1, start_server/1, request/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-define(SERVERS, 16).
-define(CONNECTIONS, 60).

start(_Scale) ->
    serving_orders = ets:new(serving_orders, [named_table, public, {write_concurrency, true}]),
    persistent_term:put(serving, counters:new(1, [write_concurrency])),
    Keeper = spawn(fun() ->
                           {ok, _} = supervisor:start_link({local, serving_sup}, ?MODULE, servers),
                           receive stop -> ok end
                   end),
    ets:give_away(serving_orders, Keeper, ok),
    wait_until(fun() -> undefined =/= whereis(serving_sup) end),
    {ok, Listener} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false},
                                        {packet, 4}, {backlog, ?CONNECTIONS}]),
    {ok, Port} = inet:port(Listener),
    ok = gen_tcp:controlling_process(Listener, spawn(fun() -> accept(Listener) end)),
    [spawn(fun() -> client(Port, N) end) || N <- lists:seq(1, ?CONNECTIONS)],
    wait_until(fun() -> counters:get(persistent_term:get(serving), 1) > 10 * ?CONNECTIONS end),
    ok.

wait_until(True) ->
    True() orelse begin timer:sleep(10), wait_until(True) end.

tell(<<"served">>) ->
    integer_to_binary(counters:get(persistent_term:get(serving), 1)).

server(N) -> list_to_atom("serving_" ++ integer_to_list(N rem ?SERVERS)).

start_server(N) -> gen_server:start_link({local, server(N)}, ?MODULE, server, []).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listener).

%% A connection takes the next request when the last one was answered.
serve(Socket) ->
    {ok, <<Order:32>>} = gen_tcp:recv(Socket, 0),
    {Request, Monitor} = proc_lib:spawn_opt(?MODULE, request, [Socket, Order], [monitor]),
    receive {'DOWN', Monitor, process, Request, _} -> serve(Socket) end.

request(Socket, Order) ->
    Timer = erlang:send_after(60000, self(), too_late),
    Total = gen_server:call(server(Order), {order, Order}, infinity),
    true = ets:insert(serving_orders, {Order rem 5000, Total, {item, Order, <<"a name">>}}),
    [{_, _, _}] = ets:lookup(serving_orders, Order rem 5000),
    counters:add(persistent_term:get(serving), 1, 1),
    erlang:cancel_timer(Timer),
    ok = gen_tcp:send(Socket, [<<Order:32>>, binary:copy(<<Order:32>>, 1024)]).

client(Port, N) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {packet, 4}]),
    ask(Socket, N).

ask(Socket, Order) ->
    ok = gen_tcp:send(Socket, <<Order:32>>),
    {ok, <<Order:32, _/binary>>} = gen_tcp:recv(Socket, 0),
    timer:sleep(rand:uniform(2) - 1),
    ask(Socket, Order + ?CONNECTIONS).

init(servers) ->
    {ok, {#{strategy => one_for_one},
          [#{id => N, start => {?MODULE, start_server, [N]}} || N <- lists:seq(0, ?SERVERS - 1)]}};
init(server) ->
    {ok, #{}}.

handle_call({order, Order}, _From, Totals) ->
    Total = maps:get(Order rem 300, Totals, 0) + Order,
    {reply, Total, Totals#{Order rem 300 => Total}}.

handle_cast(_, Totals) -> {noreply, Totals}.

handle_info(_, Totals) -> {noreply, Totals}.
