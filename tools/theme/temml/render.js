// Reads one formula a line, as JSON, and answers each with a line: its MathML, or what is wrong.
const program = require("node:fs").readFileSync(`${__dirname}/temml.min.js`, "utf-8");
// as it is published for browsers, it is no module
const temml = new Function(`${program}; return temml;`)();

// TeX parts a function's name, and brackets that grow with their content, from what is beside them
const WORD = /(<\/m(?:sub|sup|subsup)>)(?=<mrow><mi>\w+<\/mi><mo>\u2061)/g;
const OPENING = /(<\/(?:mi|mn|mpadded|msub|msup|msubsup)>(?:<mrow style="margin[^>]*><\/mrow>)?)(?=<mrow><mo fence="true" form="prefix" stretchy="true">)/g;
const CLOSING = /(form="postfix" stretchy="true">[^<]*<\/mo><\/mrow>)(?=<(?:mi|mn|msub|msup|msubsup)>)/g;
const THIN = '$1<mspace width="0.1667em"></mspace>';

function answer({ tex, display }) {
  const options = { displayMode: display, strict: true, throwOnError: true, wrap: "tex" };
  try {
    const html = temml.renderToString(tex, options);
    return { html: [WORD, OPENING, CLOSING].reduce((text, gap) => text.replace(gap, THIN), html) };
  } catch (error) {
    return { error: error.message.trim().split("\n")[0] };
  }
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => console.log(JSON.stringify(answer(JSON.parse(line)))));
