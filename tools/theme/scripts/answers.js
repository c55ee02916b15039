// What is said of an answer to a question: numbers are read as people write them.
globalThis.attncourseAnswers = (() => {
  const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  function value(text) {
    const mixed = text.match(/^([+-]?)(\d+) (\d+\/\d+)$/);
    if (mixed) return (mixed[1] === "-" ? -1 : 1) * (Number(mixed[2]) + value(mixed[3]));
    if (text.includes(" ")) return value(text.replaceAll(" ", ""));
    const part = text.match(/^([^/]+)\/([^/]+)$/);
    if (part) return value(part[1]) / value(part[2]);
    if (text.endsWith("%")) return value(text.slice(0, -1)) / 100;
    const log = text.match(/^([+-]?)([\d.]*)[·*]?ln\(?(\d+)\)?$/i);
    if (log) return (log[1] === "-" ? -1 : 1) * Number(log[2] || 1) * Math.log(Number(log[3]));
    return PLAIN.test(text) ? Number(text) : NaN;
  }

  // a = 4, q·k ≈ 0.3
  const unnamed = (text) => text.replace(/^\s*(\p{L}[\p{L}\p{N}_'’·]*\s*)?[≈~=:]/u, "");

  // a comma divides thousands or begins the decimals: both are tried
  function readings(text) {
    const bare = unnamed(text)
      .replace(/[\u2212\u2013]/g, "-")
      .replace(/[¼-¾⅐-⅞]/g, (one) => ` ${one.normalize("NFKC")}`)
      .replaceAll("\u2044", "/")
      // 8 tokens, 2rad, 9x
      .replace(/(?<=\d)\s*([a-z]{2,}|[x×])$/i, "")
      .replace(/\s*\/\s*/g, "/")
      .replace(/^\s*([+-])\s*/, "$1")
      .replace(/\s+/g, " ")
      .trim();
    const thousands = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(bare);
    const texts = [bare.replace(",", "."), ...(thousands ? [bare.replaceAll(",", "")] : [])];
    return texts.map(value).filter(Number.isFinite);
  }

  const near = (one, other, tolerance) => Math.abs(one - other) <= tolerance + 1e-9;

  // the number with as few digits as were given: a fraction is exact, and so is a small whole number
  function rounded(text, number) {
    const decimals = text.replace(",", ".").match(/\.(\d+)\D*$/)?.[1].length ?? 0;
    const percent = text.includes("%");
    if (/\/|ln/i.test(text) || (!decimals && !percent && Math.abs(number) < 10)) return false;
    const unit = 10 ** -decimals / (percent ? 100 : 1);
    // half a whole is rounded up
    const most = decimals || percent ? unit / 2 : 0.49;
    const whole = !decimals && !percent;
    return readings(text).some((one) => near(one, number, most) || (whole && one === Math.round(number)));
  }

  // the number cut off after the digits that were given
  function cut(text, number) {
    const decimals = text.replace(",", ".").match(/\.(\d{2,})$/)?.[1].length;
    return Boolean(decimals) && readings(text).some((one) => near(one, Math.trunc(number * 10 ** decimals) / 10 ** decimals, 0));
  }

  const inOrder = (some) => [...some].sort((a, b) => a - b);

  // how the numbers that are read in these texts compare with an answer
  function read(texts, tolerance) {
    const given = texts.map(readings);
    const is = (one, i) => given[i].some((mine) => near(mine, one, tolerance));
    const every = (loosely) => (answer) => answer.every((one, i) => is(one, i) || loosely(texts[i], one));
    return { given, comesTo: every(() => false), about: every(rounded), cutTo: every(cut) };
  }

  function numbers({ tolerance, mistakes }, right, written) {
    const texts = written.map(unnamed);
    const either = read(texts, tolerance);
    if (either.given.some((some) => !some.length)) return { status: "unread" };
    if (either.comesTo(right)) return { status: "right" };
    // 20,000 is not taken for a mistake that comes to 20
    const twofold = either.given.map((some) => some.length > 1);
    const { given, comesTo, about, cutTo } = read(
      texts.map((text, i) => (twofold[i] ? text.replaceAll(",", "") : text)), tolerance,
    );
    const exact = mistakes.findIndex(comesTo);
    if (exact >= 0) return { status: "mistake", place: exact };
    if (either.about(right)) return { status: "digits" };
    const place = mistakes.findIndex(about);
    if (place >= 0) return { status: "mistake", place };
    const [own, wanted] = [inOrder(given.map(([first]) => first)), inOrder(right)];
    if (own.every((mine, i) => near(mine, wanted[i], tolerance))) return { status: "exchanged" };
    if (twofold.includes(true)) return { status: "comma" };
    return { status: cutTo(right) ? "cut" : "unknown" };
  }

  // the place of an order of some of n lines, the last moving fastest
  function rank(order, n) {
    const left = [...Array(n).keys()];
    return order.reduce((total, line, i) => {
      const place = left.indexOf(line);
      left.splice(place, 1);
      return total * (n - i) + place;
    }, 0);
  }

  // an answer is a list of texts, the place of an option, or a list of lines
  function judge({ kind, tolerance, table }, { right, mistakes }, answer) {
    if (kind === "number" || kind === "row")
      return numbers({ tolerance, mistakes }, right, answer);
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
