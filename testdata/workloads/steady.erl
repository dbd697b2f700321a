%% A node that serves a steady load and notices everything that goes wrong with it: messages between
%% processes, timers, a TCP echo, a port program, a NIF that sleeps in a system call (the library
%% that BEAMDUMP_STEADY_NIF names, without ".so"). Each exchange is checked and timed.
%%
%% tell(<<"reset">>) forgets what was counted; tell(<<"report">>) says it as JSON: of each kind the
%% exchanges, what went wrong, and how long they took (how late they were), in buckets of powers of
%% two of microseconds.
-module(steady).
-export([start/1, tell/1, sleep/1]).

-define(KINDS, [message, timer, tcp, port, nif]).
-define(BUCKETS, 32).
-define(PATIENCE, 20000).

start(Scale) ->
    Count = fun(AtScaleOne) -> max(1, round(AtScaleOne * Scale)) end,
    ok = erlang:load_nif(os:getenv("BEAMDUMP_STEADY_NIF"), 0),
    %% Of each kind: exchanges, faults, the longest, and the buckets.
    persistent_term:put(steady, maps:from_list([{Kind, counters:new(3 + ?BUCKETS, [])}
                                                || Kind <- ?KINDS])),
    {ok, Listener} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false},
                                        {packet, 4}, {backlog, 64}]),
    {ok, Port} = inet:port(Listener),
    spawn(fun() -> accept(Listener) end),
    [spawn(Run) || {Run, Many} <- [{fun messages/0, Count(20)}, {fun timers/0, Count(10)},
                                   {fun() -> tcp(Port) end, Count(5)},
                                   {fun port/0, Count(2)}, {fun nif/0, 1}],
                   _ <- lists:seq(1, Many)],
    ok.

sleep(_) -> erlang:nif_error(not_loaded).

tell(<<"reset">>) ->
    [[counters:put(counter(Kind), N, 0) || N <- lists:seq(1, 3 + ?BUCKETS)] || Kind <- ?KINDS],
    <<"ok">>;
tell(<<"report">>) ->
    ["{", lists:join(",", [report(Kind) || Kind <- ?KINDS]), "}"].

report(Kind) ->
    [Exchanges, Faults, Longest | Buckets] =
        [counters:get(counter(Kind), N) || N <- lists:seq(1, 3 + ?BUCKETS)],
    io_lib:format("\"~s\":{\"exchanges\":~b,\"faults\":~b,\"longest_us\":~b,\"buckets\":[~s]}",
                  [Kind, Exchanges, Faults, Longest,
                   lists:join(",", [integer_to_list(Bucket) || Bucket <- Buckets])]).

counter(Kind) -> maps:get(Kind, persistent_term:get(steady)).

%% One exchange that took so many microseconds. The longest is a guess where two write at once.
count(Kind, Microseconds) ->
    Counter = counter(Kind),
    counters:add(Counter, 1, 1),
    counters:add(Counter, 4 + min(?BUCKETS - 1, bits(max(0, Microseconds))), 1),
    Microseconds > counters:get(Counter, 3) andalso counters:put(Counter, 3, Microseconds).

fault(Kind) -> counters:add(counter(Kind), 2, 1).

bits(0) -> 0;
bits(N) -> 1 + bits(N bsr 1).

now_us() -> erlang:monotonic_time(microsecond).

pause() -> timer:sleep(2).

%% Two processes; each message has a number, so that a lost, doubled or swapped one shows.
messages() ->
    Self = self(),
    Echo = spawn_link(fun() -> echo(Self, 1) end),
    messages(Echo, 1).

messages(Echo, N) ->
    Begin = now_us(),
    Echo ! {N, binary:copy(<<N:64>>, 20)},
    receive
        {N, Content} ->
            Content =:= binary:copy(<<N:64>>, 20) orelse fault(message),
            count(message, now_us() - Begin)
    after ?PATIENCE -> fault(message)
    end,
    receive _ -> fault(message) after 0 -> ok end,
    pause(),
    messages(Echo, N + 1).

echo(To, N) ->
    receive
        {N, Content} -> To ! {N, Content}, echo(To, N + 1);
        _ -> fault(message), echo(To, N)
    end.

timers() ->
    Due = now_us() + 10000,
    Reference = erlang:send_after(10, self(), due),
    receive
        due ->
            now_us() < Due - 1000 andalso fault(timer),
            count(timer, now_us() - Due)
    after ?PATIENCE ->
        _ = erlang:cancel_timer(Reference),
        fault(timer)
    end,
    timers().

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    gen_tcp:controlling_process(Socket, spawn(fun() -> return(Socket) end)),
    accept(Listener).

return(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Data} -> ok = gen_tcp:send(Socket, Data), return(Socket);
        {error, _} -> fault(tcp)
    end.

tcp(Port) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {packet, 4}]),
    tcp(Socket, 1).

tcp(Socket, N) ->
    Data = binary:copy(<<N:64>>, 200),
    Begin = now_us(),
    case gen_tcp:send(Socket, Data) of
        ok -> ok;
        {error, _} -> fault(tcp)
    end,
    case gen_tcp:recv(Socket, 0, ?PATIENCE) of
        {ok, Data} -> count(tcp, now_us() - Begin);
        _ -> fault(tcp)
    end,
    pause(),
    tcp(Socket, N + 1).

port() ->
    Port = open_port({spawn_executable, "/bin/cat"}, [binary, use_stdio, exit_status, {line, 200}]),
    port(Port, 1).

port(Port, N) ->
    Line = integer_to_binary(N),
    Begin = now_us(),
    port_command(Port, [Line, $\n]),
    receive
        {Port, {data, {eol, Line}}} -> count(port, now_us() - Begin);
        {Port, _} -> fault(port)
    after ?PATIENCE -> fault(port)
    end,
    pause(),
    port(Port, N + 1).

nif() ->
    Begin = now_us(),
    case sleep(20) of
        {ok, _} -> count(nif, now_us() - Begin - 20000);
        _ -> fault(nif)
    end,
    nif().
