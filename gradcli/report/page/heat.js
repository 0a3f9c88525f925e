// Heat maps: an array as a table of coloured cells, read out entry by entry under the pointer and by the arrow keys.

const MOST_SLICES = 6; // of an array of more than two axes
const MOST_LETTERED = 64; // entries up to which the numbers stand in the cells
const WRAPPED = 24; // entries of a vector in a row of the map

// What an array looks like, as slices of rows of cells {at, value}.
function slicesOf(value) {
  const shape = shapeOf(value);
  if (shape.length === 1) {
    const cells = value.map((each, place) => ({ at: [place], value: each }));
    const rows = [];
    for (let begin = 0; begin < cells.length; begin += WRAPPED) rows.push(cells.slice(begin, begin + WRAPPED));
    return [{ name: null, rows }];
  }
  if (shape.length === 2) return [sliceOf(value, [])];
  return value.flatMap((inner, place) => slicesOf(inner).map((slice) => under(slice, place, shape.length)));
}

function sliceOf(matrix, before) {
  return { name: null, rows: matrix.map((row, i) => row.map((each, j) => ({ at: [...before, i, j], value: each }))) };
}

function under(slice, place, axes) {
  const rows = slice.rows.map((row) => row.map((cell) => ({ at: [place, ...cell.at], value: cell.value })));
  const lead = rows[0]?.[0]?.at.slice(0, axes - 2) ?? [];
  return { name: `[${lead.join(", ")}, :, :]`, rows };
}

function shade(cell, value, largest) {
  const number = asNumber(value);
  if (!Number.isFinite(number)) {
    cell.classList.add("none");
    return;
  }
  const part = largest ? Math.abs(number) / largest : 0;
  cell.style.setProperty("--shade", number < 0 ? "var(--heat-low)" : "var(--heat-high)");
  cell.style.setProperty("--part", `${Math.round(100 * Math.min(1, part))}%`);
}

// A map of `value`, with its legend and a text that says the same; `picture` stands in for an array that is summed up.
function heatMap(what, value, picture) {
  if (value === null || value === undefined) return null;
  if (isSummary(value)) return picture ? drawn(what, picture.means, value.shape, picture.block) : null;
  if (!Array.isArray(value) || value.some(isSummary)) return null;
  const shape = shapeOf(value);
  const size = flat(value).length;
  if (size < 2 || size !== shape.reduce((product, each) => product * each, 1)) return null;
  return drawn(what, value, shape, 0);
}

function drawn(what, value, shape, block) {
  const numbers = flat(value).map(asNumber).filter(Number.isFinite);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const slices = slicesOf(value);
  const columns = Math.max(...slices.map((slice) => slice.rows[0]?.length ?? 0));
  const lettered = flat(value).length <= MOST_LETTERED && columns <= 6;
  const range = numbers.length ? `from ${entry(low, 3)} to ${entry(high, 3)}` : "without a finite entry";
  const means = block ? `, each cell the mean of up to ${plural(block, "entry").replace("entrys", "entries")}` : "";
  const readout = make("p", { class: "note mono", "aria-live": "polite" }, "\u2007".trim());
  const cells = [];
  const tables = slices.slice(0, MOST_SLICES).map((slice) => {
    const caption = slice.name ? make("caption", {}, slice.name) : null;
    const rows = slice.rows.map((row) => make("tr", {}, row.map((each) => cellOf(each, lettered, largest, cells))));
    return make("table", {}, caption, make("tbody", {}, rows));
  });
  const left = slices.length - tables.length;
  const label = `Heat map of the ${what}, ${shapeText(shape)}, ${range}${means}. Arrow keys read its entries.`;
  const map = make("div", { class: lettered ? "heat lettered" : "heat", tabindex: 0, role: "group", "aria-label": label }, tables);
  reading(map, cells, columns, readout);
  const legend = make("p", { class: "legend" }, entry(-largest, 3), make("i", { "aria-hidden": "true" }), entry(largest, 3), means);
  const rest = left > 0 ? make("p", { class: "note" }, `and ${plural(left, "further slice")}, in the numbers below`) : null;
  const text = block ? null : make("details", {}, make("summary", {}, "All its numbers"), make("pre", { class: "value" }, exact(value)));
  return make("div", {}, map, legend, rest, readout, text);
}

function cellOf(each, lettered, largest, cells) {
  const cell = make("td", {}, lettered ? entry(each.value, 4) : null);
  shade(cell, each.value, largest);
  cells.push({ cell, at: each.at, value: each.value });
  return cell;
}

// The cell under the pointer, or the one that the arrow keys have come to, is read out below the map.
function reading(map, cells, columns, readout) {
  const places = new Map(cells.map((each, place) => [each.cell, place]));
  let current = -1;
  const read = (place) => {
    if (place < 0 || place >= cells.length) return;
    cells[current]?.cell.classList.remove("at");
    current = place;
    cells[place].cell.classList.add("at");
    readout.textContent = `[${cells[place].at.join(", ")}] = ${cells[place].value}`;
  };
  map.addEventListener("pointerover", (event) => {
    if (places.has(event.target)) read(places.get(event.target));
  });
  map.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    read(current < 0 ? 0 : current + step);
    cells[current]?.cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}
