// The player: buttons, a slider over all steps, and the place where each is told; it calls `show(step, place)` for every change.

const PACE = { slow: 3600, normal: 2000, fast: 700 }; // milliseconds for a step

function playerOf(explained, show) {
  const { steps } = explained;
  const last = steps.length - 1;
  let place = 0;
  let timer = null;
  const button = (name, label, click) => make("button", { type: "button", class: name, "aria-label": label, title: label, on: { click } });
  const play = button("play", "Play", () => (timer === null ? begin() : pause()));
  const back = put(button("previous", "Previous step", () => stepped(-1)), "◀");
  const next = put(button("next", "Next step", () => stepped(1)), "▶");
  const slider = make("input", { type: "range", min: 0, max: last, value: 0, step: 1, "aria-label": "Step", on: { input: () => moved(Number(slider.value)) } });
  const count = make("span", { class: "count" });
  const pace = make("select", { "aria-label": "Speed" }, Object.keys(PACE).map((name) => make("option", { value: name, selected: name === "normal" }, name)));
  const telling = make("div", { class: "telling", "aria-live": "polite", "aria-atomic": "true" });
  const row = make("div", { class: "row1" }, play, back, next, slider, count, make("span", { class: "speed" }, pace));
  const element = make("section", { class: "panel player", id: "player", tabindex: -1, "aria-label": "Player" }, row, telling);

  // A slider that has the focus speaks for itself; told twice would be once too often.
  slider.addEventListener("focus", () => telling.setAttribute("aria-live", "off"));
  slider.addEventListener("blur", () => telling.setAttribute("aria-live", "polite"));
  row.addEventListener("keydown", (event) => {
    const target = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: last }[event.key];
    if (target === undefined || event.target === slider || event.target === pace) return;
    event.preventDefault();
    moved(target);
  });

  function begin() {
    if (place === last) go(0);
    else go(place + 1);
    timer = setTimeout(onward, PACE[pace.value]);
    labelled();
  }
  function onward() {
    go(place + 1);
    timer = place < last ? setTimeout(onward, PACE[pace.value]) : null;
    labelled();
  }
  function pause() {
    clearTimeout(timer);
    timer = null;
    labelled();
  }
  function labelled() {
    const name = timer !== null ? "Pause" : "Play";
    play.setAttribute("aria-label", name);
    play.title = name;
    play.textContent = timer !== null ? "❚❚ Pause" : "▶ Play";
  }
  function stepped(by) {
    moved(place + by);
  }
  function moved(to) {
    pause();
    go(to);
    labelled();
  }
  function go(to) {
    place = Math.min(last, Math.max(0, to));
    const step = steps[place];
    const { words, equation } = tell(explained, step);
    const tone = toneOf(step);
    slider.value = place;
    slider.setAttribute("aria-valuetext", seen(`Step ${place} of ${last}, ${PHASES[step.phase]}. ${words}`));
    count.textContent = `${place} / ${last}`;
    back.disabled = place === 0;
    next.disabled = place === last;
    element.classList.toggle("backward", tone === "backward");
    telling.replaceChildren(
      make("p", {}, make("span", { class: `phase ${tone}` }, PHASES[step.phase]), words),
      equation ? make("p", { class: "equation" }, equation) : "",
    );
    show(step, place);
  }
  return { element, start: () => moved(last), stop: pause, to: moved, get place() { return place; } };
}
