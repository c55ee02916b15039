(() => {
  const ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(" ");
  const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
  const SCALES = ["", "thousand", "million", "billion"];
  const EINS = "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(" ");
  // some are shorter before zehn and zig
  const SHORT = EINS.map((word) => ({ eins: "ein", sechs: "sech", sieben: "sieb" })[word] ?? word);

  // groups of three digits, the first one first; i counts the thousands that follow
  const groups = (n, words) => [3, 2, 1, 0].flatMap((i) => {
    const group = Math.floor(n / 1000 ** i) % 1000;
    return group ? words(group, i) : [];
  });

  const small = (n) => (n < 1 ? [] : n < 20 ? [ONES[n]] : [TENS[Math.floor(n / 10) - 2], ...small(n % 10)]);
  const english = (n) => groups(n, (group, i) => {
    const [hundreds, rest] = [Math.floor(group / 100), group % 100];
    const and = rest && (hundreds || (i === 0 && n > 1000)) ? ["and"] : [];
    const before = hundreds ? [ONES[hundreds], "hundred"] : [];
    return [...before, ...and, ...small(rest), ...(i ? [SCALES[i]] : [])];
  });

  const klein = (n) => {
    const [tens, ones] = [Math.floor(n / 10), n % 10];
    if (n < 13) return n ? [EINS[n - 1]] : [];
    if (n < 20) return [SHORT[ones - 1], "zehn"];
    const zig = tens === 2 ? ["zwanzig"] : [SHORT[tens - 1], tens === 3 ? "ßig" : "zig"];
    return ones ? [ones === 1 ? "ein" : EINS[ones - 1], "und", ...zig] : zig;
  };
  const german = (n) => groups(n, (group, i) => {
    if (i && group === 1) return [["ein", "tausend"], ["eine", "million"], ["eine", "milliarde"]][i - 1];
    const hundreds = Math.floor(group / 100);
    const before = hundreds ? [hundreds === 1 ? "ein" : EINS[hundreds - 1], "hundert"] : [];
    const scale = i ? [["tausend"], ["millionen"], ["milliarden"]][i - 1] : [];
    return [...before, ...klein(group % 100), ...scale];
  });

  // millions are words of their own, the rest of a name is one word
  const spelt = (parts, between = "") => {
    const words = parts.map((part) => (/^mill/.test(part) ? ` M${part.slice(1)} ` : part));
    return words.join(between).replaceAll(`${between} `, " ").replaceAll(` ${between}`, " ").trim();
  };

  // the number that English words name, or NaN
  const value = (words) => {
    let [total, group] = [0, 0];
    for (const word of words) {
      const scale = SCALES.indexOf(word);
      if (word === "hundred") group *= 100;
      else if (scale > 0) [total, group] = [total + group * 1000 ** scale, 0];
      else group += ONES.includes(word) ? ONES.indexOf(word) : 10 * (TENS.indexOf(word) + 2);
    }
    const named = english(total + group).filter((word) => word !== "and");
    return named.join() === words.join() ? total + group : NaN;
  };

  // parse typed text: { n }, or { wrong } with a message
  const read = (typed) => {
    const text = typed.trim().toLowerCase();
    if (!text) return { wrong: "Type a number, in digits or in English words." };
    const known = "The model reads whole numbers from 1 to 999,999,999,999.";
    if (/^\d+$|^\d{1,3}([\s,]\d{3})+$/.test(text)) {
      const n = Number(text.replace(/[\s,]/g, ""));
      if (n < 1) return { wrong: `The model never saw zero in training. ${known}` };
      return n < 1e12 ? { n } : { wrong: `This number is too large. ${known}` };
    }
    if (/[^a-z\s,-]/.test(text)) return { wrong: `“${typed}” isn’t a whole number. ${known}` };
    const words = text.match(/[a-z]+/g) ?? [];
    const unknown = words.find((word) => ![...ONES.slice(1), ...TENS, ...SCALES, "hundred", "and"].includes(word));
    if (unknown) return { wrong: `“${unknown}” isn’t a number word that the model knows. ${known}` };
    const n = value(words.filter((word) => word !== "and"));
    return n > 0 && n < 1e12 ? { n } : { wrong: `“${typed}” isn’t the name of a number. ${known}` };
  };
  return { english, german, spelt, read };
})()
