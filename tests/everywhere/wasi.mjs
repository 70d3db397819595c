// Runs a WebAssembly program in node with the current folder as its own: node wasi.mjs program.wasm arguments...
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [path, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [path, ...args], preopens: { ".": process.cwd() } });
const module = await WebAssembly.compile(await readFile(path));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
