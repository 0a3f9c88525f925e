// The page: one query at a time, and what connects its text, its graph, its table and its player.

const { queries } = JSON.parse(document.getElementById("data").textContent);
const spoken = make("div", { class: "hidden", role: "status", "aria-live": "polite" });
let current = null;

// All views of one query, and what may be done with them.
function viewOf(data, place) {
  const root = make("div", { class: "query" });
  const hasNodes = data.nodes.length > 0;
  const act = { lit: () => {}, select: () => {}, say: (text) => (spoken.textContent = seen(text)), path: () => {} };
  if (data.page.error !== null) {
    put(root, make("section", { class: "panel wide" }, make("h2", {}, "This has no result"), make("pre", { class: "error" }, data.page.error)));
    return { root, start() {}, stop() {}, search: () => [], print() {} };
  }
  if (!hasNodes) {
    const source = make("pre", { class: "source" }, cut(data.expr, 2000));
    put(root, make("section", { class: "panel wide" }, source, factList(data)), storyPanel(data, act), derivationPanel(data));
    if (data.page.nodes) put(root, countPanel(data), gradientsAlone(data));
    return { root, start() {}, stop() {}, search: () => [], print() {} };
  }
  return playedView(new Explained(data), place, root, act);
}

function gradientsAlone(data) {
  const rows = Object.entries(data.gradients).map(([name, each]) => make("tr", {}, make("td", { class: "mono" }, name), make("td", { class: "mono" }, brief(each.value))));
  return rows.length ? make("section", { class: "panel wide" }, make("h2", {}, "Gradient"), make("div", { class: "scroll" }, make("table", {}, make("tbody", {}, rows)))) : null;
}

function playedView(explained, place, root, act) {
  const { data } = explained;
  const source = sourceText(explained, act);
  const graph = graphOf(explained, place, act);
  const table = nodeTable(explained, act);
  const side = make("aside", { class: "panel side", "aria-label": "The selected node", tabindex: 0 });
  const state = { at: 0, computed: new Map(), reached: explained.reached };
  explained.steps.forEach((step, at) => {
    if (step.phase === "forward") state.computed.set(step.node, at);
  });
  for (const node of explained.nodes) if (!state.computed.has(node.id)) state.computed.set(node.id, state.computed.get(explained.users.get(node.id)?.[0]) ?? 0);
  const views = { source, graph, table, explained };

  act.lit = (ids) => marked(views, "is-lit", ids);
  act.select = (id) => selected(views, side, state, id, act);
  act.path = (ids, button) => pathShown(root, views, ids, button);
  const player = playerOf(explained, (step, at) => stepShown(views, state, step, at, act));
  const help = "Arrow keys go from part to part of the text, up to the part around, down into it; Enter selects its node.";
  const left = make(
    "div",
    { class: "left" },
    make("section", { class: "panel", "aria-label": "The text" }, source.element, make("p", { class: "hidden", id: "source-help" }, help), factList(data)),
    player.element,
    make("section", { class: "panel", "aria-label": "The graph" }, make("div", { class: "head" }, make("h2", {}, "Graph"), zoomButtons(graph)), graph.frame),
  );
  put(
    root,
    make("div", { class: "stage" }, left, side),
    storyPanel(data, act),
    gradientPanel(explained, act),
    derivationPanel(data),
    readingHelp(),
    table.element,
  );
  const start = () => {
    if (graph.svg) fitted(graph);
    player.start();
  };
  return { root, start, stop: player.stop, search: (text) => searched(views, text, act), print: () => printed(root, table) };
}

// The elements of nodes, in the text, the graph and the table.
function* elementsOf(views, id) {
  yield* views.source.partsOf.get(id) ?? [];
  if (views.graph.groups.has(id)) yield views.graph.groups.get(id);
  if (views.table.rows.has(id)) yield views.table.rows.get(id);
}

// Exactly these nodes have the class; what had it before is remembered, so that nothing else is touched.
const marks = new Map();
function marked(views, name, ids, tone = "") {
  for (const element of marks.get(name) ?? []) element.classList.remove(name, "forward", "backward");
  const now = ids.flatMap((id) => [...elementsOf(views, id)]);
  for (const element of now) element.classList.add(name, ...(tone ? [tone] : []));
  marks.set(name, now);
}

function selected(views, side, state, id, act) {
  side.replaceChildren(...[nodeDetails(views.explained, id, act, state.at)].flat(Infinity).filter((each) => each !== null && each !== undefined));
  marked(views, "is-selected", [id]);
  const group = views.graph.groups.get(id);
  if (group) brought(views.graph, group);
  act.say(views.explained.spoken(id));
}

