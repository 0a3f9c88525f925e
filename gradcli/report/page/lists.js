// What stands around the graph: facts, gradients, stories, derivations, and the table of all nodes.

const ROWS = 200; // of the table that are made at once

function factList(data) {
  const facts = [];
  const add = (name, ...content) => facts.push(make("div", {}, make("dt", {}, `${name} `), make("dd", {}, content)));
  if (data.value !== null) add("value", make("span", { class: "mono" }, brief(data.value)));
  for (const [name, each] of Object.entries(data.gradients).slice(0, 12)) add(`d/d${name}`, make("span", { class: "mono" }, brief(each.value)));
  const { verdict, notes } = data.page;
  if (verdict) add("check", make("span", { class: `verdict ${verdict.word}` }, verdict.text));
  if (data.read_as) add("read as", make("code", {}, data.read_as));
  if (data.dialect) add("dialect", data.dialect);
  const warnings = data.warnings.map((text) => make("p", { class: "warning" }, `Warning: ${text}`));
  return [make("dl", { class: "facts" }, facts), warnings, notes.map((text) => make("p", { class: "note" }, text))];
}

function storyPanel(data, act) {
  const stories = data.why === undefined ? [] : [data.why].flat();
  return stories.map((why) => {
    const [first, ...rest] = why.text.split("\n");
    const at = why.node && data.nodes.length ? make("button", { type: "button", on: { click: () => act.select(why.node) } }, `Show node ${why.node}`) : null;
    const repair = why.repair ? make("p", {}, "Write ", make("code", {}, why.repair)) : null;
    return make("section", { class: "panel wide" }, make("h2", {}, `Why ${why.of} is what it is`), make("p", {}, make("strong", {}, first)), rest.map((line) => make("p", {}, line)), repair, at);
  });
}

function derivationPanel(data) {
  return Object.entries(data.steps ?? {}).map(([name, steps]) => {
    const lines = steps.map((step) => {
      const of = step.of ? make("span", { class: "note" }, ` of ${step.of}`) : null;
      return make("li", {}, make("span", {}, step.rule, of), make("code", {}, step.formula));
    });
    return make("section", { class: "panel wide" }, make("h2", {}, `d/d${name}, rule by rule`), make("ol", { class: "derived" }, lines));
  });
}

function gradientPanel(explained, act) {
  const gradients = Object.entries(explained.data.gradients);
  if (!gradients.length) return null;
  const each = gradients.map(([name, gradient]) => [make("h3", {}, `d/d${name} = ${brief(gradient.value)}`), pathList(explained, gradient, act)]);
  return make("section", { class: "panel wide", id: "gradients" }, make("h2", {}, "Gradient: by paths from the name to the result, the largest first"), each);
}

// The table of all nodes; `show(ids)` lists those only, `null` all.
function nodeTable(explained, act) {
  const rows = new Map();
  const body = make("tbody", {});
  const more = make("button", { type: "button", class: "more" }, "More");
  let wanted = [];
  let made = 0;
  const extend = (count) => {
    const next = wanted.slice(made, made + count);
    for (const id of next) {
      if (!rows.has(id)) rows.set(id, nodeRow(explained, id, act));
      body.append(rows.get(id));
    }
    made += next.length;
    more.hidden = made >= wanted.length;
    more.textContent = `Show ${Math.min(ROWS, wanted.length - made)} more of ${wanted.length}`;
  };
  const show = (found) => {
    wanted = found ?? explained.nodes.map((node) => node.id);
    made = 0;
    body.replaceChildren();
    extend(ROWS);
  };
  more.addEventListener("click", () => extend(ROWS));
  show(null);
  const heads = ["node", "text", "operation", "shape", "value", "adjoint"].map((name) => make("th", { scope: "col" }, name));
  const table = make("table", { class: "nodes" }, make("caption", { class: "hidden" }, "All nodes in forward order"), make("thead", {}, make("tr", {}, heads)), body);
  const open = explained.nodes.length <= 40;
  const title = make("summary", {}, `All ${plural(explained.nodes.length, "node")}`);
  const element = make("details", { class: "panel wide", open }, title, make("div", { class: "scroll" }, table), more);
  return { element, rows, show, all: () => extend(explained.nodes.length) };
}

function nodeRow(explained, id, act) {
  const node = explained.node(id);
  const on = { pointerenter: () => act.lit([id]), pointerleave: () => act.lit([]) };
  const cell = (text) => make("td", { class: "mono" }, text);
  const link = make("button", { type: "button", class: "link", "aria-label": `select ${explained.spoken(id)}`, on: { click: () => act.select(id) } }, id);
  const operands = node.operands.length ? ` ${node.operands.join(", ")}` : "";
  return make("tr", { class: "row", on }, make("td", {}, link), cell(explained.label(id, 60)), cell(node.op + operands), cell(shapeText(node.shape)), cell(brief(node.value, 6)), cell(brief(node.adjoint, 6)));
}

// Of a graph too large for a page.
function countPanel(data) {
  const rows = data.page.counts.slice(0, 40).map(([op, count]) => make("tr", {}, make("td", { class: "mono" }, op), make("td", {}, count.toLocaleString("en"))));
  const left = data.page.counts.length - rows.length;
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "operation"), make("th", { scope: "col" }, "nodes")));
  return make(
    "section",
    { class: "panel wide" },
    make("h2", {}, `${plural(data.page.nodes, "node")}, ${plural(data.page.contributions, "contribution")}`),
    make("p", {}, "Too many to be played one by one; this is what they are. The form json lists them all."),
    make("div", { class: "scroll" }, make("table", {}, head, make("tbody", {}, rows))),
    left > 0 ? make("p", { class: "note" }, `and ${plural(left, "further operation")}`) : null,
  );
}

function readingHelp() {
  const said = [
    ["Forward", "Each node is a part of the text. It is computed from its operands, once they are known."],
    ["Adjoint", "The derivative of the result by a node: how much the result changes, per unit, when the node's value does. Adjoints come backward, from the result to the names."],
    ["Local derivative", "How a node changes with one operand, all else held. A node passes to each operand its adjoint times that: this is the chain rule."],
    ["Contributions", "A node that is used several times gets a contribution from each use, and its adjoint is their sum."],
    ["Gradient", "The adjoint of a name, when all its contributions have arrived. It is the sum over all paths from the name to the result."],
  ];
  return make("details", { class: "panel wide" }, make("summary", {}, "How to read this"), make("dl", { class: "reading" }, said.map(([word, text]) => [make("dt", {}, word), make("dd", {}, text)])));
}
