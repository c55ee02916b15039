// The forward pass of the GPT, in steps of several tokens; weights have their names in PyTorch.
({ shapes, rows, scales, vectors, heads }) => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  // half precision: sign, 5 bits of exponent, 10 of fraction
  const float = (bits) => {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
    return bits >> 15 ? -size : size;
  };
  const floats = (text) => Float32Array.from(new Uint16Array(bytesOf(text).buffer), float);

  // a matrix is int8, with a scale for each row
  const unpacked = () => {
    const whole = new Int8Array(bytesOf(rows).buffer);
    const left = { whole, scales: floats(scales), vectors: floats(vectors) };
    const take = (kind, count) => {
      const taken = left[kind].subarray(0, count);
      left[kind] = left[kind].subarray(count);
      return taken;
    };
    return Object.fromEntries(Object.entries(shapes).map(([name, [height, width]]) => {
      if (!width) return [name, take("vectors", height)];
      const [numbers, steps] = [Float32Array.from(take("whole", height * width)), take("scales", height)];
      return [name, numbers.map((one, i) => one * steps[Math.floor(i / width)])];
    }));
  };
  const W = unpacked();
  const TABLE = W["embedding.table.weight"];
  const D = shapes["embedding.table.weight"][1];
  const VOCABULARY = TABLE.length / D;
  const WIDTH = D / heads;
  const BLOCKS = Object.keys(shapes).filter((name) => name.endsWith("w_q.weight")).length;
  const LONGEST = 128;

  // row t of x times four rows of the matrix at once, for speed
  const four = (matrix, x, width, r, t, out, height) => {
    const from = t * width;
    const row = (i) => Math.min(r + i, height - 1) * width;
    const a = row(0), b = row(1), c = row(2), d = row(3);
    let a1 = 0, b1 = 0, c1 = 0, d1 = 0;
    for (let i = 0; i < width; i++) {
      const one = x[from + i];
      a1 += one * matrix[a + i];
      b1 += one * matrix[b + i];
      c1 += one * matrix[c + i];
      d1 += one * matrix[d + i];
    }
    const to = t * height + r;
    out[to] = a1;
    out[to + 1] = b1;
    out[to + 2] = c1;
    out[to + 3] = d1;
  };
  // two rows of x times four rows of the matrix at once
  const eight = (matrix, x, width, r, t, out, height) => {
    const from = t * width, next = from + width;
    const a = r * width, b = a + width, c = b + width, d = c + width;
    let a1 = 0, b1 = 0, c1 = 0, d1 = 0, a2 = 0, b2 = 0, c2 = 0, d2 = 0;
    for (let i = 0; i < width; i++) {
      const one = x[from + i], two = x[next + i];
      const wa = matrix[a + i], wb = matrix[b + i], wc = matrix[c + i], wd = matrix[d + i];
      a1 += one * wa;
      b1 += one * wb;
      c1 += one * wc;
      d1 += one * wd;
      a2 += two * wa;
      b2 += two * wb;
      c2 += two * wc;
      d2 += two * wd;
    }
    const to = t * height + r, below = to + height;
    out[to] = a1;
    out[to + 1] = b1;
    out[to + 2] = c1;
    out[to + 3] = d1;
    out[below] = a2;
    out[below + 1] = b2;
    out[below + 2] = c2;
    out[below + 3] = d2;
  };
  // x times the transposed matrix; its height may be no multiple of four only for a single row of x,
  // because a typed array ignores writes after its end
  const product = (matrix, x, width, bias) => {
    const [height, count] = [matrix.length / width, x.length / width];
    const out = new Float32Array(count * height);
    for (let r = 0; r < height; r += 4) {
      let t = 0;
      for (; t + 1 < count; t += 2) eight(matrix, x, width, r, t, out, height);
      if (t < count) four(matrix, x, width, r, t, out, height);
    }
    if (bias) for (let i = 0; i < out.length; i++) out[i] += bias[i % height];
    return out;
  };
  const linear = (name, x, width = D) => product(W[`${name}.weight`], x, width, W[`${name}.bias`]);
  const add = (x, y) => {
    for (let i = 0; i < x.length; i++) x[i] += y[i];
  };
  const norm = (name, x) => {
    const [scale, shift, out] = [W[`${name}.weight`], W[`${name}.bias`], new Float32Array(x.length)];
    for (let from = 0; from < x.length; from += D) {
      let [sum, squares] = [0, 0];
      for (let i = 0; i < D; i++) sum += x[from + i];
      const mean = sum / D;
      for (let i = 0; i < D; i++) squares += (x[from + i] - mean) ** 2;
      const factor = 1 / Math.sqrt(squares / D + 1e-5);
      for (let i = 0; i < D; i++) out[from + i] = (x[from + i] - mean) * factor * scale[i] + shift[i];
    }
    return out;
  };
  const gelu = (x) => {
    for (let i = 0; i < x.length; i++) {
      const one = x[i];
      x[i] = 0.5 * one * (1 + Math.tanh(0.7978845608028654 * (one + 0.044715 * one * one * one)));
    }
    return x;
  };

  // RoPE: neighbouring columns of each head are rotated by position times their frequency
  const turns = Array.from({ length: (LONGEST * WIDTH) / 2 }, (_, i) => {
    const [position, pair] = [Math.floor(i / (WIDTH / 2)), i % (WIDTH / 2)];
    const angle = position * 10000 ** ((-2 * pair) / WIDTH);
    return [Math.cos(angle), Math.sin(angle)];
  });
  const [cosines, sines] = [0, 1].map((i) => Float64Array.from(turns, (turn) => turn[i]));
  const rotate = (x, start) => {
    for (let i = 0; i < x.length; i += 2) {
      const turn = (start + Math.floor(i / D)) * (WIDTH / 2) + (i % WIDTH) / 2;
      const [even, odd] = [x[i], x[i + 1]];
      x[i] = even * cosines[turn] - odd * sines[turn];
      x[i + 1] = even * sines[turn] + odd * cosines[turn];
    }
    return x;
  };

  // one head of one query: writes its weights into `shares`, its weighted values into `mixed`
  const head = (q, at, keys, values, visible, shares, mixed, watch) => {
    const [column, scale, count] = [at % D, 1 / Math.sqrt(WIDTH), shares.length];
    let most = -Infinity;
    for (let j = 0; j < count; j++) {
      if (!visible[j]) continue;
      const key = j * D + column;
      let dot = 0;
      for (let c = 0; c < WIDTH; c++) dot += q[at + c] * keys[key + c];
      shares[j] = dot * scale;
      if (shares[j] > most) most = shares[j];
    }
    watch(shares);
    let sum = 0;
    for (let j = 0; j < count; j++) {
      shares[j] = visible[j] ? Math.exp(shares[j] - most) : 0;
      sum += shares[j];
    }
    for (let j = 0; j < count; j++) {
      const [share, value] = [(shares[j] /= sum), j * D + column];
      for (let c = 0; c < WIDTH; c++) mixed[at + c] += share * values[value + c];
    }
  };
  // caches the keys and values of the new tokens; a hidden key is visible to its own query alone
  const attention = (name, x, run, block, watch) => {
    const [start, count] = [run.length, x.length / D];
    const [keys, values] = run.kept[block];
    const [q, k, v] = ["q", "k", "v"].map((one) => linear(`${name}.w_${one}`, x));
    watch("query", q);
    watch("key", k);
    watch("value", v);
    keys.set(rotate(k, start), start * D);
    values.set(v, start * D);
    rotate(q, start);
    watch("turned", q);
    const mixed = new Float32Array(x.length);
    for (let t = 0; t < count; t++) {
      const length = start + t + 1;
      const visible = Array.from({ length }, (_, j) => j === length - 1 || !run.hidden.has(j));
      for (let h = 0; h < heads; h++) {
        const one = block * heads + h;
        const shares = run.weights[length - 1].subarray(one * length, (one + 1) * length);
        head(q, t * D + h * WIDTH, keys, values, visible, shares, mixed, (scores) => watch(`score ${h} ${t}`, scores));
        if (run.off.has(one)) mixed.fill(0, t * D + h * WIDTH, t * D + (h + 1) * WIDTH);
      }
    }
    watch("mixed", mixed);
    return linear(`${name}.w_o`, mixed);
  };

  // an empty run; `hidden` are positions of keys, `off` are heads, numbered through all blocks
  const begin = (hidden = [], off = []) => ({
    length: 0,
    tokens: [],
    weights: [],
    hidden: new Set(hidden),
    off: new Set(off),
    last: null,
    kept: Array.from({ length: BLOCKS }, () => [0, 1].map(() => new Float32Array(LONGEST * D))),
  });

  // copy of a run up to a position
  const fork = (run, length = run.length, hidden = run.hidden) => ({
    length,
    tokens: run.tokens.slice(0, length),
    weights: run.weights.slice(0, length),
    hidden: new Set(hidden),
    off: run.off,
    last: length === run.length ? run.last : null,
    kept: run.kept.map((both) => both.map((one) => {
      const copy = new Float32Array(LONGEST * D);
      copy.set(one.subarray(0, length * D));
      return copy;
    })),
  });

  // append tokens to the run; `watch` is told the name, the numbers and the block of what is computed
  // on the way, and must copy numbers that it keeps
  const read = (run, tokens, watch = () => {}) => {
    if (!tokens.length) return run;
    const x = new Float32Array(tokens.length * D);
    tokens.forEach((token, t) => {
      x.set(TABLE.subarray(token * D, (token + 1) * D), t * D);
      run.weights.push(new Float32Array(BLOCKS * heads * (run.length + t + 1)));
    });
    for (let block = 0; block < BLOCKS; block++) {
      const [own, each] = ["attention", "feed_forward"].map((part) => `stack.blocks.${block}.${part}`);
      const tell = (name, numbers) => watch(name, numbers, block);
      tell("stream", x);
      const attended = attention(`${own}.part`, norm(`${own}.norm`, x), run, block, tell);
      tell("attended", attended);
      add(x, attended);
      const up = linear(`${each}.part.up`, norm(`${each}.norm`, x));
      tell("up", up);
      const fed = linear(`${each}.part.down`, gelu(up), 4 * D);
      tell("fed", fed);
      add(x, fed);
    }
    watch("stream", x, BLOCKS);
    run.length += tokens.length;
    run.tokens.push(...tokens);
    run.last = x.subarray(x.length - D);
    return run;
  };

  const normed = (run) => norm("stack.norm", run.last);
  // the score of each token that may follow the text
  const scores = (run) => product(TABLE, normed(run), D);
  return { begin, fork, read, normed, scores, heads, blocks: BLOCKS, width: D, longest: LONGEST, vocabulary: VOCABULARY };
}
