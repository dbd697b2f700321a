// Imports a profile with speedscope's own importer, which its package has only inside the program of
// its page: import_speedscope.cjs PACKAGE FILE prints the stacks as folded lines.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, file] = process.argv.slice(2);
const release = path.join(folder, "dist", "release");
const program = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
const text = fs.readFileSync(path.join(release, program), "utf8");
const importer = text.match(/importProfileGroupFromText:\(\)=>(\w+)/);
const start = text.indexOf("console.log(`speedscope v");
if (!importer || start < 0) throw new Error("this version of speedscope is built otherwise");

// Stands for all of a browser that the page touches before it is drawn, which is left out.
const nothing = () =>
  new Proxy(function () {}, {
    get: (_, name) => (name === Symbol.toPrimitive ? () => 0 : nothing()),
    apply: () => nothing(),
    construct: () => nothing(),
  });
const silent = { log() {}, warn() {}, error: console.error };
const context = { console: silent, TextDecoder, TextEncoder, URL, performance, setTimeout };
for (const name of ["window", "document", "navigator", "location", "Worker", "localStorage"]) {
  context[name] = nothing();
}
context.globalThis = context.self = context;
vm.runInNewContext(`${text.slice(0, start)}globalThis.importer=${importer[1]}})();`, context);

async function main() {
  // The page loads its importers in promises that are resolved already.
  await new Promise((loaded) => setImmediate(loaded));
  const group = await context.importer(path.basename(file), fs.readFileSync(file, "utf8"));
  if (group.profiles.length !== 1) throw new Error(`${group.profiles.length} profiles`);
  const stack = [];
  const weights = new Map();
  let last = 0;
  const count = (value) => {
    const key = stack.join("\n");
    if (value > last) weights.set(key, (weights.get(key) || 0) + value - last);
    last = value;
  };
  group.profiles[0].forEachCall(
    (node, value) => { count(value); stack.push(node.frame.name); },
    (node, value) => { count(value); stack.pop(); });
  const stacks = [...weights].map(([key, weight]) => [key.split("\n"), weight]);
  console.log(JSON.stringify(stacks));
}

main().catch((error) => { console.error(error); process.exit(1); });
