// Judges answers to questions; numbers may be written as people write them.
globalThis.attncourseAnswers = (() => {
  const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  function parseNumber(text) {
    const mixed = text.match(/^([+-]?)(\d+) (\d+\/\d+)$/);
    if (mixed) return (mixed[1] === "-" ? -1 : 1) * (Number(mixed[2]) + parseNumber(mixed[3]));
    if (text.includes(" ")) return parseNumber(text.replaceAll(" ", ""));
    const part = text.match(/^([^/]+)\/([^/]+)$/);
    if (part) return parseNumber(part[1]) / parseNumber(part[2]);
    if (text.endsWith("%")) return parseNumber(text.slice(0, -1)) / 100;
    const log = text.match(/^([+-]?)([\d.]*)[·*]?ln\(?(\d+)\)?$/i);
    if (log) return (log[1] === "-" ? -1 : 1) * Number(log[2] || 1) * Math.log(Number(log[3]));
    return DECIMAL.test(text) ? Number(text) : NaN;
  }

  // drops the name in a = 4 or q·k ≈ 0.3
  const withoutName = (text) => text.replace(/^\s*(\p{L}[\p{L}\p{N}_'’·]*\s*)?[≈~=:]/u, "");

  // the numbers that a text may mean: a comma divides thousands or begins the decimals
  function readings(text) {
    const bare = withoutName(text)
      .replace(/[\u2212\u2013]/g, "-")
      .replace(/[¼-¾⅐-⅞]/g, (one) => ` ${one.normalize("NFKC")}`)
      .replaceAll("\u2044", "/")
      // drops the unit in 8 tokens, 2rad, 9x
      .replace(/(?<=\d)\s*([a-z]{2,}|[x×])$/i, "")
      .replace(/\s*\/\s*/g, "/")
      .replace(/^\s*([+-])\s*/, "$1")
      .replace(/\s+/g, " ")
      .trim();
    const thousands = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(bare);
    const texts = [bare.replace(",", "."), ...(thousands ? [bare.replaceAll(",", "")] : [])];
    return texts.map(parseNumber).filter(Number.isFinite);
  }

  const near = (one, other, tolerance) => Math.abs(one - other) <= tolerance + 1e-9;

  // whether a text is the number, rounded; a fraction or a small whole number has to be exact
  function isRounded(text, number) {
    const decimals = text.replace(",", ".").match(/\.(\d+)\D*$/)?.[1].length ?? 0;
    const percent = text.includes("%");
    if (/\/|ln/i.test(text) || (!decimals && !percent && Math.abs(number) < 10)) return false;
    const unit = 10 ** -decimals / (percent ? 100 : 1);
    // a half is rounded up
    const limit = decimals || percent ? unit / 2 : 0.49;
    const whole = !decimals && !percent;
    return readings(text).some((one) => near(one, number, limit) || (whole && one === Math.round(number)));
  }

  // whether a text is the number, truncated to its decimals
  function isTruncated(text, number) {
    const decimals = text.replace(",", ".").match(/\.(\d{2,})$/)?.[1].length;
    return Boolean(decimals) && readings(text).some((one) => near(one, Math.trunc(number * 10 ** decimals) / 10 ** decimals, 0));
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
      texts.map((text, i) => (ambiguous[i] ? text.replaceAll(",", "") : text)), tolerance,
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
