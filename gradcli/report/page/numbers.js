// Numbers and arrays as text. What is not finite comes as "nan", "inf", "-inf"; a large array comes as its summary.

const DIGITS = JSON.parse(document.getElementById("data").textContent).digits;
const LISTED = 8; // entries of an array that stand in a line

function isSummary(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function asNumber(value) {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return { nan: NaN, inf: Infinity, "-inf": -Infinity }[value] ?? NaN;
}

// One number, rounded to the page's digits; whole numbers and truth values as they are.
function entry(value, digits = DIGITS) {
  if (typeof value !== "number") return String(value);
  if (Object.is(value, -0)) return "-0";
  const rounded = Number(value.toPrecision(digits));
  const [mantissa, exponent] = rounded.toString().split("e");
  return exponent === undefined ? mantissa : `${mantissa}e${exponent.replace(/^([+-])(\d)$/, "$10$2")}`;
}

function flat(value) {
  return Array.isArray(value) ? value.flat(Infinity) : [value];
}

function shapeOf(value) {
  const shape = [];
  for (let inner = value; Array.isArray(inner); inner = inner[0]) shape.push(inner.length);
  return shape;
}

function shapeText(shape) {
  if (shape.some(Array.isArray)) return "(" + shape.map(shapeText).join(", ") + ")";
  return shape.length ? shape.join("×") : "scalar";
}

// A value in a line: its numbers, or of many their shape and range.
function brief(value, listed = LISTED) {
  if (value === null || value === undefined) return "–";
  if (isSummary(value)) {
    const ends = value.min === null ? "none finite" : `${entry(value.min, 3)} to ${entry(value.max, 3)}`;
    return `${shapeText(value.shape)}, ${ends}` + (value.nonfinite ? `, ${value.nonfinite} not finite` : "");
  }
  if (!Array.isArray(value)) return entry(value);
  if (value.some(isSummary)) return "(" + value.map((part) => brief(part, listed)).join(", ") + ")";
  const entries = flat(value);
  if (entries.length > listed) {
    const finite = entries.map(asNumber).filter(Number.isFinite);
    const bad = entries.length - finite.length;
    const ends = finite.length ? `${entry(Math.min(...finite), 3)} to ${entry(Math.max(...finite), 3)}` : "none finite";
    return `${shapeText(shapeOf(value))}, ${ends}` + (bad ? `, ${bad} not finite` : "");
  }
  return nested(value);
}

function nested(value, digits) {
  return Array.isArray(value) ? "[" + value.map((inner) => nested(inner, digits)).join(", ") + "]" : entry(value, digits);
}

// All numbers, as the engine has them.
function exact(value) {
  if (isSummary(value)) return `min ${value.min}, max ${value.max}, norm ${value.norm}, ${value.nonfinite} not finite`;
  return Array.isArray(value) ? "[" + value.map(exact).join(", ") + "]" : String(value);
}

// The sum of magnitudes of the entries, by which paths are compared.
function magnitude(value) {
  if (isSummary(value)) return Math.abs(asNumber(value.norm));
  return flat(value).reduce((sum, each) => sum + Math.abs(asNumber(each)), 0);
}
