"use strict";
// Plays what the page says already: everything that is shown stands in it, and is only marked, hidden, copied and moved here.
(() => {
const one = (wanted, within = document) => within.querySelector(wanted);
const all = (wanted, within = document) => [...within.querySelectorAll(wanted)];
const ids = (text) => (text ?? "").split(" ").filter(Boolean).map(Number);
const last = (list) => list[list.length - 1];
const [player, side, telling, slider] = [".player", ".side", ".telling", "input[type=range]"].map((wanted) => one(wanted));
let root, picture, source, steps, elements, boxes; // of the query that is shown: its parts, and what stands for its nodes
let at = 0; // its step
let timer = null;

function show(query) {
  pause();
  for (const each of all(".query")) each.hidden = each !== query;
  [root, picture, source, steps] = [query, one(".picture", query), one(".source", query), all(".steps li", query)];
  player.hidden = side.hidden = !steps.length;
  if (!steps.length) return;
  [elements, boxes] = [new Map(), new Map()];
  for (const element of all("[data-nodes]", root)) {
    for (const id of ids(element.dataset.nodes)) {
      elements.set(id, [...(elements.get(id) ?? []), element]);
      if (picture.contains(element)) boxes.set(id, element);
    }
  }
  one("svg", picture).setAttribute("role", "group");
  for (const box of boxes.values()) {
    box.setAttribute("role", "button");
    box.setAttribute("tabindex", 0);
  }
  slider.max = steps.length - 1;
  go(steps.length - 1);
}

// Edges are called by the last nodes of the boxes that they join.
const joined = (...results) => results.sort((a, b) => a - b).join(" ");
const edgeKey = (edge) => joined(edge.dataset.from, edge.dataset.to);
const boxId = (box) => (box ? last(ids(box.dataset.nodes)) : 0);
const between = (...nodes) => joined(...nodes.map((id) => boxId(boxes.get(id))));

// -- Marks: exactly the elements of these nodes have a class, or the boxes and edges that a test is true of.

function mark(name, nodes) {
  for (const element of all("[data-nodes]." + name)) element.classList.remove(name);
  for (const element of nodes.flatMap((id) => elements.get(id) ?? [])) element.classList.add(name);
}

function flag(name, ofBox, ofEdge) {
  for (const box of new Set(boxes.values())) box.classList.toggle(name, ofBox(boxId(box)));
  for (const edge of all("[data-from]", picture)) edge.classList.toggle(name, ofEdge(edgeKey(edge), edge));
}

function select(id, silent) {
  const node = document.getElementById(`${root.id}n${id}`);
  side.replaceChildren(...one("div", node).cloneNode(true).childNodes);
  mark("is-selected", [id]);
  bring(picture, boxes.get(id));
  if (!silent) one(".unseen").textContent = "node " + all("summary span", node).map((cell) => cell.textContent).join(", ");
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
  at = Math.min(steps.length - 1, Math.max(0, to));
  const step = steps[at];
  const focus = ids(step.dataset.focus);
  const tone = { forward: "forward", start: "" }[step.className] ?? "backward";
  // What is still to come, of the steps in some phases.
  const coming = (of, ...phases) => new Set(steps.slice(at + 1).filter((each) => phases.includes(each.className)).map((each) => of(ids(each.dataset.focus))));
  const ahead = coming(last, "forward");
  const unreached = coming(last, "seed", "backward");
  const unpassed = coming((nodes) => between(...nodes), "backward");
  slider.value = at;
  slider.setAttribute("aria-valuetext", `Step ${at} of ${slider.max}, ${[...step.children].map((each) => each.textContent).join(". ")}`);
  one(".count").textContent = `${at} / ${slider.max}`;
  one("[data-by='-1']").disabled = at === 0;
  one("[data-by='1']").disabled = at === steps.length - 1;
  telling.className = `telling ${tone}`;
  telling.replaceChildren(...step.cloneNode(true).childNodes);
  mark("is-now", focus);
  for (const each of ["forward", "backward"]) mark(each, each === tone ? focus : []);
  const now = step.className === "backward" ? between(...focus) : null;
  for (const edge of all("[data-from]", picture)) edge.classList.toggle("is-now", edgeKey(edge) === now);
  flag("is-ahead", (box) => ahead.has(box), (key, edge) => ahead.has(Number(edge.dataset.to)));
  flag("is-unreached", (box) => unreached.has(box), (key) => unpassed.has(key));
  const shown = last(focus) ?? Math.max(...elements.keys());
  select(shown, true);
  bring(source, elements.get(shown).find((element) => source.contains(element)));
}

function play(from) {
  go(from);
  timer = at < steps.length - 1 ? setTimeout(() => play(at + 1), 2000) : null;
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

// -- What is done with the page.

const closest = (event, wanted) => event.target.closest?.(wanted);

for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const element = closest(event, ".part, .picture [data-nodes], .row");
    if (steps.length) mark("is-lit", ids(element?.dataset.nodes));
  });
}
document.addEventListener("click", (event) => {
  const node = closest(event, ".part, .picture [data-nodes], .row > summary");
  const button = closest(event, "[data-by], #play");
  if (button?.id === "play") timer === null ? play(at < steps.length - 1 ? at + 1 : 0) : pause();
  else if (button) move(at + Number(button.dataset.by));
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

for (const each of all(".scripted")) each.hidden = false;
if (one(".query")) show(one(".query"));
})();
