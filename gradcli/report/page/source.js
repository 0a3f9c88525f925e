// The text, cut into parts: the span of each node is an element, so that pointing at the text points at the node.

// Spans as a tree: each within the smallest that holds it; what crosses another is left out. Several nodes may have one span.
function spansOf(explained) {
  const found = new Map();
  for (const node of explained.nodes) {
    if (node.span === null || node.inside !== undefined) continue;
    const key = node.span.join(":");
    if (found.has(key)) found.get(key).nodes.push(node.id);
    else found.set(key, { begin: node.span[0], end: node.span[1], nodes: [node.id] });
  }
  return [...found.values()].sort((a, b) => a.begin - b.begin || b.end - a.end);
}

// The text with its parts; `act` has lit(ids), select(id), and say(text).
function sourceText(explained, act) {
  const characters = Array.from(explained.source);
  const pre = make("pre", {
    class: "source", tabindex: 0, role: "group", "aria-roledescription": "source text", "aria-describedby": "source-help",
    "aria-label": `Source text: ${cut(explained.source, 300)}`,
  });
  const parts = [];
  const partsOf = new Map(); // the elements of a node
  const open = [{ element: pre, end: Infinity }];
  let place = 0;
  const upTo = (end) => {
    put(open.at(-1).element, characters.slice(place, end).join(""));
    place = Math.max(place, end);
  };
  for (const span of spansOf(explained)) {
    while (open.at(-1).end <= span.begin) {
      upTo(open.at(-1).end);
      open.pop();
    }
    if (span.end > open.at(-1).end) continue;
    upTo(span.begin);
    const element = make("span", { class: "part" });
    open.at(-1).element.append(element);
    open.push({ element, end: span.end });
    parts.push({ element, nodes: span.nodes });
    for (const id of span.nodes) grouped(partsOf, id, element);
  }
  while (open.length > 1) {
    upTo(open.at(-1).end);
    open.pop();
  }
  upTo(characters.length);
  // nodes inside of a function, whose result has the text
  for (const node of explained.nodes) {
    if (node.inside !== undefined && partsOf.has(node.inside)) partsOf.set(node.id, partsOf.get(node.inside));
  }
  wirePointer(pre, parts, act);
  wireKeys(pre, parts, explained, act);
  return { element: pre, partsOf };
}

function wirePointer(pre, parts, act) {
  const nodesOf = new Map(parts.map((part) => [part.element, part.nodes]));
  const at = (event) => nodesOf.get(event.target.closest(".part")) ?? [];
  pre.addEventListener("pointerover", (event) => act.lit(at(event)));
  pre.addEventListener("pointerleave", () => act.lit([]));
  pre.addEventListener("click", (event) => {
    const nodes = at(event);
    if (nodes.length) act.select(nodes.at(-1));
  });
}

// Right and left go from part to part, up to the part around, down into it; Enter selects.
function wireKeys(pre, parts, explained, act) {
  let current = -1;
  const around = (place) => parts.findIndex((part) => part.element === parts[place]?.element.parentElement);
  const within = (place) => parts.findIndex((part) => part.element.parentElement === parts[place]?.element);
  const moves = {
    ArrowRight: () => current + 1,
    ArrowLeft: () => current - 1,
    ArrowUp: () => around(current),
    ArrowDown: () => (current < 0 ? 0 : within(current)),
    Home: () => 0,
    End: () => parts.length - 1,
  };
  pre.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && current >= 0) {
      event.preventDefault();
      act.select(parts[current].nodes.at(-1));
      return;
    }
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = move();
    if (next < 0 || next >= parts.length) return;
    current = next;
    act.lit(parts[current].nodes);
    act.say(explained.spoken(parts[current].nodes.at(-1)));
    parts[current].element.scrollIntoView({ block: "nearest" });
  });
  pre.addEventListener("blur", () => act.lit([]));
}
