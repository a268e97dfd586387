"use strict";
// The pages without their server: steps, fields that belong to a choice, messages beside fields, progress, and a lost
// connection. Everything else is Shiny's.
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // ---- steps: one is shown at a time
  function show(step, focus = true) {
    for (const page of all("main > section[id]")) page.hidden = page.id !== `page-${step}`;
    for (const button of all("nav button[data-step]")) {
      if (button.dataset.step === step) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
    const title = one(`#page-${step} h1`);
    document.title = `${title.textContent} · quietrank`;
    if (focus) {
      title.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    window.jQuery(`#page-${step}`).trigger("shown");
    document.body.dataset.step = step;
    sessionStorage.setItem("step", step);
    Shiny.setInputValue("step", step);
  }

  // ---- fields that are there for some choices only: data-when="shape=wide shape=rankings"
  function value(id) {
    const box = document.getElementById(id);
    if (!box) return "";
    if (box.type === "checkbox") return String(box.checked);
    const chosen = one("input[type=radio]:checked", box);
    return chosen ? chosen.value : (box.value ?? "");
  }
  function arrange() {
    for (const part of all("[data-when]")) {
      const wanted = part.dataset.when.split(" ").map((term) => term.split("="));
      part.hidden = !wanted.some(([id, word]) => value(id) === word);
    }
  }

  // ---- messages beside the fields that they are about
  function complain({ form, errors }) {
    const box = document.getElementById(form);
    const places = all(".error[data-for]", box); // others are part of what a page says, and stay
    for (const place of places) {
      place.textContent = errors[place.dataset.for] ?? "";
      place.hidden = !place.textContent;
      const field = document.getElementById(place.dataset.for);
      if (field && place.textContent) field.setAttribute("aria-invalid", "true");
      else if (field) field.removeAttribute("aria-invalid");
    }
    const first = places.find((place) => !place.hidden);
    if (first) first.scrollIntoView({ block: "center" });
  }

  // ---- work that takes a while
  function progress({ place, doing, share, running }) {
    const box = document.getElementById(place);
    if (!box) return;
    box.hidden = !running;
    one(".doing", box).textContent = running ? `${doing} …` : "";
    const bar = one("progress", box);
    if (share === null || share === undefined) bar.removeAttribute("value");
    else bar.value = share;
  }

  // ---- things to copy
  function copy(button) {
    const text = document.getElementById(button.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(() => {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  // ---- all of a list of tick marks
  function tick(button) {
    for (const box of all("input[type=checkbox]", document.getElementById(button.dataset.ticks))) {
      box.checked = button.dataset.to === "all";
    }
    window.jQuery(document.getElementById(button.dataset.ticks)).trigger("change");
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button, a");
    if (!button) return;
    if (button.dataset.step) show(button.dataset.step);
    if (button.dataset.copy) copy(button);
    if (button.dataset.ticks) tick(button);
    if (button.dataset.open) {
      Shiny.setInputValue(button.dataset.input, { place: button.dataset.open }, { priority: "event" });
    }
    if (button.id === "reload") location.reload();
  });
  document.addEventListener("change", arrange);
  window.jQuery(document).on("shiny:value shiny:bound", () => setTimeout(arrange, 0));
  window.jQuery(document).on("shiny:disconnected", () => {
    one("#lost").hidden = false;
    one("#reload").focus();
  });
  window.jQuery(document).one("shiny:connected", () => {
    Shiny.addCustomMessageHandler("step", ({ step }) => show(step));
    Shiny.addCustomMessageHandler("errors", complain);
    Shiny.addCustomMessageHandler("progress", progress);
    Shiny.addCustomMessageHandler("said", ({ text }) => (one("#said").textContent = text));
    for (const box of all("input[type=text][readonly]")) box.setAttribute("aria-label", "Name of the chosen file");
    show(sessionStorage.getItem("step") ?? "plan", false);
    arrange();
    document.documentElement.dataset.ready = "yes";
  });
})();
