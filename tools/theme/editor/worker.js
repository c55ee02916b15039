// Runs Python beside a page: loads it, each file by its digest, then checks one answer after another.
const CACHE = "attncourse-python";
const START = `
import sys
sys.path.insert(0, "/course")
from torch_over_numpy.load import as_torch
as_torch()
from attncourse.course import COURSE
from judge.page_worker import Page
Page(COURSE)
`;

const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// the content of a file: that of an earlier visit, or else what its address has
async function load({ url, packed, sha256 }, count) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(url);
  const response = kept ?? (await fetch(url));
  if (!response.ok) throw new Error(`${url} couldn’t be fetched (${response.status})`);
  const counted = response.body.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (!kept) count(chunk.length);
        controller.enqueue(chunk);
      },
    }),
  );
  const unpacked = packed && !kept ? counted.pipeThrough(new DecompressionStream("deflate")) : counted;
  const content = await new Response(unpacked).arrayBuffer();
  // another version of it is of no use any more
  if (!kept) await cache.delete(url, { ignoreSearch: true });
  if (hex(await crypto.subtle.digest("SHA-256", content)) !== sha256) {
    await cache.delete(url);
    throw new Error(`${url} has unexpected content`);
  }
  if (!kept) await cache.put(url, new Response(content)).catch(() => {});
  return content;
}

async function loadAll(files) {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let loaded = 0;
  const contents = await Promise.all(
    files.map((file) =>
      load(file, (bytes) => {
        loaded += bytes;
        postMessage({ loaded, total });
      }),
    ),
  );
  return Object.fromEntries(files.map(({ role }, place) => [role, contents[place]]));
}

async function start(files, version) {
  const content = await loadAll(files);
  postMessage({ starting: true });
  const types = { wasm: "application/wasm", js: "text/javascript" };
  const respond = (role) => new Response(content[role], { headers: { "Content-Type": types[role.split(".").at(-1)] ?? "" } });
  content["pyodide-lock.json"] = JSON.stringify({ info: { version }, packages: {} });
  // what Pyodide asks for is there, and nothing else is asked for
  self.fetch = async (address) => respond(new URL(address, location.href).pathname.split("/").at(-1));
  for (const role of ["pyodide.asm.js", "pyodide.js"]) {
    const address = URL.createObjectURL(await respond(role).blob());
    importScripts(address);
    URL.revokeObjectURL(address);
  }
  const silent = () => {};
  const python = await loadPyodide({ indexURL: new URL(".", location.href).href, stdout: silent, stderr: silent });
  python.unpackArchive(content.numpy, "wheel");
  python.unpackArchive(content.course, "zip", { extractDir: "/course" });
  return python.runPython(START);
}

let page;

// an error that Python does not catch ends it: the page then starts another worker
onmessage = async ({ data: { files, version, prepare, id, name, source } }) => {
  try {
    if (files) {
      page = start(files, version);
      await page;
      postMessage({ ready: true });
    } else if (prepare) (await page).prepare(prepare);
    else postMessage({ id, result: JSON.parse((await page).check(name, source)) });
  } catch (error) {
    // of Python's own the last line
    postMessage({ error: String(error.message ?? error).trim().split("\n").at(-1) });
  }
};
