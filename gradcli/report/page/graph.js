// The graph: the picture with its nodes and edges wired to the rest of the page, or a plain list of nodes where there is no picture.

function graphOf(explained, place, act) {
  const frame = make("div", { class: "picture", role: "group", "aria-label": "Graph of the nodes. Arrow keys go to operands and users, Enter selects." });
  const template = document.getElementById(`picture-${place}`);
  if (template?.content.childElementCount) frame.append(template.content.cloneNode(true));
  else frame.append(plainNodes(explained));
  const svg = frame.querySelector("svg");
  const graph = { frame, svg, groups: new Map(), boxes: new Map(), edges: new Map(), all: [], allEdges: [] };
  for (const element of frame.querySelectorAll("[data-nodes]")) wireNode(graph, element, explained, act);
  const passed = passedAt(graph, explained);
  for (const element of frame.querySelectorAll("[data-from]")) {
    const [from, to] = [Number(element.dataset.from), Number(element.dataset.to)];
    const key = edgeKey(from, to);
    graph.allEdges.push({ element, from, to, key, passedAt: passed.get(key) ?? Infinity });
    grouped(graph.edges, key, element);
  }
  if (graph.all.length) graph.all[0].element.tabIndex = 0;
  frame.addEventListener("pointerleave", () => act.lit([]));
  frame.addEventListener("keydown", (event) => walk(graph, explained, act, event));
  if (svg) readied(svg);
  return graph;
}

function ids(text) {
  return (text ?? "").split(/\s+/).filter(Boolean).map(Number);
}

// The step in which the last contribution goes along an edge between boxes; each box is called by its last node.
function passedAt(graph, explained) {
  const found = new Map();
  explained.steps.forEach((step, place) => {
    if (step.phase === "backward") found.set(edgeBetween(graph, step.node, step.operand), place);
  });
  return found;
}

function edgeBetween(graph, one, other) {
  return edgeKey(graph.boxes.get(one), graph.boxes.get(other));
}

function edgeKey(one, other) {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

function plainNodes(explained) {
  const boxes = explained.nodes.map((node) => make("span", { class: "box", "data-nodes": node.id }, `${node.id}  ${explained.label(node.id)}`));
  return make("div", { class: "boxes" }, boxes);
}

function wireNode(graph, element, explained, act) {
  const nodes = ids(element.dataset.nodes).filter((id) => id <= explained.nodes.length);
  if (!nodes.length) return;
  const last = nodes.at(-1);
  const folded = nodes.length > 1 ? `${plural(nodes.length, "node")} together, the last: ` : "";
  element.setAttribute("role", "button");
  element.setAttribute("aria-label", seen(folded + explained.spoken(last)));
  element.tabIndex = -1;
  graph.all.push({ element, nodes });
  for (const id of nodes) {
    graph.groups.set(id, element);
    graph.boxes.set(id, last);
  }
  element.addEventListener("pointerenter", () => act.lit(nodes));
  element.addEventListener("focus", () => act.lit(nodes));
  element.addEventListener("blur", () => act.lit([]));
  element.addEventListener("click", () => act.select(last));
}

// Left and up to an operand, right and down to a user; the picture is one stop of the Tab key.
function walk(graph, explained, act, event) {
  const here = graph.all.find((each) => each.element === event.target);
  if (!here) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    act.select(here.nodes.at(-1));
    return;
  }
  const own = new Set(here.nodes);
  const operands = () => here.nodes.flatMap((id) => explained.node(id).operands);
  const users = () => here.nodes.flatMap((id) => explained.users.get(id) ?? []);
  const places = { ArrowLeft: operands, ArrowUp: operands, ArrowRight: users, ArrowDown: users };
  const next = places[event.key]?.().find((id) => !own.has(id) && graph.groups.has(id));
  const ends = { Home: graph.all[0], End: graph.all.at(-1) }[event.key];
  if (places[event.key] || ends) event.preventDefault();
  const target = ends?.element ?? graph.groups.get(next);
  if (!target) return;
  for (const each of graph.all) each.element.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
  brought(graph, target);
}

// Into view within its own frame, without moving the page.
function brought(graph, element) {
  const { frame } = graph;
  const [box, outer] = [element.getBoundingClientRect(), frame.getBoundingClientRect()];
  const margin = 24;
  if (box.left < outer.left + margin || box.right > outer.right - margin) frame.scrollLeft += (box.left + box.right - outer.left - outer.right) / 2;
  if (box.top < outer.top + margin || box.bottom > outer.bottom - margin) frame.scrollTop += (box.top + box.bottom - outer.top - outer.bottom) / 2;
}

function readied(svg) {
  const box = svg.viewBox.baseVal;
  svg.dataset.width = box?.width || svg.getBoundingClientRect().width || 600;
  svg.dataset.height = box?.height || svg.getBoundingClientRect().height || 400;
  if (!svg.getAttribute("viewBox")) svg.setAttribute("viewBox", `0 0 ${svg.dataset.width} ${svg.dataset.height}`);
  svg.setAttribute("role", "group");
  zoomed(svg, 1);
}

function zoomed(svg, scale) {
  svg.dataset.scale = Math.min(4, Math.max(0.1, scale));
  svg.setAttribute("width", svg.dataset.width * svg.dataset.scale);
  svg.setAttribute("height", svg.dataset.height * svg.dataset.scale);
  svg.style.maxWidth = "none";
}

// As wide as the frame, but no smaller than can be read, and no larger than drawn.
function fitted(graph, smallest = 0.85) {
  const wide = (graph.frame.clientWidth - 4) / graph.svg.dataset.width;
  zoomed(graph.svg, Math.min(1, Math.max(smallest, wide)));
}

function zoomButtons(graph) {
  const { svg } = graph;
  if (!svg) return null;
  const by = (factor) => () => zoomed(svg, svg.dataset.scale * factor);
  const whole = () => {
    const { clientWidth, clientHeight } = graph.frame;
    zoomed(svg, Math.min(1, (clientWidth - 4) / svg.dataset.width, Math.max(200, clientHeight - 4) / svg.dataset.height));
  };
  const button = (text, label, click) => make("button", { type: "button", "aria-label": label, title: label, on: { click } }, text);
  return make("div", { class: "zoom" }, button("−", "Smaller", by(0.8)), button("+", "Larger", by(1.25)), button("Fit", "The whole graph", whole));
}
