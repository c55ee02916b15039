// Reads one formula a line, as JSON, and answers each with a line: its MathML, or what is wrong.
const program = require("node:fs").readFileSync(`${__dirname}/temml.min.js`, "utf-8");
// temml.min.js is dist/temml.min.js of version 0.13.5 of the npm package temml, unchanged, SHA-256
// 1ab19148afe0dbc836b7a74f344071b3f3a70a7a8259ae4049e76894fcdf8d95;
// as it is published for browsers, it is no module
const temml = new Function(`${program}; return temml;`)();

// TeX parts a function's name, and brackets that grow with their content, from what is beside them
const WORD = /(<\/m(?:sub|sup|subsup)>)(?=<mrow><mi>\w+<\/mi><mo>\u2061)/g;
const OPENING = /(<\/(?:mi|mn|mpadded|msub|msup|msubsup)>(?:<mrow style="margin[^>]*><\/mrow>)?)(?=<mrow><mo fence="true" form="prefix" stretchy="true">)/g;
const CLOSING = /(form="postfix" stretchy="true">[^<]*<\/mo><\/mrow>)(?=<(?:mi|mn|msub|msup|msubsup)>)/g;
// a formula in a sentence goes on in the next line after a sum or a relation, not within a product
const PRODUCT = /(<mo>[\u22c5\u00d7]<\/mo>)<\/mrow><mrow>/g;
const THIN = '$1<mspace width="0.1667em"></mspace>';
// \query{Q} has the colour of a query, which differs on light and on dark pages
const ROLES = ["query", "key", "value", "weight", "position"];
const MACROS = Object.fromEntries(ROLES.map((role, i) => (
  [`\\${role}`, `{\\definecolor{${role}}{HTML}{00000${i}}\\textcolor{${role}}{#1}}`]
)));

function answer({ tex, display }) {
  const macros = { ...MACROS };
  const options = { displayMode: display, macros, strict: true, throwOnError: true, wrap: "tex" };
  try {
    const plain = temml.renderToString(tex, options);
    const whole = plain.replace(PRODUCT, "$1");
    const html = whole.replace(/#00000(\d)/g, (_, i) => `var(--${ROLES[i]})`);
    return { html: [WORD, OPENING, CLOSING].reduce((text, gap) => text.replace(gap, THIN), html) };
  } catch (error) {
    return { error: error.message.trim().split("\n")[0] };
  }
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => console.log(JSON.stringify(answer(JSON.parse(line)))));
