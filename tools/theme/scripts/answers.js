// Judges answers to questions; numbers may be written as people write them.
globalThis.attncourseAnswers = (() => {
  const NUMBER = /^(\d{1,3}( \d{3})+(?!\d)|\d+)(\.\d*)?(e[+-]?\d+)?|^\.\d+(e[+-]?\d+)?/;
  const CONSTANTS = { e: Math.E, pi: Math.PI, π: Math.PI };
  const FUNCTIONS = { ln: Math.log, exp: Math.exp, sqrt: Math.sqrt, "√": Math.sqrt };

  // the value of 1/4, -25%, 3 1/2, 24*12, 2 ln 3, sqrt(2), 2^-3; NaN for what is no such expression
  function evaluate(text) {
    let rest = text;
    const take = (pattern) => {
      const token = rest.match(pattern);
      if (token) rest = rest.slice(token[0].length).trimStart();
      return token;
    };
    const need = (pattern) => {
      if (!take(pattern)) throw new SyntaxError(rest);
    };
    function sum() {
      let value = product();
      for (let sign; (sign = take(/^[+-]/)); ) value += sign[0] === "-" ? -product() : product();
      return value;
    }
    function product() {
      let value = signed();
      for (;;) {
        if (take(/^\*/)) value *= signed();
        else if (take(/^\//)) value /= signed();
        // from left to right: 1/2 ln 3 is half of ln 3
        else if (/^[a-zπ√(]/.test(rest)) value *= power();
        else return value;
      }
    }
    const signed = () => (take(/^[+-]/)?.[0] === "-" ? -power() : power());
    function power() {
      const base = atom() / (take(/^%/) ? 100 : 1);
      return take(/^\^/) ? base ** signed() : base;
    }
    function atom() {
      const mixed = take(/^(\d+) (\d{1,2})\/(\d+)/);
      if (mixed) return Number(mixed[1]) + mixed[2] / mixed[3];
      const number = take(NUMBER);
      if (number) return Number(number[0].replaceAll(" ", ""));
      const constant = take(/^(e|pi|π)(?![a-z])/);
      if (constant) return CONSTANTS[constant[1]];
      const name = take(/^(ln|exp|sqrt|√)/);
      if (name) return FUNCTIONS[name[1]](atom());
      need(/^\(/);
      const value = sum();
      need(/^\)/);
      return value;
    }
    try {
      const value = sum();
      need(/^$/);
      return value;
    } catch {
      return NaN;
    }
  }

  // drops the name in a = 4 or q·k ≈ 0.3
  const withoutName = (text) => text.replace(/^\s*(\p{L}[\p{L}\p{N}_'’·]*\s*)?[≈~=:]/u, "");

  // an answer without its name and unit, in the signs that evaluate knows
  const normalize = (text) =>
    withoutName(text)
      .replace(/[⁻⁰¹²³⁴-⁹]+/g, (exponent) => `^${exponent.normalize("NFKC")}`)
      .replace(/[\u2212\u2013]/g, "-")
      .replace(/[¼-¾⅐-⅞]/g, (one) => ` ${one.normalize("NFKC")}`)
      .replace(/[\u2044÷]/g, "/")
      .trim()
      // drops the unit in 8 tokens, 2rad, 9x
      .replace(/(?<=[\d)])\s*(?!pi$)([a-z]{2,}|[x×])$/i, "")
      .replace(/(?<=[\d)])\s*x\s*(?=[\d.(])/gi, "*")
      .replace(/[·⋅×]/g, "*")
      .replaceAll("**", "^")
      .replace(/\s*\/\s*/g, "/")
      .replace(/\s+/g, " ")
      .toLowerCase();

  const THOUSANDS = /(?<![\d.,])[1-9]\d{0,2}(,\d{3})+(?![\d,])/g;
  const joinThousands = (text) => text.replace(THOUSANDS, (number) => number.replaceAll(",", ""));
  // no answer is longer, and each parenthesis is a call
  const MAX_LENGTH = 100;

  // the numbers that a text may mean: a comma divides thousands or begins the decimals
  function readings(text) {
    if (text.length > MAX_LENGTH) return [];
    const bare = normalize(text);
    const texts = new Set([bare, joinThousands(bare)].map((one) => one.replaceAll(",", ".")));
    return [...texts].map(evaluate).filter(Number.isFinite);
  }

  // what was calculated is not rounded
  const isDecimal = (text) => /^[+-]? ?[\d., ]+(e[+-]?\d+)? ?%?$/.test(normalize(text));

  const near = (one, other, tolerance) => Math.abs(one - other) <= tolerance + 1e-9;

  // whether a text is the number, rounded; a calculation or a small whole number has to be exact
  function isRounded(text, number) {
    const decimals = text.replace(",", ".").match(/\.(\d+)\D*$/)?.[1].length ?? 0;
    const percent = text.includes("%");
    if (!isDecimal(text) || (!decimals && !percent && Math.abs(number) < 10)) return false;
    const unit = 10 ** -decimals / (percent ? 100 : 1);
    // a half is rounded up
    const limit = decimals || percent ? unit / 2 : 0.49;
    const whole = !decimals && !percent;
    return readings(text).some((one) => near(one, number, limit) || (whole && one === Math.round(number)));
  }

  // whether a text is the number, truncated to its decimals
  function isTruncated(text, number) {
    const decimals = text.replace(",", ".").match(/\.(\d{2,})$/)?.[1].length;
    if (!decimals || !isDecimal(text)) return false;
    const truncated = Math.trunc(number * 10 ** decimals) / 10 ** decimals;
    return readings(text).some((one) => near(one, truncated, 0));
  }

  const sorted = (list) => [...list].sort((a, b) => a - b);

  // reads numbers in texts, with predicates that compare them with an answer
  function readAnswer(texts, tolerance) {
    const given = texts.map(readings);
    const matches = (number, i) => given[i].some((reading) => near(reading, number, tolerance));
    const every = (approximates) => (answer) =>
      answer.every((number, i) => matches(number, i) || approximates(texts[i], number));
    return { given, equals: every(() => false), roundsTo: every(isRounded), truncatesTo: every(isTruncated) };
  }

  function judgeNumbers({ tolerance, mistakes }, right, written) {
    const texts = written.map(withoutName);
    const lenient = readAnswer(texts, tolerance);
    if (lenient.given.some((list) => !list.length)) return { status: "unread" };
    if (lenient.equals(right)) return { status: "right" };
    // 20,000 is not taken for a mistake that comes to 20
    const ambiguous = lenient.given.map((list) => list.length > 1);
    const { given, equals, roundsTo, truncatesTo } = readAnswer(
      texts.map((text, i) => (ambiguous[i] ? joinThousands(text) : text)), tolerance,
    );
    const exact = mistakes.findIndex(equals);
    if (exact >= 0) return { status: "mistake", place: exact };
    if (lenient.roundsTo(right)) return { status: "digits" };
    const place = mistakes.findIndex(roundsTo);
    if (place >= 0) return { status: "mistake", place };
    const [sortedGiven, sortedRight] = [sorted(given.map(([first]) => first)), sorted(right)];
    if (sortedGiven.every((number, i) => near(number, sortedRight[i], tolerance))) return { status: "exchanged" };
    if (ambiguous.includes(true)) return { status: "comma" };
    return { status: truncatesTo(right) ? "cut" : "unknown" };
  }

  // the lexicographic rank of an order of some of n lines
  function rank(order, n) {
    const unused = [...Array(n).keys()];
    return order.reduce((total, line, i) => {
      const index = unused.indexOf(line);
      unused.splice(index, 1);
      return total * (n - i) + index;
    }, 0);
  }

  // an answer is a list of texts, the index of an option, or a list of line numbers
  function judge({ kind, tolerance, table }, { right, mistakes }, answer) {
    if (kind === "number" || kind === "row")
      return judgeNumbers({ tolerance, mistakes }, right, answer);
    if (kind === "order") {
      const sign = table[rank(answer, answer.length + 1)];
      if (sign === "=") return { status: "right" };
      return sign === "?" ? { status: "unknown" } : { status: "mistake", place: Number(sign) };
    }
    if (answer === right) return { status: "right" };
    const place = mistakes.indexOf(answer);
    return place < 0 ? { status: "unknown" } : { status: "mistake", place };
  }

  return { judge, readings };
})();
