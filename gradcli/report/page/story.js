// The story: what happens in which order, forward and backward, and each step in words and as an equation.

const INFIX = new Set(["+", "-", "*", "/", "**", "@", "^", "<", ">", "<=", ">=", "==", "!="]);

// An explanation with what is looked up often.
class Explained {
  constructor(data) {
    this.data = data;
    this.nodes = data.nodes;
    this.source = data.program ?? data.expr;
    this.into = new Map(); // contributions by the node that they arrive at
    this.outOf = new Map(); // and by the node that passes them
    this.users = new Map();
    for (const each of data.backward) {
      grouped(this.into, each.operand, each);
      grouped(this.outOf, each.node, each);
    }
    for (const node of this.nodes) for (const id of new Set(node.operands)) grouped(this.users, id, node.id);
    this.steps = stepsOf(this);
    this.passedAt = new Map(); // the step of each contribution
    this.reached = new Map(); // the step in which a node has its whole adjoint
    this.steps.forEach((step, at) => {
      if (step.phase === "seed") this.reached.set(step.node, at);
      if (step.phase === "backward") {
        this.passedAt.set(step.passed, at);
        this.reached.set(step.operand, at);
      }
    });
  }

  node(id) {
    return this.nodes[id - 1];
  }

  label(id, most = 36) {
    const node = this.node(id);
    return cut(node.name ?? node.text ?? node.op, most);
  }

  // What a screen reader is told of a node.
  spoken(id) {
    const node = this.node(id);
    const adjoint = node.adjoint === null ? "no adjoint" : `adjoint ${brief(node.adjoint)}`;
    return `node ${id}, ${this.label(id, 80)}, ${node.op}, value ${brief(node.value)}, ${adjoint}`;
  }

  isConstant(node) {
    return node.op === "const";
  }
}

function grouped(map, key, value) {
  if (map.has(key)) map.get(key).push(value);
  else map.set(key, [value]);
}

// Constants come with what uses them; everything else is a step of its own.
function stepsOf(explained) {
  const { data, nodes } = explained;
  const steps = [{ phase: "start" }];
  for (const node of nodes) if (!explained.isConstant(node) || nodes.length === 1) steps.push({ phase: "forward", node: node.id });
  if (data.backward.length) steps.push({ phase: "seed", node: data.result });
  const arrived = new Map();
  for (const each of data.backward) {
    const before = arrived.get(each.operand) ?? 0;
    arrived.set(each.operand, before + 1);
    steps.push({ phase: "backward", node: each.node, operand: each.operand, passed: each, nth: before + 1 });
  }
  if (Object.keys(data.gradients).length) steps.push({ phase: "end", node: data.result });
  return steps;
}

const PHASES = { start: "Start", forward: "Forward", seed: "Backward", backward: "Backward", end: "Gradient" };

function toneOf(step) {
  return { forward: "forward", seed: "backward", backward: "backward", end: "backward" }[step.phase] ?? "";
}

// A step in words, and what is computed in it.
function tell(explained, step) {
  if (step.phase === "start") return start(explained);
  if (step.phase === "forward") return forwards(explained, explained.node(step.node));
  if (step.phase === "seed") return seeded(explained);
  return step.phase === "backward" ? backwards(explained, step) : ended(explained);
}

function start(explained) {
  const leaves = Object.keys(explained.data.gradients);
  const names = leaves.length ? ` Then the derivative goes back the same way, until it reaches ${listed(leaves)}.` : "";
  const words = `First the value: every part of the text is computed, the inner parts before the outer ones.${names}`;
  return { words, equation: "" };
}

function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function inside(explained, node) {
  return node.inside === undefined ? "" : ` This is a part of ${explained.label(node.inside)}.`;
}

function forwards(explained, node) {
  const label = explained.label(node.id);
  if (node.op === "leaf") return { words: `${label} is given, and the derivative by it is asked for.`, equation: `${label} = ${brief(node.value)}` };
  if (node.op === "frozen") return { words: `${label} is given, and held: no derivative by it is asked for.`, equation: `${label} = ${brief(node.value)}` };
  if (!node.operands.length) return { words: `${label} is computed.`, equation: brief(node.value) };
  const values = node.operands.map((id) => brief(explained.node(id).value));
  const sign = explained.data.page.spellings[node.id];
  const isInfix = INFIX.has(sign) && values.length === 2;
  const made = isInfix ? `${values[0]} ${sign} ${values[1]}` : `${node.op}(${values.join(", ")})`;
  const doc = explained.data.page.operations[node.op];
  const names = listed(node.operands.map((id) => `${explained.label(id)} (node ${id})`));
  const what = doc ? ` ${doc.replace(/\.?$/, ".")}` : "";
  const words = `Node ${node.id}, ${label}: ${node.op} of ${names}.${what}${inside(explained, node)}`;
  return { words, equation: `${made} = ${brief(node.value)}` };
}

function seeded(explained) {
  const { result } = explained.data;
  const node = explained.node(result);
  const words = node.shape.length
    ? `Backward now. The sweep starts at the result, node ${result}, with the seed: the weight of each of its entries.`
    : `Backward now. The sweep starts at the result, node ${result}: the derivative of the result by itself, times the seed.`;
  return { words, equation: `adjoint of ${explained.label(result)} = ${brief(node.adjoint)}` };
}

function backwards(explained, step) {
  const { passed } = step;
  const [from, to] = [explained.node(step.node), explained.node(step.operand)];
  const [upper, lower] = [explained.label(from.id), explained.label(to.id)];
  const summed = passed.summed ? `, ${passed.summed}` : "";
  let words = `Node ${from.id}, ${upper}, passes back to node ${to.id}, ${lower}: `;
  let equation = "";
  if (passed.partial !== null) {
    words += `its adjoint times the local derivative, which is ${passed.partial}${summed}.`;
    equation = `${brief(from.adjoint)} · ${brief(passed.local)} → ${brief(passed.contribution)}`;
  } else {
    words += passed.rule === null ? `what its own rule makes of its adjoint${summed}.` : `${cut(passed.rule, 200)}${summed}.`;
    equation = `${brief(from.adjoint)} → ${brief(passed.contribution)}`;
  }
  return { words: words + arrival(explained, step), equation };
}

function arrival(explained, step) {
  const all = explained.into.get(step.operand);
  const lower = explained.label(step.operand);
  if (all.length === 1) return ` That is the whole adjoint of ${lower}.`;
  if (step.nth < all.length) return ` It is contribution ${step.nth} of ${all.length} to the adjoint of ${lower}; they are added.`;
  return ` It is the last of ${all.length} contributions; together the adjoint of ${lower} is ${brief(explained.node(step.operand).adjoint)}.`;
}

function ended(explained) {
  const words = "The adjoints of the names are the gradient. Play shows how they come about, step by step.";
  return { words, equation: "" };
}
