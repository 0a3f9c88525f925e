// What is known of one node: value, adjoint, what arrives, what it passes on, and of a name the paths.

function nodeLink(explained, id, act) {
  return make("button", { type: "button", class: "link", on: { click: () => act.select(id) } }, `${id} ${explained.label(id, 28)}`);
}

// What is known when the player has come to step `at`: what is still to come is not told.
function nodeDetails(explained, id, act, at) {
  const node = explained.node(id);
  const isReached = (explained.reached.get(id) ?? 0) <= at;
  const definition = node.name !== null && node.text !== null && node.name !== node.text ? `${node.name} = ${cut(node.text, 200)}` : explained.label(id, 200);
  const pictures = explained.data.page.pictures?.[id] ?? {};
  return [
    make("h2", {}, `Node ${id}: `, make("code", {}, definition)),
    make("p", { class: "note" }, kindOf(explained, node)),
    part("Value", valueOf(node, "value", pictures.value)),
    part("Adjoint", adjointOf(explained, node, pictures.adjoint, isReached)),
    node.operands.length ? part("Made of", links(explained, node.operands, act)) : null,
    explained.users.has(id) ? part("Used by", links(explained, explained.users.get(id), act)) : null,
    arriving(explained, node, act, at),
    leaving(explained, node, act, at),
    isReached ? pathsOf(explained, node, act) : null,
  ];
}

const LISTED_PARTS = 12; // links or contributions that are shown at once

// The first of many, and the rest where it is asked for.
function folded(parts, arranged, word) {
  if (parts.length <= LISTED_PARTS + 3) return arranged(parts);
  const rest = parts.slice(LISTED_PARTS);
  const more = make("details", {}, make("summary", {}, `and ${plural(rest.length, `more ${word}`)}`), arranged(rest));
  return [arranged(parts.slice(0, LISTED_PARTS)), more];
}

function links(explained, ids, act) {
  const linked = [...new Set(ids)].map((each) => nodeLink(explained, each, act));
  return folded(linked, (some) => make("p", {}, spaced(some)), "node");
}

function spaced(links) {
  return links.flatMap((link, place) => (place ? [", ", link] : [link]));
}

function part(title, ...content) {
  return [make("h3", {}, title), ...content];
}

function kindOf(explained, node) {
  const { operations } = explained.data.page;
  const said = [node.op + (operations[node.op] ? `: ${operations[node.op]}` : "")];
  if (node.op === "leaf") said[0] = "a leaf: given, and differentiated by";
  if (node.op === "frozen") said[0] = "frozen: given, and held";
  if (node.op === "const") said[0] = "a constant";
  if (node.function) said.push(`the result of ${node.function}`);
  if (node.inside !== undefined) said.push(`inside of ${explained.label(node.inside)}`);
  said.push(node.shape.length ? `shape ${shapeText(node.shape)}` : "one number");
  const keeps = node.saved.length ? `, keeps ${node.saved.join(", ")}` : "";
  if (node.grad_fn) said.push(`PyTorch: ${node.grad_fn}${keeps}`);
  return said.join(" · ");
}

function withoutAdjoint(node) {
  if (node.op === "frozen") return "none: it is held";
  if (node.op === "const") return "none: a constant has no derivative";
  return "none: no derivative is asked for through this node";
}

function valueOf(node, what, picture) {
  const value = node[what];
  const norm = isSummary(value) ? ` (norm ${entry(value.norm)})` : "";
  return [make("p", { class: "mono value", title: isSummary(value) ? "" : cut(exact(value), 400) }, brief(value) + norm), heatMap(what, value, picture)];
}

function adjointOf(explained, node, picture, isReached) {
  const note = (text) => make("p", { class: "note" }, text);
  if (node.adjoint === null) return note(withoutAdjoint(node));
  return isReached ? valueOf(node, "adjoint", picture) : note(`comes with step ${explained.reached.get(node.id)}, in the backward pass`);
}

