// Elements and text: everything that is shown goes through `make`, as text and never as HTML.

// What cannot be seen, or makes others be seen elsewhere, is written as the command line writes it: \x1b, \u202e.
const UNSEEN = /(?![ \n])[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;

function seen(text) {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0);
    if (character === "\t") return " ";
    const [mark, width] = code <= 0xff ? ["x", 2] : code <= 0xffff ? ["u", 4] : ["U", 8];
    return "\\" + mark + code.toString(16).padStart(width, "0");
  });
}

// An element with its attributes and children; `on` holds listeners, null is no child, text is made visible.
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, seen(String(value)));
  }
  put(made, ...children);
  return made;
}

function put(parent, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) parent.append(child instanceof Node ? child : seen(String(child)));
  }
  return parent;
}

function cut(text, most) {
  const line = text.split(/\s+/).join(" ").trim();
  const characters = Array.from(line);
  return characters.length <= most ? line : characters.slice(0, most - 1).join("") + "…";
}

function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}
