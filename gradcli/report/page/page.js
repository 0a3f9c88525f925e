"use strict";
// Plays what the page says already: everything that is shown stands in it, and is only marked, hidden, copied and moved here.
(() => {
const one = (wanted, within = document) => within.querySelector(wanted);
const all = (wanted, within = document) => [...within.querySelectorAll(wanted)];
const ids = (text) => (text ?? "").split(" ").filter(Boolean).map(Number);
const last = (list) => list[list.length - 1];
const [player, side, telling, slider] = [".player", ".side", ".telling", "input[type=range]"].map((wanted) => one(wanted));
let view = null; // the query that is shown
let at = 0; // its step
let timer = null;

// -- A query: the elements and the boxes of its nodes, its steps, and when nodes and edges become known.

function viewOf(root) {
  const picture = one(".picture", root);
  const found = { root, picture, source: one(".source", root), steps: all(".steps li", root), elements: new Map(), boxes: new Map() };
  for (const element of all("[data-nodes]", root)) {
    for (const id of ids(element.dataset.nodes)) {
      found.elements.set(id, [...(found.elements.get(id) ?? []), element]);
      if (picture?.contains(element)) found.boxes.set(id, element);
    }
  }
  found.known = { forward: new Map(), backward: new Map(), edges: new Map() };
  found.steps.forEach((step, place) => {
    const focus = ids(step.dataset.focus);
    const phase = step.className;
    if (phase === "forward") found.known.forward.set(focus[0], place);
    if (phase === "seed" || phase === "backward") found.known.backward.set(last(focus), place);
    if (phase === "backward") found.known.edges.set(between(found, ...focus), place);
  });
  return found;
}

// Edges are called by the last nodes of the boxes that they join.
function between(view, ...nodes) {
  return nodes.map((id) => boxId(view.boxes.get(id))).sort((a, b) => a - b).join(" ");
}

function boxId(box) {
  return box ? last(ids(box.dataset.nodes)) : 0;
}

function edgeKey(edge) {
  return [edge.dataset.from, edge.dataset.to].sort((a, b) => a - b).join(" ");
}

function show(root) {
  pause();
  for (const each of all(".query")) each.hidden = each !== root;
  view = viewOf(root);
  const isPlayed = view.steps.length > 0;
  player.hidden = side.hidden = !isPlayed;
  if (!isPlayed) return;
  for (const box of all("[data-nodes]", view.picture)) box.setAttribute("role", "button");
  one("svg", view.picture).setAttribute("role", "group");
  one("[data-nodes]", view.picture)?.setAttribute("tabindex", 0);
  slider.max = view.steps.length - 1;
  go(view.steps.length - 1);
}

// -- Marks: exactly the elements of these nodes have a class.

const marked = {};
function mark(name, nodes) {
  for (const element of marked[name] ?? []) element.classList.remove(name);
  marked[name] = nodes.flatMap((id) => view.elements.get(id) ?? []);
  for (const element of marked[name]) element.classList.add(name);
}

function row(id) {
  return document.getElementById(`${view.root.id}n${id}`);
}

function select(id, silent) {
  const node = row(id);
  side.replaceChildren(...one("div", node).cloneNode(true).childNodes);
  reveal();
  mark("is-selected", [id]);
  bring(view.picture, view.boxes.get(id));
  if (!silent) one(".unseen").textContent = "node " + all("summary span", node).map((cell) => cell.textContent).join(", ");
}

// What is still to come is not told.
function reveal() {
  for (const each of all("[data-step], [data-until]", side)) each.hidden = at < (each.dataset.step ?? 0) || at >= (each.dataset.until ?? Infinity);
}

// Into view within its own frame, without moving the page.
function bring(frame, element) {
  if (!element) return;
  const [inner, outer] = [element.getBoundingClientRect(), frame.getBoundingClientRect()];
  if (inner.left < outer.left || inner.right > outer.right) frame.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
  if (inner.top < outer.top || inner.bottom > outer.bottom) frame.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
}

// -- The player.

function go(to) {
  at = Math.min(view.steps.length - 1, Math.max(0, to));
  const step = view.steps[at];
  const focus = ids(step.dataset.focus);
  const tone = { forward: "forward", start: "" }[step.className] ?? "backward";
  const { forward, backward, edges } = view.known;
  slider.value = at;
  slider.setAttribute("aria-valuetext", `Step ${at} of ${slider.max}, ${[...step.children].map((each) => each.textContent).join(". ")}`);
  one(".count").textContent = `${at} / ${slider.max}`;
  one("[data-by='-1']").disabled = at === 0;
  one("[data-by='1']").disabled = at === view.steps.length - 1;
  player.classList.toggle("backward", tone === "backward");
  telling.className = `telling ${tone}`;
  telling.replaceChildren(...step.cloneNode(true).childNodes);
  for (const box of all("[data-nodes]", view.picture)) {
    box.classList.toggle("is-ahead", (forward.get(boxId(box)) ?? 0) > at);
    box.classList.toggle("is-unreached", (backward.get(boxId(box)) ?? Infinity) > at);
  }
  const now = step.className === "backward" ? between(view, ...focus) : null;
  for (const edge of all("[data-from]", view.picture)) {
    edge.classList.toggle("is-ahead", (forward.get(Number(edge.dataset.to)) ?? 0) > at);
    edge.classList.toggle("is-unpassed", (edges.get(edgeKey(edge)) ?? Infinity) > at);
  }
  mark("is-now", focus);
  for (const each of ["forward", "backward"]) mark(each, each === tone ? focus : []);
  for (const edge of all("[data-from]", view.picture)) edge.classList.toggle("is-now", edgeKey(edge) === now);
  const shown = last(focus) ?? Math.max(...view.elements.keys());
  select(shown, true);
  bring(view.source, view.elements.get(shown).find((element) => view.source.contains(element)));
}

function onward() {
  go(at + 1);
  timer = at < view.steps.length - 1 ? setTimeout(onward, Number(one("select", player).value)) : null;
  labelled();
}

function play() {
  if (timer !== null) return pause();
  if (at === view.steps.length - 1) at = -1;
  onward();
}

function pause() {
  clearTimeout(timer);
  timer = null;
  labelled();
}

function labelled() {
  one("#play").textContent = timer === null ? "\u25b6 Play" : "\u275a\u275a Pause";
  one("#play").setAttribute("aria-label", timer === null ? "Play" : "Pause");
}

function move(to) {
  pause();
  go(to);
}

// -- The way through the graph, the text and an array by keys.

// Left and up to an operand, right and down to a user.
function walked(box, key) {
  const boxes = all("[data-nodes]", view.picture);
  if (key === "Home") return boxes[0];
  if (key === "End") return last(boxes);
  const way = { ArrowLeft: "operands", ArrowUp: "operands", ArrowRight: "users", ArrowDown: "users" }[key];
  const nodes = ids(box.dataset.nodes).flatMap((id) => ids(row(id).dataset[way]));
  return nodes.map((id) => view.boxes.get(id)).find((other) => other && other !== box);
}

// Right and left from part to part of the text, up to the part around, down into it.
function read(part, key) {
  const parts = all(".part", view.source);
  const place = parts.indexOf(part);
  const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: parts.length - 1 }[key];
  if (key === "ArrowUp") return part?.parentElement.closest(".part");
  return key === "ArrowDown" ? one(".part", part ?? view.source) : parts[next];
}

// An entry of an array, by the cell of its picture.
function tell(heat, place) {
  const entries = JSON.parse(one("pre", heat).textContent).flat(Infinity);
  if (!(place >= 0 && place < entries.length)) return;
  heat.dataset.place = place;
  const index = [];
  for (const extent of ids(heat.dataset.shape).reverse()) {
    index.unshift(place % extent);
    place = Math.floor(place / extent);
  }
  one("[aria-live]", heat).textContent = `[${index.join(", ")}] = ${entries[heat.dataset.place]}`;
}

// A path of a name: what is not on it fades.
function follow(button) {
  const isOn = button.getAttribute("aria-pressed") !== "true";
  for (const each of all(".path")) each.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-pressed", isOn);
  const path = ids(button.dataset.path);
  const boxes = path.map((id) => view.boxes.get(id));
  const edges = path.slice(1).map((id, place) => between(view, path[place], id));
  for (const box of all("[data-nodes]", view.picture)) box.classList.toggle("off-path", isOn && !boxes.includes(box));
  for (const edge of all("[data-from]", view.picture)) edge.classList.toggle("off-path", isOn && !edges.includes(edgeKey(edge)));
}

// -- What is done with the page.

const closest = (event, wanted) => event.target.closest?.(wanted);

function pointed(event) {
  const element = closest(event, ".part, .picture [data-nodes], .row");
  if (view.steps.length) mark("is-lit", ids(element?.dataset.nodes));
}
document.addEventListener("pointerover", pointed);
document.addEventListener("focusin", pointed);
document.addEventListener("pointermove", (event) => {
  const image = closest(event, ".heat[data-shape] img");
  if (!image) return;
  const row = Math.floor((event.offsetY / image.clientHeight) * image.naturalHeight);
  tell(image.parentElement, row * image.naturalWidth + Math.floor((event.offsetX / image.clientWidth) * image.naturalWidth));
});
document.addEventListener("click", (event) => {
  const node = closest(event, ".part, .picture [data-nodes], .row > summary");
  const link = closest(event, ".link");
  const button = closest(event, "[data-by], .fit, .path, #play");
  if (link) event.preventDefault();
  if (link) select(Number(link.hash.replace(/.*n/, "")));
  else if (button?.id === "play") play();
  else if (button?.dataset.by) move(at + Number(button.dataset.by));
  else if (button?.className === "fit") view.picture.classList.toggle("whole");
  else if (button) follow(button);
  else if (node) select(last(ids((node.dataset.nodes ? node : node.parentElement).dataset.nodes)));
});
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  const box = closest(event, ".picture [data-nodes]");
  const heat = closest(event, ".heat[data-shape]");
  const part = one(".part.is-lit", view.source ?? document);
  if (event.ctrlKey || event.metaKey || event.altKey || !/^(Arrow|Home|End|Enter| )/.test(key)) return;
  const isEnter = key === "Enter" || key === " ";
  if (box || target === view.source) {
    event.preventDefault();
    const next = box ? walked(box, key) : read(part, key);
    if (isEnter && (box || part)) select(last(ids((box ?? part).dataset.nodes)));
    else if (box && next) {
      for (const each of all("[data-nodes]", view.picture)) each.setAttribute("tabindex", each === next ? 0 : -1);
      next.focus();
      bring(view.picture, next);
    } else if (next) {
      mark("is-lit", ids(next.dataset.nodes));
      bring(view.source, next);
      one(".unseen").textContent = next.textContent;
    }
  } else if (target === heat && !isEnter) {
    event.preventDefault();
    const columns = one("img", heat).naturalWidth;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[key];
    tell(heat, heat.dataset.place ? Number(heat.dataset.place) + step : 0);
  } else if (target.matches(".controls button")) {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: view.steps.length - 1 }[key];
    if (to !== undefined) move(to);
  }
});
slider.addEventListener("input", () => move(Number(slider.value)));
// A slider that has the focus speaks for itself.
slider.addEventListener("focus", () => telling.setAttribute("aria-live", "off"));
slider.addEventListener("blur", () => telling.setAttribute("aria-live", "polite"));
one("#query")?.addEventListener("change", (event) => show(one(`#${event.target.value}`)));
addEventListener("beforeprint", () => all("details").forEach((each) => (each.open = true)));

for (const each of all(".scripted")) each.hidden = false;
if (one(".query")) show(one(".query"));
})();