function arriving(explained, node, act, at) {
  const all = explained.into.get(node.id) ?? [];
  const into = all.filter((each) => explained.passedAt.get(each) <= at);
  if (node.id === explained.data.result && explained.data.backward.length) {
    return explained.reached.get(node.id) <= at ? part("Arrives", make("p", {}, "the seed: this is the result")) : null;
  }
  if (!into.length) return null;
  const rows = into.map((each) => make("div", { class: "pass" }, "from ", nodeLink(explained, each.node, act), " ", make("span", { class: "mono" }, brief(each.contribution))));
  const soFar = into.length < all.length ? make("p", { class: "note" }, `${into.length} of ${all.length} so far`) : null;
  const sum = into.length > 1 && !soFar ? make("p", {}, "together ", make("span", { class: "mono" }, brief(node.adjoint))) : null;
  return part(into.length > 1 ? `Arrives: ${into.length} contributions, added` : "Arrives", soFar, sum, folded(rows, (some) => some, "contribution"));
}

function leaving(explained, node, act, at) {
  const out = (explained.outOf.get(node.id) ?? []).filter((each) => explained.passedAt.get(each) <= at);
  if (!out.length) return null;
  return part("Passes back", out.map((each) => passedTo(explained, node, each, act)));
}

function passedTo(explained, node, each, act) {
  const code = (text) => make("code", {}, text);
  let rule = null;
  if (each.partial !== null) {
    const local = brief(each.local);
    rule = make("p", {}, "local derivative ", code(each.partial), local === each.partial ? null : [" = ", make("span", { class: "mono" }, local)]);
  } else if (each.rule !== null) rule = make("p", {}, "rule ", code(each.rule));
  const computed = each.partial === null ? brief(each.contribution) : `${brief(node.adjoint)} · ${brief(each.local)} → ${brief(each.contribution)}`;
  const summed = each.summed ? make("p", { class: "note" }, each.summed) : null;
  return make("div", { class: "pass" }, "to ", nodeLink(explained, each.operand, act), rule, make("p", { class: "mono" }, computed), summed);
}

// A gradient by its paths, the largest first, each with its share; choosing one shows it in the graph.
function pathsOf(explained, node, act) {
  const gradient = node.op === "leaf" ? explained.data.gradients[node.name] : undefined;
  return gradient ? part(`d/d${node.name} by paths`, pathList(explained, gradient, act)) : null;
}

function pathList(explained, gradient, act) {
  if (!gradient.paths.length) return [make("p", {}, "no path leads from it to the result")];
  const largest = Math.max(...gradient.paths.map((path) => magnitude(path.contribution)));
  const found = gradient.paths.map((path) => onePath(explained, path, largest, act));
  if (gradient.paths_left_out) {
    const digits = String(gradient.paths_left_out);
    const count = digits.length <= 15 ? Number(digits).toLocaleString("en") : `about 10**${digits.length - 1}`;
    found.push(make("p", { class: "note" }, `and ${count} smaller paths, together ${brief(gradient.rest)}`));
  } else if (flat(gradient.rest).some((each) => asNumber(each) !== 0)) {
    found.push(make("p", { class: "note" }, `${brief(gradient.rest)} is rounding`));
  }
  return found;
}

function onePath(explained, path, largest, act) {
  const share = largest > 0 && Number.isFinite(largest) ? (100 * magnitude(path.contribution)) / largest : 0;
  const bar = make("i", {});
  bar.style.width = `${Math.max(2, share)}%`;
  const labels = path.nodes.map((id) => explained.label(id, 30));
  const route = labels.length > 7 ? [...labels.slice(0, 4), `… ${labels.length - 6} more …`, ...labels.slice(-2)] : labels;
  const click = (event) => act.path(path.nodes, event.currentTarget);
  return make(
    "button",
    { type: "button", class: "path", "aria-pressed": "false", on: { click } },
    make("span", { class: "share", "aria-hidden": "true" }, bar),
    make("span", { class: "mono value" }, brief(path.contribution)),
    make("span", { class: "route" }, "by ", route.join(" → ")),
  );
}
