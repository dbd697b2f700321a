%% What a node does beside processes. Ports: sockets, a program that answered, and one that does not
%% read what it gets, so that its port is busy and has a queue. Sockets: one with bytes that are not
%% read, one with a connection that is not accepted, and one without a port.
-module(activity).
-export([start/1]).

start(Scale) ->
    Owner = self(),
    Ports = spawn_link(fun() -> ports(Owner, round(100 * Scale)) end),
    true = register(activity_ports, Ports),
    receive {Ports, ready} -> ok end.

ports(Owner, Sockets) ->
    Cat = open_port({spawn_executable, "/bin/cat"}, [binary, {args, ["-"]}]),
    true = port_command(Cat, <<"twelve bytes">>),
    receive {Cat, {data, <<"twelve bytes">>}} -> ok end,
    Blocked = open_port({spawn_executable, "/bin/sleep"}, [{args, ["100000"]}]),
    true = register(activity_blocked, Blocked),
    %% More than the capacity of a pipe.
    true = port_command(Blocked, binary:copy(<<"x">>, 1000000)),
    false = port_command(Blocked, <<"x">>, [nosuspend]),
    {ok, Listener} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
    {ok, Number} = inet:port(Listener),
    Connected = [begin
                     {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Number, []),
                     {ok, Peer} = gen_tcp:accept(Listener),
                     {Socket, Peer}
                 end || _ <- lists:seq(1, Sockets)],
    {Sender, Quiet} = hd(Connected),
    ok = gen_tcp:send(Sender, binary:copy(<<"x">>, 5000)),
    {ok, Crowded} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
    {ok, CrowdedNumber} = inet:port(Crowded),
    {ok, Waiting} = gen_tcp:connect({127, 0, 0, 1}, CrowdedNumber, []),
    {ok, Datagrams} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
    {ok, WithoutPort} = socket:open(inet, stream, tcp),
    ok = socket:bind(WithoutPort, #{family => inet, addr => {127, 0, 0, 1}, port => 0}),
    ok = socket:listen(WithoutPort),
    Owner ! {self(), ready},
    receive never -> {Cat, Listener, Connected, Quiet, Waiting, Datagrams, WithoutPort} end.
