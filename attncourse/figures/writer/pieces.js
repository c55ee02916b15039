// Byte pairs: text to tokens and back, as attncourse.data.byte_pairs does it.
(pairs) => {
  // what Python's re takes for a letter, a digit and white space
  const [LETTER, DIGIT] = ["[\\p{L}\\p{Nl}\\p{No}]", "\\p{Nd}"];
  const BLANKS = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const SIGN = `[^${BLANKS}\\p{L}\\p{N}]`;
  const PIECE = new RegExp(` ?${LETTER}+| ?${DIGIT}+| ?${SIGN}+|[${BLANKS}]+(?![^${BLANKS}])|[${BLANKS}]+`, "gu");

  const merges = new Map(pairs.map(([first, second], i) => [first * 65536 + second, 256 + i]));
  const bytes = Array.from({ length: 256 }, (_, byte) => [byte]);
  for (const [first, second] of pairs) bytes.push([...bytes[first], ...bytes[second]]);

  // merge the earliest learned pair of a piece, until there is none
  const ofPiece = (piece) => {
    let tokens = [...new TextEncoder().encode(piece)];
    for (;;) {
      const ranks = tokens.slice(1).map((token, i) => merges.get(tokens[i] * 65536 + token) ?? Infinity);
      const next = Math.min(...ranks);
      if (next === Infinity) return tokens;
      const [first, second] = pairs[next - 256];
      const merged = [];
      for (let i = 0; i < tokens.length; i++) {
        const here = tokens[i] === first && tokens[i + 1] === second;
        merged.push(here ? next : tokens[i]);
        if (here) i++;
      }
      tokens = merged;
    }
  };
  const encode = (text) => (text.match(PIECE) ?? []).flatMap(ofPiece);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const texts = new Map();
  const joined = (tokens) => decoder.decode(Uint8Array.from(tokens.flatMap((token) => bytes[token])));
  const textOf = (token) => {
    if (!texts.has(token)) texts.set(token, joined([token]));
    return texts.get(token);
  };
  // if no token is part of a character, the text is that of the tokens, joined
  const decode = (tokens) => {
    const text = tokens.map(textOf).join("");
    return text.includes("\ufffd") ? joined(tokens) : text;
  };

  // whether a token continues the word, number or character in which the one before ends
  const SAME = [/\p{L}$/u, /^\p{L}/u, /\p{Nd}$/u, /^\p{Nd}/u];
  const goesOn = (before, token) => {
    if (before === undefined) return false;
    const [left, right, byte] = [textOf(before), textOf(token), bytes[token][0]];
    if (left.endsWith("\ufffd") && byte >= 128 && byte < 192) return true;
    return (SAME[0].test(left) && SAME[1].test(right)) || (SAME[2].test(left) && SAME[3].test(right));
  };
  // the index of the first token of each word and of each sign between words
  const words = (tokens) => tokens.flatMap((token, i) => (goesOn(tokens[i - 1], token) ? [] : [i]));
  return { encode, decode, goesOn, words, count: bytes.length };
}
