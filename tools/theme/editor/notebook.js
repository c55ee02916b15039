// Answers into a notebook of exercises, and out of one.
globalThis.attncourseNotebook = (() => {
  const FIRST_LINE = /^\s*#\s*exercise:\s*(\w+)/;
  const textOf = ({ source }) => (Array.isArray(source) ? source.join("") : source);

  // the exercise that a cell answers, by its metadata or its first line
  function exerciseOf(cell) {
    if (cell.cell_type !== "code") return undefined;
    return cell.metadata?.attncourse?.exercise ?? textOf(cell).match(FIRST_LINE)?.[1];
  }

  // a notebook's text with answers, by exercise, in place of those that it has
  function withAnswers(text, answers) {
    const notebook = JSON.parse(text);
    for (const cell of notebook.cells) {
      const name = exerciseOf(cell);
      if (name in answers) cell.source = answers[name].split(/(?<=\n)/);
    }
    return JSON.stringify(notebook, null, 1) + "\n";
  }

  // the answers in a notebook's text by exercise; of several the last; an error where it is none
  function answersIn(text) {
    const cells = JSON.parse(text).cells.filter(exerciseOf);
    return Object.fromEntries(cells.map((cell) => [exerciseOf(cell), textOf(cell)]));
  }

  return { answersIn, withAnswers };
})();
