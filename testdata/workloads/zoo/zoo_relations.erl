%% Links and monitors of every kind, in both directions, within the node.
-module(zoo_relations).
-export([start/0]).

start() ->
    start(zoo_hub, fun() -> process_flag(trap_exit, true) end),
    [start(name(spoke, N), fun() -> link(whereis(zoo_hub)) end) || N <- lists:seq(1, 40)],
    start(zoo_watcher, fun watch/0),
    start(zoo_unlinked, fun() -> link(whereis(zoo_hub)), unlink(whereis(zoo_hub)) end),
    start(zoo_port_owner, fun own_ports/0),
    start(zoo_file_owner, fun() -> [{ok, _} = file:open("/dev/null", [read, raw])
                                    || _ <- lists:seq(1, 3)] end),
    start(zoo_clock_watcher, fun() -> monitor(time_offset, clock_service) end),
    start(zoo_group_member, fun() -> group_leader(whereis(zoo_hub), self()) end),
    ok.

name(What, N) -> list_to_atom(lists:concat([zoo_, What, '_', N])).

%% What Prepare says stays in the dictionary.
start(Name, Prepare) ->
    Owner = self(),
    zoo:await(spawn(fun() ->
                        true = register(Name, self()),
                        put(prepared, Prepare()),
                        Owner ! {self(), ready},
                        zoo:rest()
                    end)).

watch() ->
    Hub = whereis(zoo_hub),
    [monitor(process, Hub), monitor(process, Hub), monitor(process, zoo_hub),
     monitor(process, {zoo_hub, node()}), monitor(process, zoo_hub, [{tag, my_down}]),
     monitor(process, Hub, [{alias, explicit_unalias}]),
     monitor(process, Hub, [{alias, demonitor}]),
     monitor(process, Hub, [{alias, reply_demonitor}, {tag, {tagged, "down"}}]),
     alias(), alias([reply]), monitor(port, hd(erlang:ports()))].

own_ports() ->
    {ok, One} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Two} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    true = unlink(Two),
    monitor(port, Two),
    {One, Two}.
