// The colours of Python: a text as HTML, in the classes that the page's own code has.
globalThis.attncoursePython = (() => {
  const words = (text) => new Set(text.split(" "));
  const KEYWORDS = words(
    "as assert async await break class continue def del elif else except finally for global if " +
      "lambda nonlocal pass raise return try while with yield",
  );
  const CONSTANTS = words("False None True");
  const OPERATORS = words("and in is not or");
  const BUILTINS = words(
    "abs all any bool dict enumerate filter float hasattr int isinstance len list map max min " +
      "next print range repr reversed round set slice sorted str sum super tuple type zip " +
      "AssertionError Exception IndexError NotImplementedError RuntimeError TypeError ValueError",
  );
  const TOKEN = new RegExp(
    [
      String.raw`(?<c1>#.*)`,
      String.raw`(?<s2>(?:\b[bfru]{1,2})?(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?))`,
      String.raw`(?<mi>\b\d[\w.]*(?:(?<=[eE])[+-]\d+)?)`,
      String.raw`(?<nd>(?<=^[ \t]*)@[\w.]+)`,
      String.raw`(?<name>[\p{L}_][\p{L}\p{N}_]*)`,
      String.raw`(?<o>[-+*/%@&|^~<>=!]+)`,
    ].join("|"),
    "gimu",
  );
  const escape = (text) => text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`);

  function classOf(name, before) {
    if (before === "def") return "nf";
    if (before === "class") return "nc";
    if (name === "from" || name === "import") return "kn";
    if (KEYWORDS.has(name)) return "k";
    if (CONSTANTS.has(name)) return "kc";
    if (OPERATORS.has(name)) return "ow";
    return BUILTINS.has(name) && before !== "." ? "nb" : "";
  }

  function highlight(source) {
    let html = "";
    let end = 0;
    let before = "";
    for (const match of source.matchAll(TOKEN)) {
      const [text] = match;
      const between = source.slice(end, match.index);
      const [kind] = Object.entries(match.groups).find(([, value]) => value !== undefined);
      if (between.trim()) before = between.trim().at(-1);
      const css = kind === "name" ? classOf(text, before) : kind;
      html += escape(between) + (css ? `<span class="${css}">${escape(text)}</span>` : escape(text));
      before = text;
      end = match.index + text.length;
    }
    return html + escape(source.slice(end));
  }

  return { highlight };
})();
