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

// -- A query: its steps, and the elements and the boxes of its nodes.

function viewOf(root) {
  const picture = one(".picture", root);
  const found = { root, picture, source: one(".source", root), steps: all(".steps li", root), elements: new Map(), boxes: new Map() };
  for (const element of all("[data-nodes]", root)) {
    for (const id of ids(element.dataset.nodes)) {
      found.elements.set(id, [...(found.elements.get(id) ?? []), element]);
      if (picture?.contains(element)) found.boxes.set(id, element);
    }
  }
  return found;
}

// Edges are called by the last nodes of the boxes that they join.
const joined = (...boxes) => boxes.sort((a, b) => a - b).join(" ");
const edgeKey = (edge) => joined(edge.dataset.from, edge.dataset.to);
const boxId = (box) => (box ? last(ids(box.dataset.nodes)) : 0); // the last of the nodes that an element stands for
const between = (...nodes) => joined(...nodes.map((id) => boxId(view.boxes.get(id))));

function show(root) {
  pause();
  for (const each of all(".query")) each.hidden = each !== root;
  view = viewOf(root);
  const isPlayed = view.steps.length > 0;
  player.hidden = side.hidden = !isPlayed;
  if (!isPlayed) return;
  one("svg", view.picture).setAttribute("role", "group");
  for (const box of all("[data-nodes]", view.picture)) {
    box.setAttribute("role", "button");
    box.setAttribute("tabindex", 0);
  }
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
  // What is still to come, of the steps in some phases.
  const coming = (of, ...phases) => new Set(view.steps.slice(at + 1).filter((each) => phases.includes(each.className)).map((each) => of(ids(each.dataset.focus))));
  const ahead = coming(last, "forward");
  const unreached = coming(last, "seed", "backward");
  const unpassed = coming((nodes) => between(...nodes), "backward");
  slider.value = at;
  slider.setAttribute("aria-valuetext", `Step ${at} of ${slider.max}, ${[...step.children].map((each) => each.textContent).join(". ")}`);
  one(".count").textContent = `${at} / ${slider.max}`;
  one("[data-by='-1']").disabled = at === 0;
  one("[data-by='1']").disabled = at === view.steps.length - 1;
  player.classList.toggle("backward", tone === "backward");
  telling.className = `telling ${tone}`;
  telling.replaceChildren(...step.cloneNode(true).childNodes);
  for (const box of all("[data-nodes]", view.picture)) {
    box.classList.toggle("is-ahead", ahead.has(boxId(box)));
    box.classList.toggle("is-unreached", unreached.has(boxId(box)));
  }
  const now = step.className === "backward" ? between(...focus) : null;
  mark("is-now", focus);
  for (const each of ["forward", "backward"]) mark(each, each === tone ? focus : []);
  for (const edge of all("[data-from]", view.picture)) {
    edge.classList.toggle("is-ahead", ahead.has(Number(edge.dataset.to)));
    edge.classList.toggle("is-unpassed", unpassed.has(edgeKey(edge)));
    edge.classList.toggle("is-now", edgeKey(edge) === now);
  }
  const shown = last(focus) ?? Math.max(...view.elements.keys());
  select(shown, true);
  bring(view.source, view.elements.get(shown).find((element) => view.source.contains(element)));
}

function play(from) {
  go(from);
  timer = at < view.steps.length - 1 ? setTimeout(() => play(at + 1), Number(one("select", player).value)) : null;
  labelled();
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

// A path of a name: what is not on it fades.
function follow(button) {
  const isOn = button.getAttribute("aria-pressed") !== "true";
  for (const each of all(".path")) each.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-pressed", isOn);
  const path = ids(button.dataset.path);
  const boxes = path.map((id) => view.boxes.get(id));
  const edges = path.slice(1).map((id, place) => between(path[place], id));
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
document.addEventListener("click", (event) => {
  const node = closest(event, ".part, .picture [data-nodes], .row > summary");
  const link = closest(event, ".link");
  const button = closest(event, "[data-by], .fit, .path, #play");
  if (link) event.preventDefault();
  if (link) select(Number(link.hash.replace(/.*n/, "")));
  else if (button?.id === "play") timer === null ? play(at < view.steps.length - 1 ? at + 1 : 0) : pause();
  else if (button?.dataset.by) move(at + Number(button.dataset.by));
  else if (button?.className === "fit") view.picture.classList.toggle("whole");
  else if (button) follow(button);
  else if (node) select(boxId(node.closest("[data-nodes]")));
});
document.addEventListener("keydown", (event) => {
  const box = closest(event, ".picture [data-nodes]");
  if (!box || !/^(Enter| )$/.test(event.key)) return;
  event.preventDefault();
  select(boxId(box));
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