function stepShown(views, state, step, at, act) {
  const { graph, explained } = views;
  state.at = at;
  for (const { element, nodes } of graph.all) {
    element.classList.toggle("is-ahead", state.computed.get(nodes.at(-1)) > at);
    element.classList.toggle("is-unreached", !(state.reached.get(nodes.at(-1)) <= at));
  }
  for (const { element, from, to, passedAt } of graph.allEdges) {
    element.classList.toggle("is-ahead", Math.max(state.computed.get(from) ?? 0, state.computed.get(to) ?? 0) > at);
    element.classList.toggle("is-unpassed", passedAt > at);
    element.classList.remove("is-now");
  }
  const focus = step.phase === "backward" ? [step.node, step.operand] : step.phase === "end" ? leavesOf(explained) : step.node ? [step.node] : [];
  marked(views, "is-now", focus, toneOf(step));
  if (step.phase === "backward") for (const edge of graph.edges.get(edgeBetween(graph, step.node, step.operand)) ?? []) edge.classList.add("is-now");
  const part = step.node ? views.source.partsOf.get(step.phase === "backward" ? step.operand : step.node)?.[0] : null;
  if (part) scrolledTo(views.source.element, part);
  const shown = { backward: step.operand, end: leavesOf(explained)[0], start: explained.data.result }[step.phase] ?? step.node;
  const say = act.say;
  act.say = () => {}; // the player tells the step
  act.select(shown);
  act.say = say;
}

// A part into view within the text alone.
function scrolledTo(pre, part) {
  const [box, outer] = [part.getBoundingClientRect(), pre.getBoundingClientRect()];
  if (box.top < outer.top) pre.scrollTop += box.top - outer.top - 8;
  else if (box.bottom > outer.bottom) pre.scrollTop += Math.min(box.bottom - outer.bottom + 8, box.top - outer.top);
}

function leavesOf(explained) {
  return explained.nodes.filter((node) => node.op === "leaf" && node.name in explained.data.gradients).map((node) => node.id);
}

function pathShown(root, views, ids, button) {
  const isOn = button.getAttribute("aria-pressed") !== "true";
  for (const each of root.querySelectorAll(".path")) each.setAttribute("aria-pressed", "false");
  const onPath = new Set(isOn ? ids : []);
  const edges = new Set(ids.slice(1).flatMap((id, place) => views.graph.edges.get(edgeBetween(views.graph, ids[place], id)) ?? []));
  for (const { element, nodes } of views.graph.all) element.classList.toggle("off-path", isOn && !nodes.some((id) => onPath.has(id)));
  for (const { element } of views.graph.allEdges) {
    element.classList.toggle("on-path", isOn && edges.has(element));
    element.classList.toggle("off-path", isOn && !edges.has(element));
  }
  button.setAttribute("aria-pressed", String(isOn));
}

function searched(views, text, act) {
  const wanted = text.trim().toLowerCase();
  const { explained } = views;
  const matches = (node) => [String(node.id), node.name, node.text, node.op, node.grad_fn, node.function].some((each) => (each === String(node.id) ? each === wanted : each?.toLowerCase().includes(wanted)));
  const found = wanted ? explained.nodes.filter(matches).map((node) => node.id) : [];
  views.table.show(wanted ? found : null);
  if (wanted) views.table.element.open = true;
  marked(views, "is-found", found);
  return { found, select: act.select };
}

function printed(root, table) {
  table.all();
  for (const details of root.querySelectorAll("details")) details.open = true;
}

// -- the bar, the theme, printing

function show(place) {
  current?.stop();
  for (const name of [...marks.keys()]) marks.delete(name);
  current = viewOf(queries[place], place);
  const main = document.getElementById("main");
  main.replaceChildren(current.root);
  current.start();
}

function chooser() {
  if (queries.length < 2) return;
  const options = queries.map((data, place) => make("option", { value: place }, `${place + 1}: ${cut(data.expr, 70)}`));
  const select = make("select", { id: "query", on: { change: () => show(Number(select.value)) } }, options);
  document.getElementById("queries").append(make("label", { class: "hidden", for: "query" }, "Query"), select);
}

function themed() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = () => {
    root.dataset.theme = chosen ?? (preferred.matches ? "dark" : "light");
    button.textContent = root.dataset.theme === "dark" ? "☀ Light" : "☾ Dark";
    button.setAttribute("aria-label", `Switch to ${root.dataset.theme === "dark" ? "light" : "dark"} colours`);
  };
  preferred.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    apply();
  });
  apply();
}

function searching() {
  const field = document.getElementById("wanted");
  const note = document.getElementById("found");
  let result = null;
  let at = -1;
  field.addEventListener("input", () => {
    result = current.search(field.value);
    at = -1;
    note.textContent = field.value.trim() ? `${(result.found ?? []).length} found` : "";
  });
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!result?.found?.length) return;
    at = (at + 1) % result.found.length;
    result.select(result.found[at]);
    note.textContent = `${at + 1} of ${result.found.length}`;
  });
}

document.body.append(spoken);
themed();
chooser();
searching();
addEventListener("beforeprint", () => current.print());
if (queries.length) show(0);
