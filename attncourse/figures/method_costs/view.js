(data, { first, second, size, context, machine: chosenMachine }) => {
  const { cells, methods, models, seen } = data;
  const at = data.contexts.indexOf(context);
  const machine = data.machines[chosenMachine];
  const option = (index) => {
    if (index >= methods.length) return models[index - methods.length];
    const { name, url, stacks } = data.sizes[size];
    return { name: methods[index], source: name, url, stack: stacks[index] };
  };
  const options = [option(first), option(second)];

  const grouped = (x) => x.toLocaleString("en-US");
  const plural = (count, word) => `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
  const digits = (x) => `${Number(x.toPrecision(3))}`;
  const superscript = (x) => `${x}`.replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]);
  const formatCount = (x) => {
    if (x < 1e5) return grouped(x);
    const [mantissa, exponent] = x.toExponential(2).split("e+");
    return `${mantissa} · 10${superscript(exponent)}`;
  };
  const formatBytes = (x) => {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    while (x >= 999.5 && units.length > 1) {
      x /= 1024;
      units.shift();
    }
    return `${digits(x)} ${units[0]}`;
  };
  const formatTime = (x) => {
    const units = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
    const [unit, length] = units.find(([, least]) => x >= least) ?? units[3];
    return `${digits(x / length)} ${unit}`;
  };

  // what a query may see, in words and as cells
  const entriesText = (i) => {
    const [pool, , chosen] = seen[i];
    const entries = Math.floor(context / pool), most = data.last[at][i];
    if (pool === 1 && most < context)
      return chosen ? `${grouped(most)} chosen of ${grouped(context)} tokens` : `the last ${grouped(most)} tokens`;
    if (pool === 1) return `all ${grouped(context)} tokens`;
    return `${most < entries ? `${grouped(most)} chosen of ` : ""}${plural(entries, "pooled key")}, each of ${pool} tokens`;
  };
  const seenText = ([count, attends, state]) => `${plural(count, "layer")}: ${
    attends.length ? attends.map(entriesText).join(", and ") : `a state of ${grouped(state)} numbers, which remembers ${grouped(context)} tokens`
  }`;
  const share = (i, cell) => {
    const [pool, , chosen] = seen[i];
    const before = cells - 1 - cell;
    const filled = (cells * data.last[at][i]) / Math.floor(context / pool);
    const left = chosen ? (filled * 4) / cells - ((before + 2) % 4) : filled - before;
    return Math.min(Math.max(left, 0), 1);
  };
  const cellAt = (attends, cell) => {
    const all = attends.map((i) => [seen[i][0] === 1 ? "keys" : "pooled", share(i, cell)]);
    return all.reduceRight((best, one) => (one[1] > best[1] ? one : best));
  };
  const lines = options.flatMap(({ stack }) => [0, 1, 2].map((i) => stack.layers[i]));
  const cellsOf = (layer) => [...Array(cells).keys()].map((cell) => {
    const [kind, value] = !layer ? ["", 0] : layer[1].length ? cellAt(layer[1], cell) : ["state", 1];
    return { text: "", class: `slice ${kind}`, value };
  });

  // the costs: sums of terms
  const quantity = ({ stack }, i, counts) => stack.terms[i].reduce((sum, [kind, x]) => sum + x * counts[at][kind], 0);
  const costs = (i, counts, scale = 1) => options.map((one) => scale * quantity(one, i, counts));
  const tasks = [1, 4].map((start) => {
    const counts = start === 1 ? data.all : data.last;
    const products = costs(start, counts), moved = costs(start + 2, counts, data.size);
    return {
      products,
      elements: costs(start + 1, counts),
      moved,
      arithmetic: products.map((x) => (2 * x) / machine.operations),
      memory: moved.map((x) => x / machine.bandwidth),
    };
  });
  const cache = costs(0, data.last, data.size);
  const bars = (numbers, format) => numbers.map((x) => ({ text: format(x), value: x / Math.max(...numbers) }));
  const both = (kind, format) => tasks.map((task) => bars(task[kind], format));
  const limit = ({ arithmetic, memory }, i) => (memory[i] >= arithmetic[i] ? "memory" : "arithmetic");
  const times = (kind) => tasks.map((task) => task[kind].map((x, i) => ({
    text: formatTime(x),
    value: x / Math.max(...task.arithmetic, ...task.memory),
    class: limit(task, i) === kind ? "bar limit" : "bar",
  })));

  const [read, write] = tasks;
  const ridge = machine.operations / machine.bandwidth;
  const sentence = (i) => {
    const limits = tasks.map((task) => limit(task, i));
    const [readTime, writeTime] = tasks.map((task, j) => formatTime(task[limits[j]][i]));
    const perByte = digits((2 * write.products[i]) / write.moved[i]);
    const byToken = options[i].stack.layers.some(([, , state]) => state) ? ", with states counted token by token," : "";
    const room = cache[i] > machine.memory ? ` Its cache is larger than the machine’s memory, ${formatBytes(machine.memory)}.` : "";
    return `${["First", "Second"][i]}, ${options[i].name}: writing the next token is limited by ${limits[1]} (${writeTime}), because it does ${perByte} operation${perByte === "1" ? "" : "s"} for each byte of the ${formatBytes(write.moved[i])} that it moves, and the ${machine.name} has time for ${digits(ridge)}. Reading the text${byToken} is limited by ${limits[0]} (${readTime}).${room}`;
  };
  return {
    name: [...options, ...options].map(({ name }) => name),
    tokens: grouped(context / cells),
    line: lines.map((layer) => ({ class: layer ? "line" : "line none" })),
    sees: lines.map((layer) => (layer ? seenText(layer) : "")),
    cell: lines.map(cellsOf),
    cache: bars(cache, formatBytes),
    each: bars(cache.map((x) => x / context), formatBytes),
    products: both("products", formatCount),
    elements: both("elements", formatCount),
    moved: both("moved", formatBytes),
    arithmetic: times("arithmetic"),
    memory: times("memory"),
    also: { class: options[0].url === options[1].url ? "also none" : "also" },
    source: [...options, machine].map(({ name, source, url }) => ({ text: source ?? name, href: url })),
    disabled: { size: Math.min(first, second) >= methods.length },
    said: [0, 1].map(sentence).join("\n"),
  };
}
