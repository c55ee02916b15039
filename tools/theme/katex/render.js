// Reads one formula a line, as JSON, and answers each with a line: its HTML, or what is wrong.
const katex = require("./katex.min.js");

function answer({ tex, display }) {
  try {
    return { html: katex.renderToString(tex, { displayMode: display, strict: "error" }) };
  } catch (error) {
    return { error: error.message };
  }
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => console.log(JSON.stringify(answer(JSON.parse(line)))));
