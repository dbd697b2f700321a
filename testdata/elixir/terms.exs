# A node with the terms of term_zoo.exs in the dictionary of a process, their texts in a file, and a
# GenServer's state.
#
# elixir terms.exs CONTROL TEXTS

Code.require_file("term_zoo.exs", __DIR__)

[control, texts] = System.argv()

{:ok, server} = GenServer.start_link(Zoo.Server, Zoo.Terms.state())

Process.register(server, :zoo_server)
main = self()

keeper =
  spawn(fn ->
    Zoo.Terms.keep(texts)
    send(main, :kept)
    Process.sleep(:infinity)
  end)

Process.register(keeper, :zoo_terms)

receive do
  :kept -> :ok
end

:control.start([String.to_charlist(control)])
