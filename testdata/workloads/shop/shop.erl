%% A web shop whose sessions hold far more memory than they need, for the README: 6,000 requests of 64 KiB.
-module(shop).
-export([start/1, worker/1]).

-define(BYTES, 65536).

start(Scale) ->
    session_store:start(),
    Workers = [spawn(?MODULE, worker, [N]) || N <- lists:seq(1, 50)],
    [session_store:remember(request(N, lists:nth(N rem 50 + 1, Workers)))
     || N <- lists:seq(1, max(1, round(6000 * Scale)))],
    ok.

worker(N) ->
    receive {serve, Request} -> worker(N + byte_size(Request)) end.

%% A request as it comes from a socket: headers, and a large body.
request(N, Worker) ->
    Head = io_lib:format("POST /cart HTTP/1.1\r\nHost: shop.example\r\nX-Worker: ~p\r\nX-Session: ~96..0b\r\n\r\n",
                         [Worker, N]),
    Text = iolist_to_binary(Head),
    <<Text/binary, 0:((?BYTES - byte_size(Text)) * 8)>>.
