// The forward pass of the Translator, token by token; weights have their names in PyTorch.
({ source, target, shapes, half, heads, start, end }) => {
  const bytes = Uint8Array.from(atob(half), (letter) => letter.charCodeAt(0));
  const halves = new Uint16Array(bytes.buffer);
  // half precision: sign, 5 bits of exponent, 10 of fraction
  const float = (bits) => {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
    return bits >> 15 ? -size : size;
  };
  const W = {};
  let place = 0;
  for (const [name, [rows, columns]] of Object.entries(shapes)) {
    const row = (length) => Array.from(halves.subarray(place, (place += length)), float);
    W[name] = columns ? Array.from({ length: rows }, () => row(columns)) : row(rows);
  }

  const dot = (x, y) => {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
    return sum;
  };
  const plus = (x, y) => x.map((one, i) => one + y[i]);
  const mean = (x) => dot(x, x.map(() => 1 / x.length));
  const linear = (name, x) => W[`${name}.weight`].map((row, i) => dot(row, x) + W[`${name}.bias`][i]);
  const norm = (name, x) => {
    const middle = mean(x);
    const centred = x.map((one) => one - middle);
    const scale = 1 / Math.sqrt(mean(centred.map((one) => one * one)) + 1e-5);
    return centred.map((one, i) => one * scale * W[`${name}.weight`][i] + W[`${name}.bias`][i]);
  };
  const softmax = (scores) => {
    const most = Math.max(...scores);
    const parts = scores.map((score) => Math.exp(score - most));
    const sum = parts.reduce((total, part) => total + part, 0);
    return parts.map((part) => part / sum);
  };

  // each head's part of a row
  const split = (x) => Array.from({ length: heads }, (_, h) => x.slice((h * x.length) / heads, ((h + 1) * x.length) / heads));
  const keysValues = (name, x) => ({ k: split(linear(`${name}.w_k`, x)), v: split(linear(`${name}.w_v`, x)) });
  // one query at position i, all keys and values; Shaw's tables have a row for each offset
  const attention = (name, x, context, tables, i) => {
    const row = (table, j) => {
      const rows = W[`${name}.${tables}.${table}`];
      const most = (rows.length - 1) / 2;
      return rows[Math.min(Math.max(j - i, -most), most) + most];
    };
    const weights = split(linear(`${name}.w_q`, x)).map((q, h) => softmax(context.map(({ k }, j) => {
      const key = tables ? plus(k[h], row("a_k", j)) : k[h];
      return dot(q, key) / Math.sqrt(q.length);
    })));
    const mixed = weights.flatMap((shares, h) => {
      const values = context.map(({ v }, j) => (tables ? plus(v[h], row("a_v", j)) : v[h]));
      return values[0].map((_, c) => dot(shares, values.map((value) => value[c])));
    });
    return { weights, z: linear(`${name}.w_o`, mixed) };
  };
  const feedForward = (block, x) => {
    const up = linear(`${block}.part.up`, norm(`${block}.norm`, x));
    return plus(x, linear(`${block}.part.down`, up.map((one) => Math.max(one, 0))));
  };

  // the keys and values of the cross-attention, from the source words
  const encode = (words) => {
    const block = "encoder.blocks.0";
    const own = `${block}.attention`;
    const x = words.map((word) => W["source.table.weight"][source.indexOf(word)]);
    const read = x.map((row) => norm(`${own}.norm`, row));
    const context = read.map((row) => keysValues(`${own}.part`, row));
    const attended = read.map((row, i) => plus(x[i], attention(`${own}.part`, row, context, "attend", i).z));
    const memory = attended.map((row) => norm("encoder.norm", feedForward(`${block}.feed_forward`, row)));
    return memory.map((row) => keysValues("decoder.blocks.0.cross_attention.part", row));
  };

  // scores of the next part, and the weights of both attentions; `kept` is the cache
  const step = (part, memory, kept) => {
    const block = "decoder.blocks.0";
    const [own, cross] = [`${block}.attention`, `${block}.cross_attention`];
    const embedded = W["target.table.weight"][part];
    const read = norm(`${own}.norm`, embedded);
    kept.push(keysValues(`${own}.part`, read));
    const self = attention(`${own}.part`, read, kept, "attend.attend", kept.length - 1);
    const x = plus(embedded, self.z);
    const seen = attention(`${cross}.part`, norm(`${cross}.norm`, x), memory);
    const out = norm("decoder.norm", feedForward(`${block}.feed_forward`, plus(x, seen.z)));
    const scores = W["target.table.weight"].map((row) => dot(row, out));
    return { scores, cross: seen.weights, self: self.weights };
  };

  // greedy decoding until the end token, or `most` parts
  return (words, most = 40) => {
    const [memory, kept, steps] = [encode(words), [], []];
    let part = start;
    while (part !== end && steps.length < most) {
      const made = step(part, memory, kept);
      part = made.scores.indexOf(Math.max(...made.scores));
      steps.push({ ...made, part: target[part] });
    }
    return steps;
  };
}
