// Judges answers as a page does: a line of JSON comes in, a verdict goes out.
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

vm.runInThisContext(fs.readFileSync(process.argv[2], "utf8"));
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { question, variant, answer, text } = JSON.parse(line);
  const said = text === undefined
    ? attncourseAnswers.judge(question, variant, answer)
    : attncourseAnswers.readings(text);
  console.log(JSON.stringify(said));
});
