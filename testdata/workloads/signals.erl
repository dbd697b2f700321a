%% Processes with signals of all kinds in their queues, in between and behind messages. The number in a
%% process's name is how many messages it has. They cannot take them: a process of higher priority
%% keeps the scheduler that all of these are bound to. A second start ends that, and with it the
%% waiting.
-module(signals).
-export([start/1, rest/1, spin/1, keep/1]).

start(_Scale) ->
    case whereis(signals_spinner) of
        undefined -> hold();
        Spinner -> release(Spinner)
    end.

hold() ->
    Scheduler = erlang:system_info(schedulers),
    true = Scheduler > 1,
    Queues = [{started(rest, [{scheduler, Scheduler}], Name), Signals}
              || {Name, Signals} <- queues()],
    _ = started(spin, [{scheduler, Scheduler}, {priority, max}], signals_spinner),
    Keeper = started(keep, [], signals_keeper),
    Keeper ! {self(), Queues},
    receive {Keeper, sent} -> ok end.

release(Spinner) ->
    Monitor = erlang:monitor(process, Spinner),
    Spinner ! {signals, finish},
    receive {'DOWN', Monitor, process, Spinner, normal} -> ok end.

started(Function, Options, Name) ->
    Pid = spawn_opt(?MODULE, Function, [self()], Options),
    true = register(Name, Pid),
    receive {Pid, ready} -> Pid end.

queues() ->
    Many = lists:append(lists:duplicate(300, [{messages, 3}, monitor])),
    [{waiting_50, [{messages, 50}]},
     {waiting_0, [monitor, link, monitor]},
     {waiting_9, [monitor, {messages, 4}, link, unlink, {messages, 5}]},
     {waiting_40, [{messages, 40}, monitor, demonitor]},
     {waiting_71, [{messages, 1}, exit, {messages, 20}, link, monitor, {messages, 50}]},
     {waiting_1000, Many ++ [{messages, 100}]},
     {waiting_900, Many}].

%% The links and monitors are this one's.
keep(Owner) ->
    Owner ! {self(), ready},
    receive
        {Owner, Queues} ->
            [signal(Signal, Pid) || {Pid, Signals} <- Queues, Signal <- Signals],
            Owner ! {self(), sent}
    end,
    wait().

signal({messages, Count}, Pid) -> [Pid ! {message, N} || N <- lists:seq(1, Count)];
signal(monitor, Pid) -> put(monitor, erlang:monitor(process, Pid));
signal(demonitor, _) -> erlang:demonitor(get(monitor));
signal(link, Pid) -> link(Pid);
signal(unlink, Pid) -> unlink(Pid);
signal(exit, Pid) -> exit(Pid, normal).

rest(Owner) ->
    Owner ! {self(), ready},
    wait().

wait() ->
    receive {signals, finish} -> ok end.

spin(Owner) ->
    Owner ! {self(), ready},
    spin().

spin() ->
    receive {signals, finish} -> ok after 0 -> spin() end.
