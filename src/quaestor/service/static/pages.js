// What pages do beyond reading: completion, the slider, live prices, progress and burn-downs.
"use strict";
document.documentElement.classList.add("scripted");

const find = (id) => document.getElementById(id);

// Completion of declared names: the word before the cursor, as buttons.
function complete(box, list) {
  const words = JSON.parse(box.dataset.words);
  const show = () => {
    const before = box.value.slice(0, box.selectionStart);
    const begun = (/[\w"]+$/.exec(before) || [""])[0].toLowerCase();
    const near = begun ? words.filter((word) => word.toLowerCase().startsWith(begun) && word.toLowerCase() !== begun) : [];
    list.replaceChildren(...near.slice(0, 8).map((word) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = word;
      button.addEventListener("click", () => {
        box.setRangeText(word, before.length - begun.length, before.length, "end");
        box.focus();
        box.dispatchEvent(new Event("input", { bubbles: true }));
      });
      const item = document.createElement("li");
      item.append(button);
      return item;
    }));
  };
  box.addEventListener("input", show);
}

// One slider for accuracy or price, in steps of 1, 2 and 5.
function slide(form) {
  const slider = find("slider");
  const steps = (low, count) => Array.from({ length: count }, (_, n) =>
    Number(([1, 2, 5][n % 3] * 10 ** (low + Math.floor(n / 3))).toPrecision(1)));
  const scales = { accuracy: ["within", steps(0, 19)], epsilon: ["epsilon", steps(-3, 13)], rho: ["rho", steps(-6, 19)] };
  const labels = { accuracy: "Accurate and dear, or rough and cheap", epsilon: "Cheap and rough, or dear and accurate" };
  const mode = () => form.querySelector("input[name=by]:checked").value;
  const show = () => {
    const [name, values] = scales[mode()];
    const now = Number(form.elements[name].value) || values[0];
    slider.max = values.length - 1;
    slider.value = values.findIndex((value) => value >= now * 0.999);
    if (!values.some((value) => value >= now * 0.999)) slider.value = slider.max;
    slider.setAttribute("aria-valuetext", form.elements[name].value);
    find("slider-label").textContent = labels[mode()] || labels.epsilon;
    form.querySelectorAll("[data-by]").forEach((field) => { field.hidden = field.dataset.by !== mode(); });
  };
  slider.addEventListener("input", () => {
    const [name, values] = scales[mode()];
    form.elements[name].value = values[Number(slider.value)];
    slider.setAttribute("aria-valuetext", form.elements[name].value);
  });
  form.addEventListener("change", show);
  show();
}

// The price follows the form; it is free.
function price(form) {
  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (form.elements.sql.value.trim()) document.body.dispatchEvent(new CustomEvent("price-wanted"));
    }, 600);
  });
}

// Progress by server-sent events; when all is over, the page shows what came of it.
function follow(card) {
  const cells = new Map([...card.querySelectorAll("[data-job]")].map((cell) => [cell.dataset.job, cell]));
  const stream = new EventSource(card.dataset.events);
  stream.addEventListener("phase", (event) => {
    const said = JSON.parse(event.data);
    const cell = cells.get(said.id);
    if (cell) cell.textContent = said.phase;
    if (said.state !== "open") cells.delete(said.id);
    if (!cells.size) {
      stream.close();
      location.reload();
    }
  });
}

const question = find("question");
if (question) {
  complete(find("sql"), find("suggestions"));
  slide(question);
  price(question);
}
if (find("progress")) follow(find("progress"));
